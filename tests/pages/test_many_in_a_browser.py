"""The pages of many episodes as a person meets them: found, filtered, compared, labelled by
keyboard, edited, live."""

from __future__ import annotations

from typing import NamedTuple

import orjson
import pytest
from playwright.async_api import FilePayload, Page, expect

from api.proposal.drafting import read_draft, write_draft
from api.proposal.writing import TaskHead
from tests.api.service import TASK, events, frames
from tests.pages.looking import is_accessible
from tests.pages.test_in_a_browser import CLOSED, Site, acted, page, site
from tests.support.chromium import needs_chromium
from tests.support.logs import Said, clicked, episode, filled, went

__all__ = ["page", "site"]
pytestmark = [pytest.mark.browser, needs_chromium]
LONG = "<b>a very long label</b> " * 12


class Two(NamedTuple):
    """An episode that reached the goal and one that was not seen to its end."""

    good: str
    poor: str


@pytest.fixture(scope="module")
def two(site: Site) -> Two:
    def run(policy: str, *steps: tuple[Said, ...]) -> str:
        episode, token = site.open(policy=policy, note=LONG)
        said: list[Said] = [("episode.opened", {"task": TASK["id"], "digest": "d"})]
        for number, step in enumerate(steps):
            said += [acted(number, {"says": f"deed {number} {LONG}"}), *step]
        site.tell(episode, token, *said, CLOSED)
        return episode

    gap: Said = ("gap.began", {"source": "cdp", "reason": "the browser is gone"})
    good = run("8", (went("/"),), (went("/cart"), clicked("Buy")))
    poor = run("7", (went("/"),), (went("file:///etc/rules.yaml"), gap))
    sandbox = {
        "name": "box",
        "instance": "i" * 32,
        "labels": {"os": "debian"},
        "agentd": "0.1.0",
        "wire": 1,
    }
    site.http.post("/v1/sandboxes", json=sandbox).raise_for_status()
    return Two(good, poor)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        "/episodes", "/fleet", "/tasks", "/tasks/shop/cart", "/editor?task=shop/cart", "/training", "/label", "/audit",
        "/compare?a={good}&b={poor}", "/compare", "/training?task=none", "/audit?task=none&verify=newest",
    ],
)  # fmt: skip
async def test_everybody_can_read_and_reach_it(page: Page, two: Two, path: str) -> None:
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    await page.goto(path.format(**two._asdict()))
    await expect(page.locator("h1")).to_be_visible()
    assert await page.locator("main b").count() == 0
    await is_accessible(page)
    assert problems == []


async def test_two_of_a_list_are_compared_and_labelled_by_keyboard(page: Page, two: Two) -> None:
    await page.goto("/episodes?task=shop/cart")
    for box in await page.locator("tbody input[type=checkbox]").all():
        await box.check()
    await page.get_by_role("button", name="Compare the two chosen").click()
    await expect(page.locator("tr.differs").first).to_contain_text("never did")
    await page.goto("/label")
    await expect(page.get_by_role("heading", name="Which one does it better?")).to_be_visible()
    await page.keyboard.press("ArrowLeft")
    await expect(page.get_by_text("You have said all that there is to say")).to_be_visible()
    await expect(page.locator(".facts .big")).to_have_text("1")


async def test_the_editor_completes_by_the_schema_and_saves_what_was_tried(
    page: Page, two: Two
) -> None:
    await page.goto("/editor?task=shop/cart")
    await page.locator(".cm-content").wait_for()
    await expect(page.get_by_role("textbox", name="The task, in YAML")).to_be_visible()
    await page.get_by_role("textbox", name="The task, in YAML").click()
    await page.keyboard.press("Control+Home")
    for _ in range(2):
        await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Home")
    await page.keyboard.type("efficien")
    await expect(page.get_by_role("option", name="efficiency")).to_be_visible()
    await page.keyboard.press("Escape")
    await page.keyboard.press("Control+z")
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("End")
    await page.keyboard.press("Shift+Home")
    await page.keyboard.type("version: 'edited'")
    await expect(page.get_by_role("button", name="Save as a version")).to_be_disabled()
    await page.get_by_role("button", name="Try it").click()
    await expect(page.get_by_role("heading", name="What it would have paid")).to_be_visible()
    await page.get_by_role("button", name="Save as a version").click()
    await page.wait_for_url("**/tasks/shop/cart?version=edited")
    await expect(page.locator(".graph text.id").first).to_be_visible()


def recorded(*steps: tuple[Said, ...]) -> bytes:
    return b"".join(frames(events("ep_1", *episode(*steps))))


