"""Clicks: what was clicked, and whether it was the agent's."""

from __future__ import annotations

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]


async def test_a_click_names_the_button_a_person_would_name(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page(
        "/shop", "<title>Shop</title><button id=buy name=b><span>Buy <b>now</b></span></button>"
    )
    async with watching(browser) as watch:
        await page.goto(url)
        await page.click("b")
        await watch.fence()
        [click] = watch.all("element.clicked")
        [navigated] = watch.all("page.navigated", url=url)
    assert click["element"] == {
        "role": "button",
        "name": "Buy now",
        "tag": "button",
        "id": "buy",
        "attr_name": "b",
        "type": "submit",
        "text": "Buy now",
    }
    assert click["trusted"] is True
    assert navigated["main"] is True
    assert (click["tab"], click["frame"]) == (navigated["tab"], navigated["frame"])


async def test_a_click_by_page_script_is_not_trusted(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page(
        "/",
        "<button>Go</button><script>onload = () =>"
        " document.querySelector('button').click()</script>",
    )
    async with watching(browser) as watch:
        await page.goto(url)
        click = await watch.one("element.clicked")
    assert click["trusted"] is False
    assert click["element"]["name"] == "Go"


@pytest.mark.parametrize(
    ("html", "role", "name"),
    [
        pytest.param(
            "<li role=tab tabindex=0><a role=presentation href=#x>T</a>",
            "tab",
            "T",
            id="jquery-ui's-tab",
        ),
        pytest.param("<li><a role=none href=#x>T</a></li>", "link", "T", id="a-link-after-all"),
        pytest.param(
            "<div role=option tabindex=0><button>T</button></div>",
            "button",
            "T",
            id="a-button-of-its-own",
        ),
        pytest.param("<p>T</p>", "paragraph", "", id="no-control"),
    ],
)
async def test_the_nearest_control_that_its_author_calls_one_is_clicked(
    browser: Chromium, page: Page, site: Site, html: str, role: str, name: str
) -> None:
    url = site.page("/", html)
    async with watching(browser) as watch:
        await page.goto(url)
        await page.click("text=T")
        click = await watch.one("element.clicked")
    assert (click["element"]["role"], click["element"]["name"]) == (role, name)


LIST = """<style>i {display: inline-block; width: 9px; height: 9px; background: #f00}</style><h1>Mail</h1>
<div class=rows><div class=row><b>Ada</b> Hello <i class="icon star"></i>
<span onclick="1">+</span></div><div class=row><b>Bob</b> Bye <i class="icon star"></i></div></div>
<svg width=20 height=20><rect width=20 height=20 fill=blue /></svg>"""
AROUND: dict[str, tuple[str, dict[str, str]]] = {
    "an icon in a row": (
        "i.star",
        {"around": "Ada Hello +", "class": "icon star", "color": "#ff0000"},
    ),
    "marks alone say nothing": ("text=+", {"around": "Ada Hello +"}),
    "what says more than itself": ("b", {"around": "Ada Hello +"}),
    "a shape, of its fill": ("rect", {"around": "", "color": "#0000ff"}),
    "a title has nothing around it": ("h1", {"around": ""}),
}


@pytest.mark.parametrize("name", AROUND)
async def test_what_an_element_stands_in_is_told_where_it_is_asked_for(
    browser: Chromium, page: Page, site: Site, name: str
) -> None:
    where, wanted = AROUND[name]
    async with watching(browser, {"around": [True]}) as watch:
        await page.goto(site.page("/", LIST))
        await page.click(where)
        click = await watch.one("element.clicked")
    assert {part: click[part] for part in ("around", "class", "color") if part in click} == wanted


FAR = "<div>" * 13 + "<button>Go</button>" + "</div>" * 13


@pytest.mark.parametrize(
    "html",
    [
        pytest.param(f"<div>{'word ' * 1_100}<button>Go</button></div>", id="too-much-to-lay-out"),
        pytest.param(f"<div>Far {FAR}</div>", id="too-far-to-look"),
    ],
)
async def test_what_is_not_looked_at_is_not_told_as_empty(
    browser: Chromium, page: Page, site: Site, html: str
) -> None:
    """A rule takes an empty text for known, and a missing one for unseen."""
    async with watching(browser, {"around": [True]}) as watch:
        await page.goto(site.page("/", html))
        await page.click("button")
        click = await watch.one("element.clicked")
    assert "around" not in click


async def test_what_an_element_stands_in_is_page_text(
    browser: Chromium, page: Page, site: Site
) -> None:
    """Told where nobody asked for it it would be more of a page than a task needs."""
    async with watching(browser) as watch:
        await page.goto(site.page("/", LIST))
        await page.click("i.star")
        click = await watch.one("element.clicked")
    assert not {"around", "class", "color"} & set(click)


@pytest.mark.parametrize(
    ("secret", "shown"),
    [
        pytest.param("sesame", "Key Show •••", id="a-word"),
        pytest.param("open sesame", "Key Show ••• •••", id="several-words"),
    ],
)
async def test_what_an_element_stands_in_keeps_a_secret(
    browser: Chromium, page: Page, site: Site, secret: str, shown: str
) -> None:
    url = site.page("/", "<div>Key <input type=password><button>Show</button> <b></b></div>")
    async with watching(browser, {"around": [True]}) as watch:
        await page.goto(url)
        await page.fill("input", secret)
        await page.evaluate(
            "document.querySelector('b').textContent = document.querySelector('input').value"
        )
        await page.click("button")
        click = await watch.one("element.clicked")
    assert click["around"] == shown


async def test_a_click_inside_an_open_shadow_root_is_seen(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page(
        "/",
        """<x-card></x-card><script>const root = document.querySelector('x-card').attachShadow({mode: 'open'});
        root.innerHTML = '<a href="#in">Inside</a>'</script>""",
    )
    async with watching(browser) as watch:
        await page.goto(url)
        await page.click("text=Inside")
        click = await watch.one("element.clicked")
        assert (click["element"]["role"], click["element"]["name"]) == ("link", "Inside")
        await watch.one("page.navigated", same_document=True, url=url + "#in")


async def test_a_click_that_leaves_the_page_is_told_before_the_new_page(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/two", "<title>two</title>")
    url = site.page("/", "<a href=/two>Next</a>")
    async with watching(browser) as watch:
        await page.goto(url)
        await page.click("a")
        await watch.one("page.navigated", url=site.url + "/two")
        kinds = [
            kind
            for kind, data in watch.seen
            if kind == "element.clicked" or data.get("url") == site.url + "/two"
        ]
    assert kinds[0] == "element.clicked"
