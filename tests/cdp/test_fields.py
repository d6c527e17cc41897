"""Fields and forms: what they hold, who submitted them, and what never leaves the page."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

FORM = """<form id=f action=/done method=post>
<label>Name <input name=who></label>
<label>Notes <textarea name=notes></textarea></label>
<label><input type=checkbox name=gift value=yes> Gift</label>
<label><input type=radio name=speed value=slow checked> Slow</label>
<label><input type=radio name=speed value=fast> Fast</label>
<label>Colour <select name=colour><option value=>none<option value=r>red<option value=g>green</select></label>
<label>Sizes <select name=sizes multiple><option>S<option>M<option>L</select></label>
<div contenteditable aria-label=Letter></div>
<button name=how value=pay>Order</button></form>"""


def last(watch: Watch, name: str) -> dict[str, object]:
    """The last state that was told of the field with this accessible name."""
    return [
        data
        for kind, data in watch.seen
        if kind == "field.filled" and data["element"]["name"] == name
    ][-1]


async def test_each_kind_of_field_tells_what_it_holds(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/", FORM)
    async with watching(browser) as watch:
        await page.goto(url)
        await page.get_by_label("Name").press_sequentially("Ada")
        await page.get_by_label("Notes").fill("two\nlines")
        await page.get_by_label("Gift").check()
        await page.get_by_label("Fast").check()
        await page.get_by_label("Colour").select_option("g")
        await page.get_by_label("Sizes").select_option(["S", "L"])
        await page.get_by_label("Letter").fill("Dear Bob")
        await watch.fence()
        assert last(watch, "Name")["value"] == "Ada"
        assert last(watch, "Name")["form"] == "f"
        assert last(watch, "Name")["trusted"] is True
        assert last(watch, "Notes")["value"] == "two\nlines"
        assert last(watch, "Gift")["checked"] is True
        assert last(watch, "Fast")["checked"] is True
        assert last(watch, "Slow")["checked"] is False, "a radio that loses its mark is told too"
        assert last(watch, "Colour")["value"] == "g"
        assert last(watch, "Sizes")["value"] == ["S", "L"]
        assert last(watch, "Letter")["value"] == "Dear Bob"


async def test_a_submitted_form_names_its_fields_and_the_agents_hand(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/done", "<title>done</title>")
    url = site.page("/", FORM)
    async with watching(browser) as watch:
        await page.goto(url)
        await page.get_by_label("Name").fill("Ada")
        await page.get_by_role("button", name="Order").click()
        sent = await watch.one("form.submitted")
        await watch.one("page.navigated", url=site.url + "/done")
    assert sent["form"] == {"id": "f", "action": site.url + "/done", "method": "post"}
    assert sent["fields"] == [
        ["who", "Ada"],
        ["notes", ""],
        ["speed", "slow"],
        ["colour", ""],
        ["how", "pay"],
    ]
    assert sent["trusted"] is True


@pytest.mark.parametrize(
    ("how", "trusted"),
    [
        pytest.param("by-enter", True, id="Enter in a field"),
        pytest.param("by-handler", True, id="requestSubmit in the handler of a real click"),
        pytest.param("by-script-click", False, id="click() from a timer"),
        pytest.param("by-request", False, id="requestSubmit from a timer"),
    ],
)
async def test_trust_is_carried_from_what_caused_the_submit(
    browser: Chromium, page: Page, site: Site, how: str, trusted: bool
) -> None:
    url = site.page(
        "/",
        """<form onsubmit="event.preventDefault()"><input name=q><button>Go</button></form><i>Elsewhere</i>
        <script>const form = document.forms[0], go = document.querySelector('button');
        const ways = {'by-handler': () => document.querySelector('i').onclick = () => form.requestSubmit(),
                      'by-script-click': () => setTimeout(() => go.click(), 20),
                      'by-request': () => setTimeout(() => form.requestSubmit(), 20)};
        addEventListener('load', () => ways[location.hash.slice(1)]?.());</script>""",
    )
    async with watching(browser) as watch:
        await page.goto(f"{url}#{how}")
        if how == "by-enter":
            await page.locator("input").press("Enter")
        if how == "by-handler":
            await page.click("i")
        assert (await watch.one("form.submitted"))["trusted"] is trusted


async def test_prefilled_fields_are_baseline(browser: Chromium, page: Page, site: Site) -> None:
    url = site.page(
        "/", "<input aria-label=City value=Paris><input type=checkbox aria-label=On checked>"
    )
    async with watching(browser) as watch:
        await page.goto(url)
        await watch.until(lambda: len(watch.all("field.filled", baseline=True)) == 2)
        assert last(watch, "City")["value"] == "Paris"
        await page.get_by_label("City").fill("Rome")
        assert (await watch.one("field.filled", value="Rome"))["trusted"] is True


async def test_what_stands_in_an_existing_document_is_baseline(
    browser: Chromium, page: Page, site: Site
) -> None:
    await page.goto(site.page("/", "<h1>Already here</h1><input aria-label=City>"))
    await page.get_by_label("City").fill("Oslo")
    async with watching(browser, {"text": True}) as watch:
        await watch.fence()
        assert last(watch, "City")["baseline"] is True
        texts = [
            data
            for kind, data in watch.seen
            if kind == "text.appeared" and "Already here" in data["text"]
        ]
        assert texts
        assert all(data["baseline"] for data in texts)
        assert not watch.all("page.navigated"), "nothing is told as news"
        await page.evaluate("document.body.append('Now this')")
        await watch.until(
            lambda: [d for d in watch.all("text.appeared") if "Now this" in d["text"]]
        )


async def test_visible_text_is_told_when_it_appears_and_only_when_asked_for(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page(
        "/",
        "<p>Shown</p><p id=late style='display:none'>Late</p><script>document.title ="
        " 'x'</script><i hidden>No</i>",
    )
    async with watching(browser, {"text": True}) as watch, watching(browser) as silent:
        await page.goto(url)
        await watch.until(lambda: [d for d in watch.all("text.appeared") if "Shown" in d["text"]])
        await page.evaluate("late.style.display = 'block'")
        await watch.until(lambda: [d for d in watch.all("text.appeared") if "Late" in d["text"]])
        await silent.fence()
    told = " ".join(data["text"] for data in watch.all("text.appeared"))
    assert "No" not in told
    assert "document.title" not in told
    assert not silent.all("text.appeared")


async def test_attributes_that_a_harness_writes_make_no_events(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/", "<button>Go</button><input aria-label=City value=Paris><p>Text</p>")
    async with watching(browser, {"text": True}) as watch:
        await page.goto(url)
        await watch.one("page.loaded", url=url)
        await watch.fence()
        before = watch.count()
        await page.evaluate(
            """document.querySelectorAll('*').forEach((element, n) => {
                element.setAttribute('bid', n); element.setAttribute('browsergym_visibility_ratio', '1') })"""
        )
        await watch.fence()
        assert [kind for kind, _ in watch.seen[before:] if not kind.startswith("request.")] == []


async def test_listeners_survive_document_open(browser: Chromium, page: Page, site: Site) -> None:
    url = site.page("/", "<p>old</p>")
    async with watching(browser) as watch:
        await page.goto(url)
        await page.evaluate(
            "document.open(); document.write('<button>New</button>'); document.close()"
        )
        await page.click("button")
        assert (await watch.one("element.clicked"))["element"]["name"] == "New"
        await watch.fence()
        assert len(watch.all("element.clicked")) == 1


BY_SCRIPT = """<input id=text aria-label=Text><input id=box type=checkbox aria-label=Box>
<label for=box>Agree</label><div id=rich contenteditable aria-label=Rich>x</div>
<select id=pick aria-label=Pick><option>S<option>M</select><button id=go>Go</button>
<script>
const acts = {
  value: () => { text.value = 'set' },
  event: () => { text.value = 'set'; text.dispatchEvent(new Event('input', {bubbles: true})) },
  insert: () => { text.focus(); document.execCommand('insertText', false, 'set') },
  click: () => box.click(),
  checked: () => { box.checked = true },
  rich: () => { rich.textContent = 'set' },
  pick: () => { pick.value = 'M' },
};
go.onclick = () => acts[location.hash.slice(1)]();
addEventListener('load', () => { if (location.search) setTimeout(acts[location.hash.slice(1)], 20) });
</script>"""


@pytest.mark.parametrize(
    ("act", "name", "by_hand"),
    [
        pytest.param("value", "Text", False, id="a value is set"),
        pytest.param("event", "Text", False, id="a value is set, an event made up"),
        pytest.param("insert", "Text", True, id="execCommand, whose event says isTrusted"),
        pytest.param("click", "Box", True, id="click() on a box, whose change says isTrusted"),
        pytest.param("checked", "Box", False, id="a box is checked"),
        pytest.param("rich", "Rich", False, id="an editable element is written"),
        pytest.param("pick", "Pick", False, id="an option is chosen"),
    ],
)
async def test_what_script_fills_in_is_told_and_not_trusted(
    browser: Chromium, page: Page, site: Site, act: str, name: str, by_hand: bool
) -> None:
    """Only what goes back to a real click, by an event of the browser's own, is the agent's
    (``by_hand``)."""
    url = site.page("/", BY_SCRIPT)
    async with watching(browser) as watch:
        await page.goto(f"{url}?timer#{act}")
        await page.wait_for_function(
            "text.value === 'set' || box.checked || rich.textContent === 'set' || pick.value"
            " === 'M'"
        )
        await watch.fence()
        await watch.until(lambda: watch.all("field.filled", trusted=False))
        alone = last(watch, name)
        await page.goto(f"{url}#{act}")
        watch.seen.clear()
        await page.click("#go")
        await watch.fence()
        by_click = last(watch, name)
    assert alone["trusted"] is False
    assert by_click["trusted"] is by_hand
    assert "baseline" not in by_click


async def test_a_value_that_the_page_formats_stays_the_agents(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page(
        "/",
        """<input id=tel aria-label=Phone onchange="this.value = '(555) ' + this.value">
        <input id=up aria-label=Code oninput="this.value = this.value.toUpperCase()">
        <input id=echo aria-label=Echo oninput="setTimeout(() => this.dispatchEvent(new Event('change')))">""",
    )
    async with watching(browser) as watch:
        await page.goto(url)
        await page.locator("#tel").press_sequentially("1234")
        await page.locator("#tel").press("Tab")
        await page.locator("#up").press_sequentially("ab")
        await page.locator("#echo").press_sequentially("x")
        await watch.fence()
        held = [
            (last(watch, name)["value"], last(watch, name)["trusted"])
            for name in ("Phone", "Code", "Echo")
        ]
    assert held == [("(555) 1234", True), ("AB", True), ("x", True)]


async def test_a_reset_is_told_field_by_field(browser: Chromium, page: Page, site: Site) -> None:
    url = site.page(
        "/",
        "<form><input aria-label=City value=Oslo><input type=checkbox aria-label=On><button"
        " type=reset>Undo</form>",
    )
    async with watching(browser) as watch:
        await page.goto(url)
        await page.get_by_label("City").fill("Rome")
        await page.get_by_label("On").check()
        await page.get_by_role("button").click()
        await watch.fence()
        assert (last(watch, "City")["value"], last(watch, "City")["trusted"]) == ("Oslo", True)
        assert (last(watch, "On")["checked"], last(watch, "On")["trusted"]) == (False, True)


async def test_chosen_files_are_told_by_name_and_size(
    browser: Chromium, page: Page, site: Site, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("four")
    (tmp_path / "b.csv").write_text("1,2")
    url = site.page(
        "/",
        "<form onsubmit='return false'><input type=file multiple name=up"
        " aria-label=Upload><button>Send",
    )
    async with watching(browser) as watch:
        await page.goto(url)
        await page.set_input_files("input", [tmp_path / "a.txt", tmp_path / "b.csv"])
        filled = await watch.one("field.filled", commit=True)
        await page.click("button")
        submitted = await watch.one("form.submitted")
    assert filled["files"] == [["a.txt", 4], ["b.csv", 3]]
    assert filled["value"] == "a.txt, b.csv"
    assert submitted["fields"] == [["up", "a.txt, b.csv"]]


HIDING = ["labels", "localName", "elements", "id", "action", "getAttribute", "method", "nodeType"]


@pytest.mark.parametrize("name", HIDING)
async def test_a_form_whose_control_hides_a_property_of_it(
    browser: Chromium, page: Page, site: Site, name: str
) -> None:
    """Trackers have fields called "labels"; to the form's scripts `form.labels` is then that
    field."""
    url = site.page(
        "/", f"<form action=/done><input name={name} aria-label=Bug><button>Go</button></form>"
    )
    site.page("/done", "<title>done</title>")
    async with watching(browser) as watch:
        await page.goto(url)
        # Not by Playwright's own actions, some of which ask the form, too, and fail.
        await page.evaluate("document.querySelector('input').focus()")
        await page.keyboard.type("4711")
        await page.keyboard.press("Enter")
        submitted = await watch.one("form.submitted")
        assert submitted["fields"] == [[name, "4711"]]
        assert watch.all("field.filled", value="4711")
        assert watch.all("gap.began") == []


async def test_a_long_value_is_told_cut(browser: Chromium, page: Page, site: Site) -> None:
    url = site.page(
        "/", "<textarea aria-label=Whole></textarea><textarea aria-label=Long></textarea>"
    )
    async with watching(browser) as watch:
        await page.goto(url)
        await page.get_by_label("Whole").fill("x" * 10_000)
        await page.get_by_label("Long").fill("y" * 10_001)
        await watch.until(lambda: watch.all("field.filled", value="y" * 10_000))
        assert watch.all("field.filled", value="y" * 10_000)[0]["cut"] is True
        assert "cut" not in watch.all("field.filled", value="x" * 10_000)[0]


async def test_more_fields_than_are_kept_are_a_gap(
    browser: Chromium, page: Page, site: Site
) -> None:
    inputs = "".join(f"<input name=a{n} value={n}>" for n in range(1002))
    url = site.page("/", f"<form action=/done>{inputs}<button>Go</button></form>")
    site.page("/done", "<title>done</title>")
    async with watching(browser) as watch:
        await page.goto(url)
        gap = await watch.one("gap.began", part="field.filled")
        assert "2 changes went unseen" in gap["reason"]
        await page.click("button")
        submitted = await watch.one("form.submitted")
        assert len(submitted["fields"]) == 1000
        await watch.one("gap.began", part="form.submitted")
