"""What a person does with the pointer and the focus beside clicking: each as they would say it, and
by whose hand."""

from __future__ import annotations

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

ALSO = {"also": ["element.hovered", "element.focused", "page.scrolled", "text.selected"]}


async def test_double_and_right_clicks_are_told_beside_clicks(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/", "<button>Go</button><p>Text</p>")
    async with watching(browser) as watch:
        await page.goto(url)
        await page.dblclick("button")
        await page.click("button", button="right")
        await page.evaluate(
            "document.querySelector('p').dispatchEvent(new MouseEvent('dblclick', {bubbles: true}))"
        )
        await page.evaluate(
            "document.querySelector('p').dispatchEvent(new MouseEvent('contextmenu', {bubbles:"
            " true}))"
        )
        await watch.fence()
    seen = [
        (kind, data["element"]["tag"], data["trusted"])
        for kind, data in watch.seen
        if kind.startswith("element.")
    ]
    assert seen == [
        ("element.clicked", "button", True),
        ("element.clicked", "button", True),
        ("element.double_clicked", "button", True),
        ("element.right_clicked", "button", True),
        ("element.double_clicked", "p", False),
        ("element.right_clicked", "p", False),
    ]


async def test_a_pointer_that_rests_hovers_and_one_that_passes_does_not(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page(
        "/",
        "<style>button { display: block; height: 50px"
        " }</style><button>One</button><button>Two</button><button>Three</button>",
    )
    async with watching(browser, ALSO) as watch:
        await page.goto(url)
        await page.hover("text=One")
        await watch.one("element.hovered")
        await page.mouse.move(30, 85)  # over Two and on, within one turn of the page
        await page.hover("text=Three")
        await watch.until(lambda: watch.all("element.hovered")[-1]["element"]["name"] == "Three")
        names = [data["element"]["name"] for data in watch.all("element.hovered", trusted=True)]
    assert names[0] == "One"
    assert names[-1] == "Three"
    assert len(names) == len(set(names)), "a pointer that stays on an element is told once"


@pytest.mark.parametrize(
    ("how", "trusted"),
    [
        pytest.param("click", True, id="a click"),
        pytest.param("tab", True, id="the tab key"),
        pytest.param("script", False, id="focus() from a timer"),
        pytest.param("handler", True, id="focus() in the handler of a real click"),
    ],
)
async def test_the_focus_is_told_with_who_moved_it(
    browser: Chromium, page: Page, site: Site, how: str, trusted: bool
) -> None:
    url = site.page(
        "/",
        "<i onclick='city.focus()'>Elsewhere</i><p><input id=city aria-label=City></p><p>below</p>",
    )
    async with watching(browser, ALSO) as watch:
        await page.goto(url)
        await watch.fence()
        match how:
            case "click":
                await page.click("#city")
            case "tab":
                await page.keyboard.press("Tab")
            case "script":
                await page.evaluate("setTimeout(() => city.focus())")
            case _:
                await page.click("i")
        focused = await watch.one("element.focused")
    assert (focused["element"]["name"], focused["trusted"]) == ("City", trusted)


async def test_scrolling_is_told_once_where_it_rests(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page(
        "/",
        "<style>body { margin: 0; height: 5000px } #box { height: 90px; overflow: auto } p {"
        " height: 999px }</style><div id=box role=log aria-label=Chat><p>long</p></div>",
    )
    async with watching(browser, ALSO) as watch:
        await page.goto(url)
        await page.mouse.move(50, 50)
        await page.mouse.wheel(0, 120)
        in_box = await watch.one("page.scrolled")
        await page.evaluate("scrollTo(0, 700)")
        whole = await watch.one("page.scrolled", y=700)
        await watch.fence()
        assert len(watch.all("page.scrolled")) == 2
    assert (in_box["element"]["name"], in_box["x"], in_box["y"]) == ("Chat", 0, 120)
    assert "element" not in whole


async def test_selected_text_is_told_once_the_selection_rests(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/", "<p>Some words here</p><textarea aria-label=Note>in a field</textarea>")
    async with watching(browser, ALSO) as watch:
        await page.goto(url)
        await page.click("p", click_count=3)
        assert (await watch.one("text.selected"))["text"].strip() == "Some words here"
        await page.focus("textarea")
        await page.keyboard.press("Control+a")
        note = await watch.one("text.selected", text="in a field")
    assert note["element"]["name"] == "Note"


async def test_what_is_not_asked_for_has_no_listener(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page(
        "/", "<style>body { height: 5000px }</style><p>Some words</p><button>Go</button>"
    )
    async with watching(browser, {"hears": ["element.clicked"]}) as watch:
        await page.goto(url)
        await page.click("p", click_count=3)
        await page.evaluate("scrollTo(0, 700)")
        await page.hover("button")
        await page.keyboard.press("Tab")
        await page.click("button")
        await watch.until(lambda: watch.clicked("Go"))
        await watch.fence()
    asked = {
        "element.hovered",
        "element.focused",
        "page.scrolled",
        "text.selected",
        "text.appeared",
    }
    assert not asked & {kind for kind, _ in watch.seen}