async def test_a_task_is_proposed_from_recordings_into_the_editor(page: Page, two: Two) -> None:
    """The form's files are compared by the service; the YAML stands in the editor and can be
    tried; what cannot be read is said."""
    await page.goto("/tasks")
    await page.get_by_role("link", name="Propose a task from recordings").click()
    await page.locator(".cm-content").wait_for()
    good = recorded((went("/"),), (went("/cart"), clicked("Buy")))
    bad = recorded((went("/"),), (went("/cart"),))
    kind = "application/octet-stream"
    right: FilePayload = {"name": "good.mrec", "mimeType": kind, "buffer": good}
    wrong: FilePayload = {"name": "bad.mrec", "mimeType": kind, "buffer": bad}
    broken: FilePayload = {"name": "bad.mrec", "mimeType": kind, "buffer": b"no recording"}
    told = page.locator("#proposing .proposed")
    await page.get_by_role("button", name="Propose", exact=True).click()
    await expect(told).to_contain_text(
        "choose a recorded success, or write what the agent was told"
    )
    await page.get_by_label("What the agent was told").fill("Buy <b>it</b>.")
    await page.get_by_role("button", name="Propose", exact=True).click()
    await expect(told).to_contain_text("No proposal: draft: the service has no judge")
    await page.get_by_label("Recordings that succeeded").set_input_files([right])
    await page.get_by_label("Recordings that failed").set_input_files([broken])
    await page.get_by_label("The task's id").fill("shop/proposed")
    await page.get_by_role("button", name="Propose", exact=True).click()
    await expect(told).to_contain_text("No proposal: recordings[1]")
    await page.get_by_label("Recordings that failed").set_input_files([wrong])
    await page.get_by_role("button", name="Propose", exact=True).click()
    await expect(told).to_contain_text(
        "Proposed from 1 success and 1 failure. Every success reaches the goal,"
    )
    await expect(told).to_contain_text("in 1 of 1 successes and 0 of 1 failures")
    text = page.get_by_role("textbox", name="The task, in YAML")
    await expect(text).to_contain_text("id: shop/proposed")
    await expect(text).to_contain_text("Buy <b>it</b>.")
    await is_accessible(page)
    await page.get_by_role("button", name="Try it").click()
    await expect(page.get_by_text("shop/proposed version 1")).to_be_visible()


async def test_a_template_is_proposed_from_recordings_that_say_what_was_told_in_each(
    page: Page, two: Two
) -> None:
    """The form asks it of each chosen recording; one without is named, and what was written stays."""
    kind = "application/octet-stream"
    files: list[FilePayload] = [
        {
            "name": f"{item}.mrec",
            "mimeType": kind,
            "buffer": recorded((went(f"/{item}"),), (filled("Item", item), clicked("Buy"))),
        }
        for item in ("lamp", "desk", "chair")
    ]
    await page.goto("/editor")
    await expect(page.get_by_text("A template: what the agent was told")).to_be_hidden()
    await page.get_by_label("Recordings that succeeded").set_input_files(files[:2])
    await page.get_by_label("In lamp.mrec").fill("Buy the lamp.")
    propose = page.get_by_role("button", name="Propose", exact=True)
    told = page.locator("#proposing .proposed")
    await propose.click()
    await expect(told).to_contain_text("No proposal: recordings[1].instruction: got 'None', wanted")
    await page.get_by_label("Recordings that succeeded").set_input_files(files)
    await expect(page.get_by_label("In lamp.mrec")).to_have_value("Buy the lamp.")
    await page.get_by_label("In desk.mrec").fill("Buy the desk.")
    await page.get_by_label("In chair.mrec").fill("Buy the chair.")
    await is_accessible(page)
    await page.get_by_label("What the agent was told", exact=True).fill("Buy the {item}.")
    await propose.click()
    await expect(told).to_contain_text("Proposed from 3 successes and 0 failures.")
    text = page.get_by_role("textbox", name="The task, in YAML")
    await expect(text).to_contain_text("instruction: Buy the {item}.")
    await expect(text).to_contain_text("item: {example: lamp}")
    await expect(text).to_contain_text("'/{item}'")


