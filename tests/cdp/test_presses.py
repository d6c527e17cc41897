"""A press that no click followed is an event of its own, with where it was; one that a click
follows is that click."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import began, ruleset, run, worth

pytestmark = [pytest.mark.browser, needs_chromium]

REPLACED = "this.outerHTML = `<div id=late>done</div>`"
STYLE = (
    "<style>* { margin: 0 } canvas, svg, button, #a, #b { width: 100px; height: 40px; display:"
    " block }</style>"
)
PRESSES = {
    "replaced at mousedown": f'<button id=x onmousedown="{REPLACED}">Go</button>',
    "replaced at pointerdown": f'<button id=x onpointerdown="{REPLACED}">Go</button>',
    "a canvas that is replaced": f'<canvas id=x onmousedown="{REPLACED}"></canvas>',
    "a shape that is taken away": (
        '<svg id=x><rect id=r width=100 height=40 onmousedown="this.remove()" /></svg>'
    ),
    "disabled": "<button id=x disabled>Go</button>",
}


@pytest.mark.parametrize("body", PRESSES.values(), ids=PRESSES)
async def test_a_press_that_no_click_follows_is_told(
    browser: Chromium, page: Page, site: Site, body: str
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.page("/", STYLE + body))
        await page.mouse.move(30, 10)
        await page.mouse.down()
        await page.mouse.up()
        await watch.fence()
        told = watch.all("element.pressed")
        assert watch.all("element.clicked") == []
    assert [(data["at"], data["trusted"], data.get("moved")) for data in told] == [
        ([30, 10], True, None)
    ]
    assert told[0]["element"]["id"] in ("x", "r"), "as it was before the page's handlers"


LET_GO = {
    "a link, which the browser drags": '<a id=x style="display: block" href=/ onmousedown="window.done = 1">Go</a>',
    "what can be dragged": '<button id=x draggable=true onmousedown="window.done = 1">Go</button>',
    "what the page does not let be dragged": (
        '<button id=x draggable=true ondragstart="return false">Go</button>'
    ),
    "a button that acts at once": '<button id=x onpointerdown="window.done = 1">Go</button>',
    "a button that its page clicks": (
        '<button id=x onpointerdown="this.click()">Go</button><i id=b></i>'
    ),
    "a button whose page clicks another": (
        '<button id=x onpointerdown="b.click()" onpointerup="b.click()">Go</button><i id=b></i>'
    ),
}


@pytest.mark.parametrize("body", LET_GO.values(), ids=LET_GO)
async def test_a_press_that_is_let_go_on_another_element_is_told(
    browser: Chromium, page: Page, site: Site, body: str
) -> None:
    """Whatever the browser makes of that: a drag that nothing takes, a click on what both are in."""
    async with watching(browser) as watch:
        await page.goto(site.page("/", f"{STYLE}<div>{body}</div><div id=a></div>"))
        await page.mouse.move(30, 10)
        await page.mouse.down()
        await page.mouse.move(40, 60, steps=5)
        await page.mouse.up()
        pressed = await watch.one("element.pressed")
        await watch.fence()
    assert (pressed["element"]["id"], pressed["trusted"], pressed["moved"]) == ("x", True, [10, 50])
    by_hand = watch.all("element.clicked", trusted=True)
    assert not [data for data in by_hand if data["element"].get("id") == "x"]


async def test_a_touch_of_what_goes_at_once_is_told(
    browser: Chromium, page: Page, site: Site
) -> None:
    body = f"{STYLE}<button id=x ontouchstart='this.remove()'>Go</button>"
    point = {"touchPoints": [{"x": 30, "y": 10}]}
    async with watching(browser) as watch:
        await page.goto(site.page("/", body))
        hand = await page.context.new_cdp_session(page)
        await hand.send("Input.dispatchTouchEvent", {"type": "touchStart", **point})
        await hand.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        pressed = await watch.one("element.pressed")
    assert (pressed["element"]["id"], pressed["trusted"]) == ("x", True)


CLICKS = {
    "a button": ("<button id=x>Go</button>", "click"),
    "a canvas": ("<canvas id=x></canvas>", "click"),
    "a double click": ("<button id=x>Go</button>", "dblclick"),
}


@pytest.mark.parametrize(("body", "how"), CLICKS.values(), ids=CLICKS)
async def test_a_press_that_a_click_follows_is_that_click(
    browser: Chromium, page: Page, site: Site, body: str, how: str
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.page("/", STYLE + body))
        await getattr(page, how)("#x")
        await watch.fence()
        assert watch.all("element.clicked", trusted=True)
        assert watch.all("element.pressed") == []


async def test_a_press_that_is_let_go_elsewhere_says_how_far(
    browser: Chromium, page: Page, site: Site
) -> None:
    async with watching(browser) as watch:
        await page.goto(
            site.page("/", f"{STYLE}<canvas id=x onmousedown='this.remove()'></canvas>")
        )
        await page.mouse.move(30, 10)
        await page.mouse.down()
        await page.mouse.move(60, 20, steps=3)
        await page.mouse.up()
        pressed = await watch.one("element.pressed")
    assert (pressed["at"], pressed["moved"]) == ([30, 10], [30, 10])


@pytest.mark.parametrize(
    ("when", "pays"),
    [
        ({"element_clicked": {"id": "x", "presses": True}}, True),
        ({"element_clicked": {"id": "x"}}, False),
        ({"observed": {"kind": "element.pressed", "where": {"at.0": 30, "at.1": 10}}}, True),
    ],
    ids=["with presses", "clicks alone", "observed"],
)
async def test_a_rule_may_count_presses(
    browser: Chromium, page: Page, site: Site, when: dict[str, Any], pays: bool
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.page("/", STYLE + PRESSES["replaced at mousedown"]))
        await watch.fence()
        first = watch.count()
        await page.mouse.click(30, 10)
        await watch.fence()
        said = watch.seen[first:]
    rewards = run(
        ruleset({"id": "m", "when": when}),
        ("episode.opened", {}),
        began(0),
        *said,
        ("episode.closed", {}),
    )
    assert (sum(filter(None, worth(rewards))) > 0) is pays


async def test_a_dialog_that_closes_has_its_name(browser: Chromium, page: Page, site: Site) -> None:
    body = """<dialog id=d aria-labelledby=t><h2 id=t>Terms</h2><button onclick="d.close()">Agree</button></dialog>
    <button onclick="d.showModal()">Open</button>"""
    async with watching(browser) as watch:
        await page.goto(site.page("/", body))
        await page.get_by_role("button", name="Open").click()
        await page.get_by_role("button", name="Agree").click()
        await watch.until(lambda: len(watch.all("element.toggled")) == 2)
        told = [
            (data["element"]["name"], data["open"], data["trusted"])
            for data in watch.all("element.toggled")
        ]
    assert told == [("Terms", True, True), ("Terms", False, True)]


async def test_the_size_of_an_uploaded_file_is_the_file_s(
    browser: Chromium, page: Page, site: Site, tmp_path: Any
) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"x" * 4711)
    (tmp_path / "empty.txt").write_bytes(b"")
    async with watching(browser) as watch:
        for n in range(12):
            await page.goto(site.page(f"/{n}", "<input type=file multiple aria-label=Up>"))
            await page.set_input_files("input", [path] if n else [tmp_path / "empty.txt"])
            if n % 2:
                await watch.fence()
            await watch.until(lambda n=n: len(watch.all("field.filled", commit=True)) == n + 1)
        sizes = [data["files"][0][1] for data in watch.all("field.filled", commit=True)]
    assert sizes == [0] + [4711] * 11


async def test_where_it_was_is_told_where_a_task_asks(
    browser: Chromium, page: Page, site: Site
) -> None:
    """Of a click and of a press: the place in the window, and the element's box there."""
    body = f'{STYLE}<button>Go</button><canvas id=x onmousedown="{REPLACED}"></canvas>'
    for plan, points in (({"points": [True]}, [[30, 10], [30, 50]]), ({}, [None, None])):
        async with watching(browser, plan) as watch:
            await page.goto(site.page("/", body))
            await page.mouse.click(30, 10)
            await page.mouse.click(30, 50)
            await watch.fence()
            told = [*watch.all("element.clicked"), *watch.all("element.pressed")]
        assert [one.get("point") for one in told] == points
        boxes = [[0, 0, 100, 40], [0, 40, 100, 40]] if plan else [None, None]
        assert [one.get("box") for one in told] == boxes
