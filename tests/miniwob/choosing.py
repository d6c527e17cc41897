"""Pages on which several things are marked and then a button is pressed, and pages with one drawn
thing to find."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page

from tests.miniwob.script import SUBMIT, Act, Script, Table, click, entry, query, said

PAGES: Table = {}
PRESS = click("#submit")


@entry(PAGES, "click-tab")
def tab(page: Page) -> Script:
    """One of three tabs."""
    (wanted,) = re.findall(r"Tab #(\d)", query(page))
    right, wrong = (
        click(f"#area a:text-is('Tab #{n}')") for n in (wanted, "2" if wanted != "2" else "1")
    )
    return Script([right], [wrong])


@entry(PAGES, "click-color")
def color(page: Page) -> Script:
    """A coloured box that the instruction names or shows."""
    named = page.locator("#query span.bold")
    shown = page.locator("#query-color")
    wanted = (
        named.inner_text()
        if named.count()
        else (shown.get_attribute("style") or "").split(": ")[1].strip("; ")
    )
    return Script(
        [click(f"#area [data-color='{wanted}']")],
        [click(f"#area .color:not([data-color='{wanted}'])")],
    )


FIND = """words => {
  const shapes = {rect: 'rectangle', circle: 'circle', polygon: 'triangle'};
  const [kind, ...marks] = words.reverse();
  return [...document.querySelectorAll('#area_svg > *')].map(node => {
    const own = node.textContent, box = node.getBBox();
    const type = shapes[node.tagName] ? 'shape' : /[0-9]/.test(own) ? 'digit' : 'letter';
    const wide = node.tagName === 'text' ? parseFloat(node.getAttribute('font-size')) : box.width;
    const size = wide > 15 ? 'large' : 'small', fill = node.getAttribute('fill');
    const is = kind === 'item' || kind === type || kind === (shapes[node.tagName] || own);
    return is && marks.every(mark => mark === size || mark === fill);
  });
}"""


@entry(PAGES, "click-shape")
def shape(page: Page) -> Script:
    """A drawn element that fits the description; another one misses."""
    words = re.sub(r"^Click on an? ", "", query(page)).strip(".").split()
    fits = page.evaluate(FIND, words)
    right, wrong = (
        Act("force", f"#area_svg > * >> nth={fits.index(is_it)}") for is_it in (True, False)
    )
    return Script([right], [wrong])


@entry(PAGES, "count-shape")
def count(page: Page) -> Script:
    """The number of drawn elements that fit; another button misses."""
    words = re.findall(r"How many (.+)s are there", query(page))[0].split()
    wanted = str(sum(page.evaluate(FIND, words)))
    other = next(
        name for name in page.locator("#count-buttons button").all_inner_texts() if name != wanted
    )
    right, wrong = (click(f"#count-buttons button:text-is('{name}')") for name in (wanted, other))
    return Script([right], [wrong])


@entry(PAGES, "ascending-numbers")
def ascending(page: Page) -> Script:
    """Five numbers, of which four hide; the miss takes the fourth for the third: two fifths."""
    numbers = [Act("force", f"#area_svg [data-index='{n}']") for n in (2, 3, 4, 5)]
    first = Act("force", "#area_svg text:text-is('1')")
    return Script([first, *numbers], [first, numbers[0], numbers[2]])


@entry(PAGES, "button-delay")
def delay(page: Page) -> Script:
    """Two buttons and a wait between; who does not wait misses."""
    seconds = int(re.findall(r"wait (\d+) seconds", query(page))[0])
    one, two = click("#subbtn"), click("#subbtn2")
    return Script([one, Act("wait", "#subbtn2", str(seconds * 1000 - 60)), two], [one, two])


@entry(PAGES, "focus-text")
def focus(page: Page) -> Script:
    """The field is clicked; beside it nothing happens."""
    return Script([click("#tt")], [click("#query")])


@entry(PAGES, "focus-text-2")
def focus_nth(page: Page) -> Script:
    """One of three fields."""
    n = int(re.findall(r"(\d)(?:st|nd|rd)", query(page))[0])
    return Script([click(f"#tt{n}")], [click(f"#tt{n % 3 + 1}")])


@entry(PAGES, "click-shades")
def shades(page: Page) -> Script:
    """All shades; one less misses."""
    (wanted,) = re.findall(r"shades of (\w+)", query(page))
    count = page.locator(f"#area [data-color={wanted}]").count()
    picks = [click(f"#area [data-color={wanted}] >> nth={n}") for n in range(count)]
    return Script([*picks, PRESS], [*picks[:-1], PRESS])


@entry(PAGES, "odd-or-even")
def parity(page: Page) -> Script:
    """Three numbers; with one wrong the page pays a third."""
    numbers = [int(text) for text in page.locator(".display-number").all_inner_texts()]
    marks = [[click(f".row >> nth={n} >> .{kind}") for kind in (("odd", "even") if number % 2 else ("even", "odd"))]
             for n, number in enumerate(numbers)]  # fmt: skip
    return Script(
        [*(good for good, _ in marks), PRESS], [marks[0][0], marks[1][0], marks[2][1], PRESS]
    )


@entry(PAGES, "number-checkboxes")
def digit(page: Page) -> Script:
    """A digit drawn in boxes; one box less misses. The pattern stands in the page's source."""
    n = int(said(page)[0])
    source = re.findall(r"var PATTERNS\s*=\s*(.*?)\n\]", page.content(), re.DOTALL)[0]
    rows = re.findall(r"\[(\d), (\d), (\d), (\d)\]", source)[7 * n : 7 * n + 7]
    marked = [at for at, cell in enumerate(cell for row in rows for cell in row) if cell == "1"]
    picks = [click(f"#checkboxes input >> nth={at}") for at in marked]
    return Script([*picks, SUBMIT], [*picks[:-1], SUBMIT])