async def test_a_task_is_proposed_from_stored_episodes(page: Page, site: Site, two: Two) -> None:
    """They are chosen from a list or named by id, or by their page's address, beside files or
    instead of them; one that is still open is refused by name."""
    kind = "application/octet-stream"
    bad = recorded((went("/"),), (went("/cart"),))
    wrong: FilePayload = {"name": "bad.mrec", "mimeType": kind, "buffer": bad}
    told = page.locator("#proposing .proposed")
    propose = page.get_by_role("button", name="Propose", exact=True)
    await page.goto("/editor")
    await page.locator(".cm-content").wait_for()
    listed = page.locator(f"select[data-episode={two.good}]")
    await expect(listed).to_have_value("")
    await listed.select_option("a success")
    await page.get_by_label("Recordings that failed").set_input_files([wrong])
    await expect(page.get_by_label(f"In {two.good}")).to_be_visible()
    await is_accessible(page)
    await propose.click()
    await expect(told).to_contain_text("Proposed from 1 success and 1 failure.")
    await expect(told).to_contain_text(f"of {two.good}")
    await page.goto("/editor?task=shop/cart")
    await page.locator(".cm-content").wait_for()
    await page.get_by_text("Propose a task from recordings or stored episodes").click()
    await page.get_by_label("Stored episodes that succeeded, by id").fill(
        f"{page.url.partition('/editor')[0]}/episodes/{two.good}, {two.good}"
    )
    await page.locator(f"select[data-episode={two.poor}]").select_option("a failure")
    await propose.click()
    await expect(told).to_contain_text("Proposed from 1 success and 1 failure.")
    running, _ = site.open()
    await page.get_by_label("Stored episodes that failed, by id").fill(running)
    await propose.click()
    await expect(told).to_contain_text("No proposal: recordings[")
    await expect(told).to_contain_text("wanted a closed episode")


async def test_a_draft_in_the_editor_is_confirmed_by_recordings(page: Page, two: Two) -> None:
    """What stands in the editor is held against the form's recordings; what does not confirm it is
    said, and leaves it as it is."""
    milestones = [
        {"id": "cart", "why": "", "when": {"url_reached": {"url": "/cart"}}},
        {"id": "help", "why": "", "when": {"url_reached": {"url": "/help"}}},
        {"id": "buy", "why": "", "when": {"element_clicked": {"role": "button", "name": "Buy"}}},
    ]
    answer = orjson.dumps({"milestones": milestones, "goal": ["buy"]}).decode()
    head = TaskHead("shop/drafted", "Buy it.", "http://shop.test")
    draft = write_draft(head, read_draft(answer), "a-model")
    kind = "application/octet-stream"
    good = recorded((went("/"),), (went("/cart"), clicked("Buy")))
    bad = recorded((went("/"),), (went("/cart"),))
    right: FilePayload = {"name": "good.mrec", "mimeType": kind, "buffer": good}
    wrong: FilePayload = {"name": "bad.mrec", "mimeType": kind, "buffer": bad}
    await page.goto("/editor")
    await page.locator(".cm-content").wait_for()
    text = page.get_by_role("textbox", name="The task, in YAML")
    await text.fill(draft)
    told = page.locator("#proposing .proposed")
    confirm = page.get_by_role("button", name="Confirm the draft below")
    await confirm.click()
    await expect(told).to_contain_text("Not confirmed: choose a recorded success")
    await page.get_by_label("Recordings that succeeded").set_input_files([wrong])
    await confirm.click()
    await expect(told).to_contain_text("Not confirmed: recordings[0]: got 'done is not reached in")
    await expect(text).to_contain_text("1-draft")
    await page.get_by_label("Recordings that succeeded").set_input_files([right])
    await page.get_by_label("Recordings that failed").set_input_files([wrong])
    await confirm.click()
    await expect(told).to_contain_text("Confirmed by 1 success and 1 failure")
    await expect(told).to_contain_text("buy: in 1 of 1 successes and 0 of 1 failures")
    await expect(told).to_contain_text("Left out: help, not reached in good.mrec.")
    await expect(text).to_contain_text("Drafted by a model, confirmed by 1 successes")
    await expect(text).not_to_contain_text("1-draft")
    await is_accessible(page)
    await page.get_by_role("button", name="Try it").click()
    await expect(page.get_by_text("shop/drafted version 1")).to_be_visible()


async def test_the_fleet_moves_without_a_reload(site: Site, page: Page, two: Two) -> None:
    await page.goto("/fleet")
    await page.evaluate("window.before = 'the same document'")
    running = page.locator(".facts dd").nth(2)
    before = await running.inner_text()
    episode, token = site.open()
    site.tell(episode, token, ("episode.opened", {"task": TASK["id"], "digest": "d"}))
    await expect(running).not_to_have_text(before)
    assert await page.evaluate("window.before") == "the same document"
