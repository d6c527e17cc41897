"""Pages that are decided by what fields hold when a button is pressed."""

from __future__ import annotations

import re
from datetime import datetime

from playwright.sync_api import Page

from tests.miniwob.script import (
    SUBMIT,
    Act,
    Script,
    Table,
    click,
    entry,
    fill,
    query,
    quoted,
    said,
)

PAGES: Table = {}


def _text(field: str, right: str, wrong: str) -> Script:
    """One text field and Submit."""
    target = f"#{field}"
    return Script([fill(target, right), SUBMIT], [fill(target, wrong), SUBMIT])


@entry(PAGES, "enter-text")
@entry(PAGES, "enter-text-dynamic")
def text(page: Page) -> Script:
    """A given text, letter by letter; the near miss lacks the last one."""
    wanted = said(page)[0]
    return _text("tt", wanted, wanted[:-1])


@entry(PAGES, "enter-text-2")
def text_in_case(page: Page) -> Script:
    """A text in the other case than it is written."""
    given = said(page)[0]
    wanted = given.upper() if "upper case" in query(page) else given.lower()
    return _text("tt", wanted, given)


@entry(PAGES, "read-table")
def table(page: Page) -> Script:
    """The value that stands beside a key."""
    rows = [row.locator("td").all_inner_texts() for row in page.locator("#tab tr").all()]
    wanted = next(value for key, value in rows if key == page.inner_text("#query .bold"))
    return _text("tt", wanted, next(value for _, value in rows if value != wanted))


@entry(PAGES, "simple-arithmetic")
def arithmetic(page: Page) -> Script:
    """Two digits and an operation; off by one misses."""
    left, sign, right = page.inner_text("#math-problem").split()[:3]
    a, b = int(left), int(right)
    answer = {"+": a + b, "-": a - b, "x": a * b}[sign]
    return _text("math-answer", str(answer), str(answer + 1))


@entry(PAGES, "simple-algebra")
def algebra(page: Page) -> Script:
    """An equation with one unknown; the near miss has the wrong sign or is off by one."""
    left, sign, right, _, total = page.inner_text("#math-problem").split()
    known = int(right if left == "x" else left)
    flipped = -known if sign == "+" else known
    answer = known - int(total) if (sign, right) == ("-", "x") else int(total) + flipped
    return _text("math-answer", str(answer), str(-answer or 1))


@entry(PAGES, "copy-paste-2")
def copied(page: Page) -> Script:
    """One of three texts is copied into a field by the keyboard alone."""
    n = int(re.findall(r"(\d)(?:st|nd|rd)", query(page))[0])

    def copy(source: int) -> list[Act]:
        area, answer = f"#text-{source}", "#answer-input"
        keys = [(area, "Control+a"), (area, "Control+c"), (answer, "Control+v")]
        return [*(Act("press", target, key) for target, key in keys), SUBMIT]

    return Script(copy(n), copy(n % 3 + 1))


@entry(PAGES, "enter-date")
def date(page: Page) -> Script:
    """A date field, typed part by part; day and month swapped, or a day off, misses."""
    found = re.findall(r"\d+/\d+/\d+", query(page))[0]
    month, day, year = found.split("/")
    other = f"{int(day) % 28 + 1:02}"
    right, wrong = (Act("type", "#tt", f"{month}{d}{year}") for d in (day, other))
    return Script([right, SUBMIT], [wrong, SUBMIT])


@entry(PAGES, "enter-time")
def time_of_day(page: Page) -> Script:
    """A time field; the near miss takes morning for evening."""
    found = re.findall(r"\d+:\d+\s[AP]M", query(page))[0]
    wanted = datetime.strptime(" ".join(found.split()), "%I:%M %p")
    half = wanted.strftime("%p")
    typed = (
        Act("type", "#tt", wanted.strftime(f"%I%M{h}"))
        for h in (half, "PM" if half == "AM" else "AM")
    )
    right, wrong = typed
    return Script([right, SUBMIT], [wrong, SUBMIT])


