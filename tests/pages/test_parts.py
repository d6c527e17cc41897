"""Parts of a page that come without a reload, and what it says where they do not come."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page, Route, expect

from tests.api.service import TASK
from tests.pages.test_in_a_browser import CLOSED, OPENED, Site, acted, page, site
from tests.support.chromium import needs_chromium
from tests.support.logs import Said, began, clicked, sealed, went

__all__ = ["page", "site"]
pytestmark = [pytest.mark.browser, needs_chromium]
SAME = "the same document"
MANY = 450
"""Lines of a step, of which 400 are sent at once."""


@pytest.fixture
async def stays(page: Page) -> AsyncIterator[Page]:
    """A tab that must not load a document anew after `mark`, and whose scripts fail at nothing."""
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    assert await page.evaluate("window.before") == SAME
    assert problems == []


async def mark(page: Page) -> None:
    await page.evaluate(f"window.before = '{SAME}'")


def told(site: Site, *said: Said, **labels: str) -> str:
    episode, token = site.open(**labels)
    site.tell(episode, token, OPENED, *said, CLOSED)
    return episode


async def test_a_filter_is_at_work_once_it_is_set(site: Site, stays: Page) -> None:
    told(site, acted(0, "a"), went("/cart"), sealed(0), parts="one")
    told(site, acted(0, "a"), went("/"), sealed(0), parts="one")
    await stays.goto("/episodes?label=parts%3Done")
    await mark(stays)
    rows = stays.locator("tbody tr")
    await expect(rows).to_have_count(2)
    await stays.get_by_label("Reward from").fill("0.05")
    await stays.keyboard.press("Tab")
    await expect(rows).to_have_count(1)
    await expect(stays).to_have_url(
        re.compile(r"/episodes\?label=parts%3Done&least=0.05&sort=newest$")
    )
    await expect(stays.get_by_role("link", name="CSV")).to_have_attribute(
        "href", re.compile("least=0.05")
    )
    assert await stays.evaluate("document.activeElement.name") == "most", "the focus stays"
    await stays.get_by_label("Sort").select_option("oldest")
    await expect(stays).to_have_url(re.compile(r"sort=oldest$"))
    await stays.get_by_label("Task").fill("no such")
    await stays.get_by_role("button", name="Show").click()
    await expect(stays.get_by_text("No episode is like that.")).to_be_visible()


@pytest.mark.slow
async def test_a_filter_that_is_none_says_so_and_leaves_what_was_found(
    site: Site, stays: Page
) -> None:
    told(site, acted(0, "a"), sealed(0), parts="two")
    await stays.goto("/episodes?label=parts%3Dtwo")
    await mark(stays)
    await stays.get_by_label("Label").fill("parts")
    await stays.get_by_role("button", name="Show").click()
    await expect(stays.locator("#listing > .older[role=status]")).to_contain_text(
        "label: got 'parts', wanted"
    )
    await expect(stays.locator("tbody tr")).to_have_count(1)
    assert stays.url.endswith("/episodes?label=parts%3Dtwo"), (
        "an address that was refused is none to come back to"
    )
    await stays.get_by_label("Label").fill("parts=two")
    await stays.get_by_role("button", name="Show").click()
    await expect(stays.locator(".older")).to_have_count(0)


async def test_what_was_chosen_stays_chosen_or_goes(site: Site, stays: Page) -> None:
    """It never becomes another episode that stands in its place."""
    for policy in ("x", "x", "y", "y"):
        told(site, acted(0, "a"), sealed(0), parts="three", policy=policy)
    await stays.goto("/episodes?label=policy%3Dx")
    await mark(stays)
    boxes = stays.locator("tbody input")
    chosen = [await boxes.nth(n).get_attribute("value") for n in (0, 1)]
    await boxes.nth(0).check()
    for label, left in (("parts=three", chosen[:1]), ("policy=y", [])):
        await stays.get_by_label("Label").fill(label)
        await stays.keyboard.press("Enter")
        link = stays.get_by_role("link", name="CSV")
        await expect(link).to_have_attribute("href", re.compile(label.replace("=", "%3D")))
        found = await boxes.evaluate_all(
            "all => all.filter((one) => one.checked).map((one) => one.value)"
        )
        assert found == left, label


@pytest.mark.slow
async def test_the_address_of_a_filter_is_gone_back_from(site: Site, page: Page) -> None:
    await page.goto("/episodes")
    await page.get_by_label("Sort").select_option("oldest")
    await expect(page).to_have_url(re.compile(r"sort=oldest$"))
    await page.go_back()
    await expect(page.get_by_label("Sort")).to_have_value("newest")


@pytest.mark.slow_where("come to later")
@pytest.mark.parametrize("opened", [1, 0], ids=["with the page", "come to later"])
async def test_the_later_events_of_a_step_come_to_those_before(
    site: Site, stays: Page, opened: int
) -> None:
    said = [one for n in range(MANY // 2) for one in (went(f"/{n}"), clicked(f"Thing {n}"))]
    episode = told(site, began(0), sealed(0), began(1), *said, sealed(1))
    await stays.goto(f"/episodes/{episode}?step={opened}")
    await mark(stays)
    lines = stays.locator("#s-1 .line")
    await expect(lines).to_have_count(400)
    await stays.get_by_role("link", name="Later events of this step").press("Enter")
    await expect(lines.last).to_contain_text("episode.closed")
    assert await stays.evaluate(
        "document.activeElement.closest('.line') === document.querySelectorAll('#s-1 .line')[400]"
    )
    seqs = await lines.evaluate_all("all => all.map((one) => Number(one.dataset.seq))")
    assert seqs == sorted(set(seqs)), "each once, in their order"
    assert len(seqs) > MANY
    await expect(stays.get_by_role("link", name="Later events of this step")).to_have_count(0)


@pytest.mark.slow
async def test_a_link_opens_a_tab_where_the_browser_is_asked_to(site: Site, page: Page) -> None:
    said = [one for n in range(MANY // 2) for one in (went(f"/{n}"), clicked(f"Thing {n}"))]
    episode = told(site, began(0), *said, sealed(0))
    await page.goto(f"/episodes/{episode}?step=0")
    async with page.context.expect_page() as opened:
        await page.get_by_role("link", name="Later events of this step").click(
            modifiers=["Control"]
        )
    tab = await opened.value
    await expect(tab.locator("#s-0 .line").last).to_contain_text("episode.closed")
    await expect(page.locator("#s-0 .line")).to_have_count(400)


@pytest.mark.slow
async def test_a_search_that_is_not_answered_says_so(site: Site, stays: Page) -> None:
    episode = told(site, began(0), went("/cart"), sealed(0))
    await stays.route("**/search?*", lambda route: route.abort())
    await stays.goto(f"/episodes/{episode}?step=0")
    await mark(stays)
    await stays.get_by_label("Search the events").fill("cart")
    await expect(stays.locator("#found > .older")).to_be_visible()
    await stays.unroute("**/search?*")
    await stays.get_by_label("Search the events").press("Enter")
    await expect(stays.locator("#found .line")).to_have_count(1)
    await expect(stays.locator(".older")).to_have_count(0)


async def test_a_search_goes_on_and_ends(site: Site, stays: Page) -> None:
    said = [one for n in range(MANY) for one in (went(f"/{n}"), clicked(f"Thing {n}"))]
    episode = told(site, began(0), *said, sealed(0))
    await stays.goto(f"/episodes/{episode}?step=0")
    await mark(stays)
    await stays.get_by_label("Search the events").fill("thing")
    found = stays.locator("#found .line")
    await expect(found).to_have_count(400)
    await stays.get_by_role("button", name="Go on after event").click()
    await expect(found).to_have_count(MANY)
    await expect(stays.locator("#spans")).to_be_hidden()
    await stays.get_by_label("Source").select_option("journal")
    await expect(found).to_have_count(0)
    await stays.get_by_label("Source").select_option("")
    await stays.get_by_label("Search the events").fill("")
    await expect(stays.locator("#spans")).to_be_visible()
    await expect(stays.locator("#found")).to_be_hidden()


@pytest.mark.slow
async def test_a_panel_that_is_not_answered_says_so_and_keeps_what_it_said(
    site: Site, stays: Page
) -> None:
    episode = told(site, began(0), went("/cart"), sealed(0), began(1), sealed(1))
    away = True

    async def fail(route: Route) -> None:
        await (route.abort() if away else route.continue_())

    await stays.route("**/detail?*", fail)
    await stays.goto(f"/episodes/{episode}?step=0")
    await mark(stays)
    await stays.locator("#s-1 a.step").click()
    await expect(stays.locator("#detail > .older[role=status]")).to_contain_text(
        "what follows is older"
    )
    await expect(stays.get_by_role("heading", name="Step 0")).to_be_visible()
    away = False
    await stays.locator("#s-1 a.step").click()
    await expect(stays.get_by_role("heading", name="Step 1")).to_be_visible()
    await expect(stays.locator("#detail > .older[role=status]")).to_have_count(0)


@pytest.mark.slow
async def test_the_last_step_that_was_asked_for_is_shown(site: Site, stays: Page) -> None:
    """However late the answer about the one before comes."""
    episode = told(site, began(0), sealed(0), began(1), sealed(1), began(2), sealed(2))
    await stays.goto(f"/episodes/{episode}?step=0")
    await mark(stays)
    asked: asyncio.Future[Route] = asyncio.get_running_loop().create_future()

    async def late(route: Route) -> None:
        asked.set_result(route)

    await stays.route("**/detail?step=1", late)
    await stays.locator("#s-1 a.step").click()
    await expect(stays.locator("#s-1 a.step")).to_have_attribute("aria-current", "step")
    held = await asked
    await stays.locator("#s-2 a.step").click()
    await expect(stays.get_by_role("heading", name="Step 2")).to_be_visible()
    await held.abort()
    await expect(stays.get_by_role("heading", name="Step 2")).to_be_visible()
    await expect(stays.locator(".older")).to_have_count(0)


async def test_who_is_logged_out_meanwhile_is_asked_to_log_in(site: Site, page: Page) -> None:
    episode = told(site, began(0), sealed(0), began(1), sealed(1))
    await page.goto(f"/episodes/{episode}?step=0")
    await expect(page.locator("#s-1 .line").first).to_be_visible()
    await page.context.clear_cookies()
    await page.locator("#s-1 a.step").click()
    await page.wait_for_url("**/login?*")
    await expect(page.get_by_label("Token")).to_be_visible()
    assert TASK["id"] not in await page.locator("main").inner_text()


async def hidden(page: Page, hidden: bool) -> None:
    """As if its tab were behind another one."""
    text = str(hidden).lower()
    await page.evaluate(
        f"Object.defineProperty(document, 'hidden', {{ value: {text}, configurable: true }})"
    )
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


@pytest.mark.slow
async def test_a_stream_whose_reader_may_no_longer_read_asks_to_log_in(page: Page) -> None:
    """Once, and does not go on asking."""
    async with page.expect_request("**/fleet/live"):
        await page.goto("/fleet")
    await expect(page.locator("#news[data-htmx-powered]")).to_be_attached()
    await hidden(page, True)
    await page.context.clear_cookies()
    await hidden(page, False)
    await page.wait_for_url("**/login?*")


@pytest.mark.slow
async def test_a_stream_that_could_not_be_opened_is_opened_later(site: Site, stays: Page) -> None:
    tries: list[str] = []

    async def once(route: Route) -> None:
        tries.append(route.request.url)
        await (route.abort() if len(tries) == 1 else route.continue_())

    await stays.route("**/fleet/live", once)
    await stays.goto("/fleet")
    await mark(stays)
    await expect(stays.locator("#news > .older")).to_be_visible()
    await expect(stays.locator("#news > .older")).to_have_count(0)
    running = stays.locator(".facts dd").nth(2)
    before = await running.inner_text()
    site.open()
    await expect(running).not_to_have_text(before)
    assert len(tries) == 2
