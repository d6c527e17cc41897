"""Charts as they are drawn: what a person sees of them is read from their pixels."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from tests.api.service import TASK
from tests.pages.looking import is_accessible
from tests.pages.test_in_a_browser import ATTACK, CLOSED, Site, page, site
from tests.support.chromium import needs_chromium
from tests.support.logs import Said, began, clicked, went

__all__ = ["page", "site"]
pytestmark = [pytest.mark.browser, needs_chromium]
RUDE = {"id": "rude", "when": {"url_reached": {"url": "/rude"}}, "penalty": 0.4}
STRICT: dict[str, Any] = {**TASK, "id": "shop/strict", "milestones": [*TASK["milestones"], RUDE]}
WON, LOST = (went("/cart"), clicked("Buy")), (went("/rude"),)
UNSEEN: Said = ("gap.began", {"source": "cdp", "reason": "the browser is gone"})
INK, LIGHT_INK, NAV, GOAL = (
    (0x1D, 0x24, 0x30),
    (0xE6, 0xE9, 0xEF),
    (0x3B, 0x7D, 0xD8),
    (0xD1, 0x49, 0x5B),
)

FIND = """([canvas, wanted, within]) => {
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  const found = [];
  for (let at = 0; at < data.length; at += 4)
    if (data[at + 3] > 200 && wanted.every((part, n) => Math.abs(part - data[at + n]) <= within))
      found.push([(at / 4) % width / width, Math.floor(at / 4 / width) / height]);
  return found;
}"""


async def pixels(
    canvas: Locator, colour: tuple[int, int, int], within: int = 5
) -> list[tuple[float, float]]:
    """All pixels of this colour, as parts of the canvas' width and height; thin lines are never
    quite theirs."""
    looked = [await canvas.element_handle(), list(colour), within]
    found: list[tuple[float, float]] = await canvas.page.evaluate(FIND, looked)
    return sorted((x, y) for x, y in found)


async def chart(page: Page, title: str) -> Locator:
    """The canvas below a title, once it is drawn."""
    canvas = page.locator("figure", has_text=title).locator("canvas")
    await expect(canvas).to_have_css("display", "block")  # Chart.js makes it so
    return canvas


@pytest.fixture(scope="module")
def four(site: Site) -> list[str]:
    """Versions in their order: one won, one lost, one won, one won half of its episodes; all of one
    task."""
    site.http.post("/v1/tasks", json=STRICT).raise_for_status()
    ran = []
    for policy, steps in (
        ("1", WON),
        ("2", LOST),
        (ATTACK, WON),
        ("4", (UNSEEN,)),
        ("4", WON),
        ("4", LOST),
    ):
        labels = {"policy": policy, "half": str(policy == "4")}
        opened = (
            site.http.post("/v1/episodes", json={"task": STRICT["id"], "labels": labels})
            .raise_for_status()
            .json()
        )
        told: list[Said] = [("episode.opened", {"task": STRICT["id"], "digest": "d"})]
        for number, deed in enumerate(steps):
            told += [began(number), deed]
        site.tell(opened["episode"], opened["token"], *told, CLOSED)
        ran.append(opened["episode"])
    return ran


@pytest.fixture
async def problems(page: Page) -> list[str]:
    """What the page's console complains of, what its policy refuses included."""
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda one: said.append(one.text) if one.type == "error" else None)
    return said


async def test_what_is_not_known_is_a_gap_in_the_line(
    page: Page, four: list[str], problems: list[str]
) -> None:
    await page.goto("/training?task=shop/strict")
    line = await pixels(await chart(page, "Steps per success"), INK, within=40)
    first, last = line[0][0], line[-1][0]
    slot = (last - first) / 3

    def drawn(begin: float, end: float) -> bool:
        return any(first + slot * begin < x < first + slot * end for x, _ in line)

    assert drawn(2.2, 2.8), "a line from the third version to the fourth"
    assert not drawn(0.2, 1.8), "the second had no success: nothing is known, and nothing drawn"
    assert await page.locator("main img, main script").count() == 0
    assert await page.title() == "Training · milestoned"
    assert problems == []