@entry(PAGES, "click-option")
def option(page: Page) -> Script:
    """One radio of several; right, then another one, then Submit misses."""
    wanted = query(page).removeprefix("Select ").removesuffix(" and click Submit.")
    names = [name.strip() for name in page.locator("#boxes label").all_inner_texts()]
    right, wrong = (_box(n) for n in (wanted, next(n for n in names if n != wanted)))
    return Script([right, SUBMIT], [right, wrong, SUBMIT])


def _box(name: str) -> Act:
    return click(f"#area label:text-is({quoted(name)}) >> input")


@entry(PAGES, "click-checkboxes-large", seed="2")
def boxes(page: Page) -> Script:
    """Just these boxes. The page still pays for more than half of them, so the miss takes the
    others."""
    asked = query(page).removeprefix("Select ").removesuffix(" and click Submit.").split(", ")
    names = [name.strip() for name in page.locator("#area label").all_inner_texts()]
    others = [name for name in names if name not in asked]
    missed = asked[: (len(asked) - len(others)) // 2] if len(asked) > len(others) else []
    return Script([*map(_box, asked), SUBMIT], [*map(_box, [*missed, *others]), SUBMIT])


@entry(PAGES, "click-scroll-list", seed="2")
def scroll_list(page: Page) -> Script:
    """One or two options of a list that allows many; one too many misses."""
    asked = query(page).removeprefix("Select ").split(" from the scroll list")[0].split(", ")
    others = [
        name for name in page.locator("#options option").all_inner_texts() if name not in asked
    ]
    submit = click("#area button")
    pick = [Act("add", f"#options option:text-is({quoted(name)})") for name in (*asked, others[0])]
    return Script([*pick[:-1], submit], [*pick, submit])


@entry(PAGES, "form-sequence-2")
def radio_and_number(page: Page) -> Script:
    """A radio is checked, and one of three text fields holds a number, the others nothing."""
    radio, nth = (int(n) for n in re.findall(r"(\d)(?:st|nd|rd)", query(page)))
    number = said(page)[0]
    others = [n for n in (1, 2, 3) if n != nth]
    mark = click(f"#area input[type=radio] >> nth={radio - 1}")
    acts = ([mark, fill(f"#input-{n}", number), SUBMIT] for n in (nth, others[0]))
    return Script(*acts)


@entry(PAGES, "form-sequence-3")
def dropdown(page: Page) -> Script:
    """A list that is drawn by script, then one of three buttons; right item, wrong button
    misses."""
    item = re.findall(r"Choose (.+) from the dropdown", query(page))[0]
    button = said(page)[0]
    other = "No" if button != "No" else "Yes"
    opened = [click(".selectric .button"), click(f".selectric-items li:text-is({quoted(item)})")]
    right, wrong = (click(f"#buttons button:text-is({quoted(name)})") for name in (button, other))
    return Script([*opened, right], [*opened, wrong])


@entry(PAGES, "use-autocomplete", seed="4")
def autocomplete(page: Page) -> Script:
    """An item with a given start and end; the near miss has the start only."""
    start, *more = said(page)
    end = more[0] if more else ""
    page.locator("#tags").press_sequentially(start)
    page.locator("ul.ui-autocomplete li").first.wait_for()
    items = page.locator("ul.ui-autocomplete li").all_inner_texts()
    wanted = next(item for item in items if item.endswith(end))
    right, wrong = (
        [fill("#tags", t), Act("press", "#tags", "Tab"), SUBMIT] for t in (wanted, start)
    )
    return Script(right, wrong)


@entry(PAGES, "login-user-popup", seed="6")
def login(page: Page) -> Script:
    """User, password, and perhaps a popup that asks to leave: to agree to it misses."""
    user, password = said(page)
    fields = [fill("#username", user), fill("#password", password)]
    for asked in ("#username", "#password"):
        page.locator(asked).click()
        if page.locator("#popup").count():
            return Script(
                [click(asked), click("#popup-cancel"), *fields, SUBMIT],
                [click(asked), click("#popup-ok")],
            )
    return Script([*fields, SUBMIT], [fields[0], fill("#password", password[:-1]), SUBMIT])
