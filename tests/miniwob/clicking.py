"""Pages that are decided by what is clicked: links, buttons, tabs, dialogs, menus, trees."""

from __future__ import annotations

import re

from playwright.sync_api import Page

from tests.miniwob.script import Act, Script, Table, click, entry, query, quoted, said

PAGES: Table = {}


def _link(text: str) -> str:
    return f"#area span.alink:text-is({quoted(text)})"


def _links(page: Page) -> list[str]:
    return page.locator("#area span.alink").all_text_contents()


def _other(found: list[str], wanted: str) -> str:
    return next(text for text in found if text and text != wanted)


@entry(PAGES, "click-link")
@entry(PAGES, "click-tab-2-easy")
def link(page: Page) -> Script:
    """Words of a text are links; one of them is asked for."""
    wanted = said(page)[0]
    wrong = _other(_links(page), wanted)
    return Script([click(_link(wanted))], [click(_link(wrong))])


def _sections(page: Page, header: str) -> dict[str, str]:
    """Every link's text and the header under which it stands, by opening them one by one."""
    found: dict[str, str] = {}
    for n in range(page.locator(header).count()):
        page.locator(header).nth(n).click()
        for text in page.locator("#area span.alink:visible").all_text_contents():
            found.setdefault(text, f"{header} >> nth={n}")
    return found


@entry(PAGES, "click-tab-2-hard", seed="2")
def link_in_tabs(page: Page) -> Script:
    """The link stands in one of several tabs."""
    return _link_in(page, "#area a.ui-tabs-anchor")


@entry(PAGES, "click-collapsible-2-nodelay")
@entry(PAGES, "click-collapsible-2", seed="3")
def link_in_sections(page: Page) -> Script:
    """The link stands in a section that has to be opened."""
    return _link_in(page, "#area h3")


def _link_in(page: Page, header: str) -> Script:
    wanted = said(page)[0]
    where = _sections(page, header)
    near = [text for text in where if text != wanted and where[text] == where[wanted]]
    wrong = near[0] if near else _other(list(where), wanted)
    right = [click(where[wanted]), click(_link(wanted) + ":visible")]
    return Script(right, [click(where[wrong]), click(_link(wrong) + ":visible")])


@entry(PAGES, "click-collapsible-nodelay")
def section(page: Page) -> Script:
    """A section is to be opened before the button is pressed."""
    submit = click("#subbtn")
    return Script([click("#area h3"), submit], [submit])


@entry(PAGES, "click-button-sequence")
def two_buttons(page: Page) -> Script:
    """Two buttons in an order."""
    one, two = click("button:text-is('ONE')"), click("button:text-is('TWO')")
    return Script([one, two], [two, one])


@entry(PAGES, "click-test-2")
def one_of_two_buttons(page: Page) -> Script:
    """One button and not the other."""
    return _button("ONE", "TWO")


def _button(wanted: str, wrong: str) -> Script:
    right, other = (click(f"#area button:text-is({quoted(name)})") for name in (wanted, wrong))
    return Script([right], [other])


@entry(PAGES, "unicode-test", seed="4")
def unicode_button(page: Page) -> Script:
    """Buttons with names in many scripts; where there is one alone, a click beside it misses."""
    wanted = said(page)[0]
    others = [name for name in page.locator("#area button").all_text_contents() if name != wanted]
    return (
        _button(wanted, others[0])
        if others
        else Script(_button(wanted, "").right, [click("#area input")])
    )


@entry(PAGES, "click-dialog")
def close_dialog(page: Page) -> Script:
    """A dialog is closed by its x; clicking into it does nothing."""
    return Script([click(".ui-dialog-titlebar-close")], [click("#dialog p")])


@entry(PAGES, "click-dialog-2")
def dialog_button(page: Page) -> Script:
    """One of a dialog's three buttons."""
    wanted = {"x": "Close"}.get(said(page)[0], said(page)[0])
    wrong = _other(["Cancel", "OK"], wanted)
    right, other = (
        click(f".ui-dialog button:has-text({quoted(name)})") for name in (wanted, wrong)
    )
    return Script([right], [other])


@entry(PAGES, "click-tab-2-medium", seed="2")
def link_or_tab(page: Page) -> Script:
    """The link stands in the first tab; else the second tab is what to click."""
    wanted = said(page)[0]
    tab = click("#area a:text-is('Tab #2')")
    here = [text for text in _links(page) if text]
    if wanted in here:
        return Script([click(_link(wanted))], [tab])
    return Script([tab], [click(_link(here[0]))])