@pytest.mark.slow
async def test_components_stack_and_a_loss_hangs_below_zero(page: Page, four: list[str]) -> None:
    await page.goto("/training?task=shop/strict")
    canvas = await chart(page, "Components")
    goal, nav = await pixels(canvas, GOAL), await pixels(canvas, NAV)
    zero = max(y for _, y in goal)  # the first version's: the lowest of its stack
    hanging = [x for x, y in nav if y > zero + 0.02]
    assert len(hanging) > 100
    assert goal[0][0] < min(hanging)
    assert [y for x, y in nav if x < min(hanging) and y > zero + 0.02] == []
    # of the two whose total is known
    words = "Components, the newest version: goal 0.1, nav −0.15, ui 0.1"
    await expect(canvas).to_have_accessible_name(words)


@pytest.mark.slow
async def test_the_axis_of_a_rate_reaches_to_the_whole(page: Page, four: list[str]) -> None:
    await page.goto("/training?task=shop/strict&label=half=True")
    dot = await pixels(await chart(page, "Success rate"), INK)
    assert 0.3 < sum(y for _, y in dot) / len(dot) < 0.6, "one half is in the middle"


@pytest.mark.slow
async def test_a_change_of_the_scheme_is_drawn(
    page: Page, four: list[str], problems: list[str]
) -> None:
    await page.goto("/training?task=shop/strict")
    canvas = await chart(page, "Success rate")
    assert len(await pixels(canvas, INK)) > 50
    await page.emulate_media(color_scheme="dark")
    looked = [await canvas.element_handle(), list(LIGHT_INK), 5]
    await page.wait_for_function(f"(looked) => ({FIND})(looked).length > 50", arg=looked)
    assert await pixels(canvas, INK) == []
    await is_accessible(page)
    assert problems == []


async def test_a_chart_moves_nothing_and_fits_a_phone(page: Page, four: list[str]) -> None:
    await page.set_viewport_size({"width": 390, "height": 844})
    await page.route("**/charts.bundle.js", lambda route: route.abort())
    await page.goto("/training?task=shop/strict")
    before = await page.locator("main").bounding_box()
    await page.unroute("**/charts.bundle.js")
    await page.reload()
    canvas = await chart(page, "Components")
    assert await page.locator("main").bounding_box() == before
    box = await canvas.bounding_box()
    assert box is not None
    assert 280 < box["width"] <= 390 - 2 * 14
    assert box["height"] == 180
    assert len(await pixels(canvas, NAV)) > 100


@pytest.mark.slow
async def test_two_running_totals_have_the_colours_of_their_key(
    page: Page, four: list[str], problems: list[str]
) -> None:
    won, lost = four[:2]
    await page.goto(f"/compare?a={won}&b={lost}")
    canvas = await chart(page, "running totals")
    for side in ("a", "b"):
        key = await page.locator(f".key .which.{side}").evaluate(
            "(one) => getComputedStyle(one).backgroundColor"
        )
        red, green, blue = (
            int(part) for part in key.removeprefix("rgb(").removesuffix(")").split(", ")
        )
        assert await pixels(canvas, (red, green, blue), within=40), f"side {side}"
    await is_accessible(page)
    assert problems == []


async def test_without_javascript_the_chart_is_its_words(
    site: Site, page: Page, four: list[str]
) -> None:
    assert page.context.browser is not None
    plain = await page.context.browser.new_context(
        base_url=site.process.url,
        java_script_enabled=False,
        storage_state=await page.context.storage_state(),
    )
    tab = await plain.new_page()
    await tab.goto("/training?task=shop/strict")
    figure = tab.locator("figure", has_text="Components")
    await expect(figure).to_contain_text("2: goal 0, nav −0.4, ui 0;")
    rate = await tab.locator("figure", has_text="Judge's cost").locator(".drawn").bounding_box()
    assert rate is not None
    assert rate["height"] < 60, "no hole where nothing is drawn"


async def test_a_chart_is_drawn_where_the_browser_tells_of_no_paint(
    page: Page, four: list[str]
) -> None:
    """A browser on a busy machine may lose the frame whose paint would be reported."""
    await page.add_init_script("PerformanceObserver.prototype.observe = () => {}")
    await page.goto("/training?task=shop/strict")
    await chart(page, "Steps per success")
