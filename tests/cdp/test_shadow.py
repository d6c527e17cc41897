"""Open shadow roots, slots, custom elements, frames: what is done there is told as anywhere
else."""

from __future__ import annotations

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

NESTED = """<form id=f onsubmit="event.preventDefault()"><x-outer></x-outer><x-field name=city></x-field>
<button>Order</button></form><script>
customElements.define('x-outer', class extends HTMLElement {
  connectedCallback() {
    this.attachShadow({mode: 'open'}).innerHTML =
      `<x-inner><span slot=label>Town</span></x-inner><details><summary>More</summary>x</details>`;
  }
});
customElements.define('x-inner', class extends HTMLElement {
  connectedCallback() {
    this.attachShadow({mode: 'open'}).innerHTML = `<label><slot name=label></slot> <input id=town></label>
      <select aria-label=Size><option>S<option>M</select><button>Deep</button>`;
  }
});
customElements.define('x-field', class extends HTMLElement {
  static formAssociated = true;
  constructor() {
    super();
    const internals = this.attachInternals();
    this.attachShadow({mode: 'open'}).innerHTML = '<input aria-label=City>';
    this.shadowRoot.firstChild.oninput = (event) => internals.setFormValue(event.target.value);
  }
});
</script>"""


async def test_nested_roots_and_slots(browser: Chromium, page: Page, site: Site) -> None:
    async with watching(browser) as watch:
        await page.goto(site.page("/", NESTED))
        await page.click("text=Deep")
        await page.fill("#town", "Oslo")
        await page.locator("select").focus()
        await page.keyboard.press("ArrowDown")
        await page.click("text=More")
        await watch.fence()
        [click] = watch.all("element.clicked", trusted=True)[:1]
        town = await watch.one("field.filled", value="Oslo")
        size = await watch.one("field.filled", value="M")
        toggled = await watch.one("element.toggled")
    assert click["element"]["name"] == "Deep"
    assert (town["element"]["name"], town["trusted"]) == ("Town", True)
    assert (size["element"]["name"], size["trusted"], size["commit"]) == ("Size", True, True)
    assert (toggled["element"]["tag"], toggled["open"], toggled["trusted"]) == (
        "details",
        True,
        True,
    )


async def test_a_form_associated_custom_element_is_a_field_of_its_form(
    browser: Chromium, page: Page, site: Site
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.page("/", NESTED))
        await page.get_by_label("City").fill("Rome")
        filled = await watch.one("field.filled", value="Rome")
        await page.click("text=Order")
        submitted = await watch.one("form.submitted")
    assert (filled["form"], filled["element"]["attr_name"]) == ("f", "city")
    assert submitted["fields"] == [["city", "Rome"]]


async def test_frames_of_this_process_and_of_another(
    browser: Chromium, page: Page, site: Site
) -> None:
    inner = "<button>Press</button><label>Note <input></label><p>some words</p>"
    site.page("/inner", inner)
    url = site.page("/", f"<iframe src=/inner></iframe><iframe src='{site.other}/inner'></iframe>")
    async with watching(
        browser, {"also": ["field.typed", "element.focused", "text.selected"]}
    ) as watch:
        await page.goto(url)
        for n in range(2):
            frame = page.frame_locator("iframe").nth(n)
            await frame.locator("button").dblclick()
            await frame.locator("input").press_sequentially(f"n{n}")
            await frame.locator("p").click(click_count=3)
        await watch.until(lambda: len(watch.all("text.selected")) == 2)
        await watch.fence()
        frames = list(
            dict.fromkeys(
                data["frame"] for data in watch.all("element.double_clicked", trusted=True)
            )
        )
        typed = [
            (data["frame"], data["text"], data["element"]["name"])
            for data in watch.all("field.typed")
        ]
    assert len(frames) == 2
    assert typed == [(frames[0], "n0", "Note"), (frames[1], "n1", "Note")]


async def test_an_icon_without_a_name_is_told_by_where_it_stands(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page(
        "/",
        """<div id=bar><span><svg width=20 height=20><rect width=20 height=20 /></svg></span>
        <span><svg width=20 height=20><rect width=20 height=20 /></svg></span></div>""",
    )
    async with watching(browser) as watch:
        await page.goto(url)
        for n in (0, 1):
            await page.locator("svg").nth(n).click()
        await watch.fence()
        paths = [data["element"]["path"] for data in watch.all("element.clicked")]
    assert paths == ["#bar>span:1>svg:1>rect:1", "#bar>span:2>svg:1>rect:1"]


async def test_a_drawn_letter_is_told_by_where_it_stands_too(
    browser: Chromium, page: Page, site: Site
) -> None:
    letters = "<text x=5 y=20>A</text><text x=40 y=20 id=own>A</text><text x=75 y=20>A</text>"
    url = site.page("/", f"<svg id=pad width=100 height=30>{letters}</svg>")
    async with watching(browser) as watch:
        await page.goto(url)
        for n in range(3):
            await page.locator("text").nth(n).click()
        await watch.fence()
        clicked = [data["element"] for data in watch.all("element.clicked")]
    assert [one["text"] for one in clicked] == ["A", "A", "A"]
    assert [one.get("path") for one in clicked] == ["#pad>text:1", None, "#pad>text:3"]