@entry(PAGES, "click-menu", seed="8")
def menu(page: Page) -> Script:
    """A leaf of a nested menu that opens under the mouse."""
    leaf = query(page).removeprefix("Select ").split(">")[-1]
    paths: list[list[str]] = page.evaluate(PATHS)
    right = next(path for path in paths if path[-1] == leaf)
    wrong = next((path for path in paths if path[:-1] == right[:-1] and path != right), None)
    acts = (
        _pointed(path) for path in (right, wrong or next(path for path in paths if path != right))
    )
    return Script(*acts)


PATHS = """() => [...document.querySelectorAll('#menu li')].filter(li => !li.querySelector('ul')).map(li => {
  const path = [];
  for (let node = li; node.id !== 'menu'; node = node.parentElement)
    if (node.localName === 'li') path.unshift(node.querySelector(':scope > div').textContent.trim());
  return path;
})"""


def _pointed(path: list[str]) -> list[Act]:
    *parents, leaf = (f"ul.ui-menu > li > div:text-is({quoted(name)})" for name in path)
    return [*(Act("hover", parent) for parent in parents), click(leaf)]


@entry(PAGES, "click-menu-2", seed="2")
def menu_button(page: Page) -> Script:
    """A button opens a menu; one of its items is asked for by its label or its icon."""
    icon = page.locator("#query .ui-icon")
    own = "." + ".".join((icon.get_attribute("class") or "").split()) if icon.count() else ""
    wanted = (page.text_content(f"#menu div:has({own})") or "") if own else said(page)[1]
    wrong = "Zoom In" if wanted != "Zoom In" else "Zoom Out"
    nested = wanted in ("Prev", "Stop", "Play", "Next")
    opened = [click("#open-menu")]
    inner = [Act("hover", "#menu > li:has(ul) > div")] if nested else []
    item = f"#menu li:not(:has(ul)) > div:has-text({quoted(wanted)})"
    other = f"#menu > li > div:has-text({quoted(wrong)})"
    return Script([*opened, *inner, click(item)], [*opened, click(other)])


@entry(PAGES, "click-widget", seed="2")
def widget(page: Page) -> Script:
    """Any widget of the kind that is asked for."""
    wanted = said(page)[0]
    kinds = [w.get_attribute("data-type") or "" for w in page.locator("#area [data-type]").all()]
    right, wrong = (click(f"#area [data-type={kind}]") for kind in (wanted, _other(kinds, wanted)))
    return Script([right], [wrong])


@entry(PAGES, "identify-shape")
def shape(page: Page) -> Script:
    """A button names the kind of figure that is drawn."""
    drawn = page.locator("#area_svg > *").first
    tag, text = drawn.evaluate("shape => [shape.localName, shape.textContent]")
    kinds = {"rect": "Rectangle", "circle": "Circle", "polygon": "Triangle"}
    wanted = kinds.get(tag) or ("Number" if text.isdigit() else "Letter")
    return _button(wanted, _other(["Letter", "Number", *kinds.values()], wanted))


@entry(PAGES, "navigate-tree", seed="7")
def tree(page: Page) -> Script:
    """A file or folder in a tree whose folders open by a click."""
    wanted = said(page)[0]
    item = "#tree li > span:visible"
    folders = page.locator(f"#tree li:has(> span:text-is({quoted(wanted)}))")
    parents = folders.first.locator("xpath=ancestor::li/span").all_text_contents()
    # A file that is another's ends the episode; where there is none, another folder is opened and
    # left so.
    files = [
        name
        for kind in (".file", ".folder")
        for name in page.locator(f"#tree > li > span{kind}").all_text_contents()
    ]
    opened = [click(f"{item}:text-is({quoted(name)})") for name in parents]
    right, wrong = (
        click(f"{item}:text-is({quoted(name)})") for name in (wanted, _other(files, wanted))
    )
    return Script([*opened, right], [*opened, wrong])


@entry(PAGES, "buy-ticket")
def ticket(page: Page) -> Script:
    """Of four flights the cheapest, dearest, shortest or longest is booked."""
    asked = query(page)
    price, minutes = "button.buy-ticket", ".time-duration"
    flights = page.locator("#area .flight").all()
    by = price if "cost" in asked else minutes
    order = sorted(flights, key=lambda flight: _amount(flight.locator(by).inner_text()))
    if re.search("longest|most expensive", asked):
        order.reverse()
    names = [" ".join(flight.locator(price).inner_text().split()) for flight in order]
    return _button(names[0], names[1])


def _amount(text: str) -> int:
    """Dollars, or minutes of ``7h 05m``."""
    if "$" in text:
        return int(text.split("$")[1])
    hours, minutes = re.findall(r"\d+", text)
    return int(hours) * 60 + int(minutes)