@entry(PAGES, "order-food")
def food(page: Page) -> Script:
    """Two items by name, or some of a kind; one too many misses."""
    asked, order = query(page), click("#submit-order button")
    items = page.locator("#area .food-item")
    if asked.startswith("Order one"):
        names = asked.split(": ", 1)[1].split(", ")
        own = [
            [" ".join(t.split()) for t in items.locator(".item-name").all_text_contents()].index(n)
            for n in names
        ]
    else:
        many, kind = re.findall(r"Order (\d+) items that are (.+)", asked)[0]
        fits = [
            n for n in range(items.count()) if items.nth(n).locator(f"img[alt='{kind}']").count()
        ]
        own = [fits[n % len(fits)] for n in range(int(many))]
    picks = [click(f"#area .food-item >> nth={n} >> .add") for n in own]
    return Script([*picks, order], [*picks, picks[0], order])


@entry(PAGES, "generate-number")
def generate(page: Page) -> Script:
    """A number is drawn until it fits: the same seed draws the same numbers. The miss submits at
    once, or one draw that does not fit."""
    asked = query(page)
    bound = int((re.findall(r"\d+", asked) or ["0"])[0])
    fits: dict[str, Callable[[int], bool]] = {
        "less": lambda n: n < bound,
        "greater": lambda n: n > bound,
        "odd": lambda n: n % 2 == 1,
        "even": lambda n: n % 2 == 0,
    }
    fit = fits[re.findall("less|greater|odd|even", asked)[0]]
    drawn: list[bool] = []
    while len(drawn) < 60 and (True not in drawn or False not in drawn):
        page.click("#generate")
        drawn.append(bool(fit(int(page.inner_text("#display-number")))))
    draw = click("#generate")
    right, wrong = ([*[draw] * (drawn.index(is_it) + 1), PRESS] for is_it in (True, False))
    return Script(right, wrong)


@entry(PAGES, "find-greatest")
def greatest(page: Page) -> Script:
    """One of three cards; for another one the page pays a tenth."""
    cards = [int(text) for text in page.locator(".card").all_text_contents()]
    order = sorted(range(len(cards)), key=cards.__getitem__)
    right, wrong = (click(f".card >> nth={n}") for n in (order[-1], order[0]))
    return Script([wrong, right, PRESS], [right, wrong, PRESS])


@entry(PAGES, "social-media-all")
@entry(PAGES, "social-media-some")
def posts(page: Page) -> Script:
    """An icon at posts of a user; one less misses, or none at all."""
    action, many, user = re.findall(
        r'"(\w+)" button on (all|\d+) posts? by (\S+) and', query(page)
    )[0]
    users = page.locator("#area .username").all_text_contents()
    own = [n for n, name in enumerate(users) if name == user]
    picks = [Act("force", f"#area .media >> nth={n} >> .{action.lower()}") for n in own]
    picks = picks if many == "all" else picks[: int(many)]
    press = click("#submitRow button")
    return Script([*picks, press], [*picks[:-1], press])
