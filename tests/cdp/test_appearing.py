"""Texts and elements that come to be visible and go: asked for, told as a person sees them, folded,
never a flood."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

TEXTS = {"also": ["text.appeared", "text.disappeared"]}
ELEMENTS = {"also": ["element.appeared", "element.disappeared"]}
PAGE = """<p id=first>First words</p><div id=box><b>Bold</b> news</div>
<p id=late role=alert style='display:none'>Late words</p><button id=go>Go</button>"""


def texts(watch: Watch, kind: str) -> list[str]:
    """The texts of a kind, in order."""
    return [data["text"] for data in watch.all(kind)]


def elements(watch: Watch, kind: str) -> list[tuple[str, str]]:
    """Role and name (or id) of the elements of a kind, in order."""
    found: list[dict[str, Any]] = [data["element"] for data in watch.all(kind)]
    return [(element["role"], element["name"] or element.get("id", "")) for element in found]


async def after(
    browser: Chromium, page: Page, site: Site, plan: dict[str, Any], script: str
) -> Watch:
    """What was said since ``script`` ran on the page."""
    url = site.page("/", PAGE)
    async with watching(browser, plan) as watch:
        await page.goto(url)
        await watch.one("page.loaded", url=url)
        await watch.catch_up()
        watch.seen.clear()
        await page.evaluate(f"() => {{ {script} }}")
        await watch.catch_up()
    return watch


@pytest.mark.parametrize(
    ("script", "came", "went"),
    [
        pytest.param("late.style.display = 'block'", ["Late words"], [], id="shown by style"),
        pytest.param("late.hidden = true; late.style = ''", [], [], id="still hidden, otherwise"),
        pytest.param("first.remove()", [], ["First words"], id="removed"),
        pytest.param("first.hidden = true", [], ["First words"], id="hidden"),
        pytest.param("box.style.visibility = 'hidden'", [], ["Bold news"], id="made invisible"),
        pytest.param("box.querySelector('b').remove()", [], ["Bold"], id="a part removed"),
        pytest.param(
            "first.firstChild.data = 'Other words'",
            ["Other words"],
            ["First words"],
            id="rewritten",
        ),
        pytest.param(
            "first.textContent = 'Other words'", ["Other words"], ["First words"], id="replaced"
        ),
        pytest.param("first.outerHTML = '<h1>First words</h1>'", [], [], id="rendered anew"),
        pytest.param(
            "box.attachShadow({mode: 'open'}).innerHTML = 'Bare <p>In a root</p>';"
            " document.body.append(box)",
            ["In a root", "Bare"],
            ["Bold news"],
            id="in a shadow root",
        ),
        pytest.param("box.append(first)", [], [], id="moved"),
        pytest.param(
            "document.head.append(document.createElement('style')); "
            "document.querySelector('style').textContent = '#box { display: none }'",
            [],
            ["Bold news"],
            id="hidden by a style sheet",
        ),
    ],
)
async def test_texts_come_and_go(
    browser: Chromium, page: Page, site: Site, script: str, came: list[str], went: list[str]
) -> None:
    watch = await after(browser, page, site, TEXTS, script)
    assert texts(watch, "text.appeared") == came
    assert texts(watch, "text.disappeared") == went


async def test_a_text_that_comes_again_is_told_again(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/", "<div id=toast></div>")
    async with watching(browser, TEXTS) as watch:
        await page.goto(url)
        for text in ("Saved", "", "Saved"):
            await page.evaluate("(text) => { toast.textContent = text }", text)
            await watch.catch_up()
    assert texts(watch, "text.appeared") == ["Saved", "Saved"]
    assert texts(watch, "text.disappeared") == ["Saved"]


async def test_a_text_in_a_long_document_comes_with_what_is_around_it_not_with_all(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page(
        "/",
        "<main>" + "".join(f"<p>paragraph {n} of many words</p>" for n in range(2000)) + "</main>",
    )
    async with watching(browser, TEXTS) as watch:
        await page.goto(url)
        await watch.until(
            lambda: any("paragraph 1999" in text for text in texts(watch, "text.appeared"))
        )
        assert len(texts(watch, "text.appeared")) < 100, "small neighbours are one text"
        watch.seen.clear()
        # At once: what is looked at in turns of its own is told without what is around it.
        await page.evaluate(
            "document.querySelectorAll('p')[700].textContent = 'Needle';"
            " document.querySelector('main').className = 'touched'"
        )
        await watch.one("text.disappeared")
    [text] = texts(watch, "text.appeared")
    assert "paragraph 699 of many words\nNeedle\nparagraph 701 of many words" in text
    assert len(text) <= 2000
    assert texts(watch, "text.disappeared") == ["paragraph 700 of many words"]


@pytest.mark.parametrize(
    ("script", "came", "went"),
    [
        pytest.param("go.remove()", [], [("button", "Go")], id="removed"),
        pytest.param("go.style.display = 'none'", [], [("button", "Go")], id="hidden"),
        pytest.param("late.style.display = ''", [("alert", "late")], [], id="shown"),
        pytest.param("box.innerHTML = '<a href=#>Link</a>'", [("link", "Link")], [], id="added"),
        pytest.param("go.outerHTML = go.outerHTML", [], [], id="rendered anew"),
        pytest.param("box.innerHTML = '<em>styled</em><p>text</p>'", [], [], id="made of text"),
        pytest.param("document.body.append(document.createElement('div'))", [], [], id="no role"),
        pytest.param(
            "box.attachShadow({mode: 'open'}).innerHTML = '<button>In</button>';"
            " document.body.append(box)",
            [("button", "In")],
            [],
            id="in a shadow root",
        ),
    ],
)
async def test_elements_come_and_go(
    browser: Chromium,
    page: Page,
    site: Site,
    script: str,
    came: list[tuple[str, str]],
    went: list[tuple[str, str]],
) -> None:
    watch = await after(browser, page, site, ELEMENTS, script)
    assert elements(watch, "element.appeared") == came
    assert elements(watch, "element.disappeared") == went


async def test_what_stood_when_we_came_is_baseline(
    browser: Chromium, page: Page, site: Site
) -> None:
    await page.goto(site.page("/", PAGE))
    async with watching(browser, {"also": [*TEXTS["also"], *ELEMENTS["also"]]}) as watch:
        await watch.catch_up()
        news = [
            kind
            for kind, data in watch.seen
            if kind.endswith("appeared") and not data.get("baseline")
        ]
        assert not news
        assert ("button", "Go") in [
            (data["element"]["role"], data["element"]["name"])
            for data in watch.all("element.appeared", baseline=True)
        ]


async def test_a_busy_page_is_folded_and_what_nobody_could_look_at_is_a_gap_of_these_kinds(
    browser: Chromium, page: Page, site: Site
) -> None:
    """6,000 rows come and go within moments: what is told is bounded, the end is right, what went
    unseen is said."""
    url = site.page("/", "<ul id=list></ul><p id=end></p>")
    async with watching(browser, {"also": [*TEXTS["also"], *ELEMENTS["also"]]}) as watch:
        await page.goto(url)
        await page.evaluate("""async () => { for (let n = 0; n < 60; n++) {
                list.innerHTML = Array.from({length: 100}, (_, k) => `<li>row ${n} ${k}</li>`).join('');
                await new Promise((done) => setTimeout(done, 20)) }
              list.remove(); end.textContent = 'The end' }""")
        await watch.until(lambda: "The end" in texts(watch, "text.appeared"))
        await watch.fence()
        rows = [
            data["text"] for data in watch.all("text.appeared") if data["text"].startswith("row")
        ]
        gaps = {data["part"] for data in watch.all("gap.began") if "unseen" in data["reason"]}
        ends = {data["part"] for data in watch.all("gap.ended")}
        items = [one for one in elements(watch, "element.appeared") if one[0] == "listitem"]
    assert len(items) < 6000
    assert len(rows) < 6000
    assert gaps == {*TEXTS["also"], *ELEMENTS["also"]}
    assert gaps <= ends, "from there on it sees again"
