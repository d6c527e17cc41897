"""Pages with values that script sets, text that is styled or selected, mails, airlines' forms."""

from __future__ import annotations

import re

from playwright.sync_api import Page

from tests.miniwob.script import SUBMIT, Act, Script, Table, click, entry, fill, query, quoted, said

PAGES: Table = {}


@entry(PAGES, "enter-password")
def password(page: Page) -> Script:
    """A password, twice; a repetition that differs misses."""
    wanted = said(page)[0]
    first = fill("#password", wanted)
    return Script(
        [first, fill("#verify", wanted), SUBMIT], [first, fill("#verify", wanted[:-1]), SUBMIT]
    )


@entry(PAGES, "choose-date")
@entry(PAGES, "choose-date-nodelay")
def day(page: Page) -> Script:
    """A day of a year whose months have to be turned; the day beside it misses."""
    month, day, _ = (int(part) for part in re.findall(r"(\d+)/(\d+)/(\d+)", query(page))[0])
    other = day - 1 if day > 1 else day + 1
    return Script(*([*_turned(page, "#datepicker", month), _day(n), SUBMIT] for n in (day, other)))


MONTHS = (
    "January February March April May June July August September October November December".split()
)


def _turned(page: Page, field: str, month: int) -> list[Act]:
    page.click(field)
    shown = MONTHS.index(page.inner_text(".ui-datepicker-month")) + 1
    turn = click(".ui-datepicker-prev" if month < shown else ".ui-datepicker-next")
    return [click(field), *[turn] * abs(month - shown)]


def _day(n: int) -> Act:
    return click(f"#ui-datepicker-div a:text-is('{n}')")


@entry(PAGES, "multi-layouts")
def movie(page: Page) -> Script:
    """Three fields with labels around them; director and genre swapped misses."""
    genre, director, year = re.findall(
        r"Search for (.+) movies directed by (.+) from year (\d+)", query(page)
    )[0]
    rows = page.locator("#area input").evaluate_all(
        "fields => fields.map(f => { let n = f; while (n.id !== 'area' && !n.textContent.trim()) n"
        " = n.parentElement; return n.textContent; })"
    )
    place = {
        key: next(n for n, row in enumerate(rows) if any(word in row for word in words))
        for key, words in {
            "genre": ["Genre"],
            "director": ["Director"],
            "year": ["Year", "Date"],
        }.items()
    }
    press = click("#area :is(button, .final, .ui-submit)")

    def fills(**values: str) -> list[Act]:
        return [fill(f"#area input >> nth={place[key]}", value) for key, value in values.items()]

    right = fills(genre=genre, director=director, year=year)
    return Script([*right, press], [*fills(genre=director, director=genre, year=year), press])


def _slid(slider: str, now: int, to: int) -> list[Act]:
    """The handle takes the keyboard once it was clicked; a click in its middle moves nothing."""
    key = Act("press", f"{slider} .ui-slider-handle", "ArrowRight" if to > now else "ArrowLeft")
    return [key] * abs(to - now)


@entry(PAGES, "use-slider")
def slider(page: Page) -> Script:
    """One slider; one step short misses."""
    (to,) = re.findall(r"Select (-?\d+) with", query(page))
    acts = _slid("#slider", int(page.inner_text("#val")), int(to))
    more = Act("press", "#slider .ui-slider-handle", "ArrowRight")
    less = Act("press", "#slider .ui-slider-handle", "ArrowLeft")
    return Script(
        [*_far(acts), SUBMIT], [*(_far(acts[:-1]) if acts else [more, more, less]), SUBMIT]
    )


def _far(acts: list[Act]) -> list[Act]:
    """Many presses of one key as few acts: a step of an episode may be a run of keys."""
    return (
        [acts[0]._replace(verb="keys", text=f"{acts[0].text} {len(acts)}")]
        if len(acts) > 6
        else acts
    )


@entry(PAGES, "use-slider-2")
def sliders(page: Page) -> Script:
    """Three sliders; the third left alone, or moved away, misses."""
    numbers = [int(n) for n in re.findall(r"\d+", query(page))[:3]]
    now = [int(page.inner_text(f"#val-{n}")) for n in (1, 2, 3)]
    moved = [_far(_slid(f"#slider-{n + 1}", now[n], numbers[n])) for n in range(3)]
    away = (
        _slid("#slider-3", now[2], now[2] + (1 if now[2] < 20 else -1))
        if now[2] == numbers[2]
        else []
    )
    return Script([*moved[0], *moved[1], *moved[2], SUBMIT], [*moved[0], *moved[1], *away, SUBMIT])


@entry(PAGES, "form-sequence")
def slider_and_box(page: Page) -> Script:
    """A slider and one of three boxes; another box misses."""
    to, nth = (
        int(n)
        for n in re.findall(r"Select (-?\d+) with the slider, click the (\d)", query(page))[0]
    )
    acts = _far(_slid("#slider", int(page.inner_text("#val")), to))
    return Script(*([*acts, click(f"#checkbox-{n}"), SUBMIT] for n in (nth, nth % 3 + 1)))


@entry(PAGES, "use-spinner")
def spinner(page: Page) -> Script:
    """A number by its arrows; one press less misses."""
    (to,) = map(int, re.findall(r"Select (-?\d+) with", query(page)))
    arrow = click(f".ui-spinner-{'up' if to > 0 else 'down'}")
    up = click(".ui-spinner-up")
    return Script(
        [*[arrow] * abs(to), SUBMIT], [*([arrow] * (abs(to) - 1) if to else [up]), SUBMIT]
    )


@entry(PAGES, "use-colorwheel")
@entry(PAGES, "use-colorwheel-2")
def wheel(page: Page) -> Script:
    """A colour is written into the wheel's field; for any other the page pays by how near it is."""
    sample = page.locator("#query .cc")
    if sample.count():
        red, green, blue = re.findall(
            r"\d+", sample.evaluate("node => getComputedStyle(node).backgroundColor")
        )[:3]
    else:
        (name,) = re.findall(r"Select (\w+) with", query(page))
        code = """name => {
          const shown = document.createElement('p');
          shown.style.color = name;
          document.body.append(shown);
          return getComputedStyle(shown).color;
        }"""
        red, green, blue = re.findall(r"\d+", page.evaluate(code, name))[:3]
    color = f"{int(red):02x}{int(green):02x}{int(blue):02x}"
    off = f"{int(red) ^ 128:02x}{int(green):02x}{int(blue) ^ 64:02x}"
    return Script(
        *(
            [fill("#col", value), Act("press", "#col", "Tab"), Act("force", "#subbtn")]
            for value in (color, off)
        )
    )


@entry(PAGES, "highlight-text")
def highlight(page: Page) -> Script:
    """A paragraph is selected by three clicks, and by its drag; a word of it misses."""
    return Script(
        [Act("select", "#randomText", "3"), SUBMIT], [Act("select", "#randomText", "2"), SUBMIT]
    )


@entry(PAGES, "text-editor")
def editor(page: Page) -> Script:
    """A word, or all, is selected and styled; another style or colour misses."""
    word, kind, how = re.findall(
        r"(?:give|make) (?:the text )?(.+?)(?: the (style|color)) (\w+) *(?:and press Submit)?\.?$",
        query(page),
    )[0]
    text = page.inner_text(".ql-editor p")
    start, length = (0, len(text)) if word == "everything" else (text.index(word), len(word))
    home = Act("press", ".ql-editor", "Control+Home")
    chosen = [home]
    if start:
        chosen.append(Act("keys", ".ql-editor", f"ArrowRight {start}"))
    chosen.append(Act("keys", ".ql-editor", f"Shift+ArrowRight {length}"))
    if kind == "style":
        names = {"bold": "bold", "italics": "italic", "underlined": "underline"}
        right, wrong = (
            [click(f".ql-{name}")] for name in (names[how], "bold" if how != "bold" else "italic")
        )
    else:
        table = {"red": "#e60000", "orange": "#ff9900", "yellow": "#ffff00", "green": "#008a00", "blue": "#0066cc",
                 "purple": "#9933ff"}  # fmt: skip
        other = "#008a00" if how != "green" else "#e60000"
        right, wrong = ([click(".ql-color .ql-picker-label"), click(f".ql-picker-item[data-value='{color}']")]
                        for color in (table[how], other))  # fmt: skip
    return Script([*chosen, *right, SUBMIT], [*chosen, *wrong, SUBMIT])


@entry(PAGES, "terminal")
def terminal(page: Page) -> Script:
    """A file with an ending is deleted; another file misses, or the way out."""
    found = re.findall(r"extension (\.\S+)$", query(page))
    line = [
        click("#terminal"),
        Act("type", "#terminal-target", "ls"),
        Act("press", "#terminal-target", "Enter"),
    ]
    for act in line:
        act.perform(page)
    files = page.locator(".terminal-output .output").last.inner_text().split()
    fits = [name for name in files if (name.endswith(found[0]) if found else "." not in name)]
    others = [name for name in files if name not in fits]

    def remove(name: str) -> list[Act]:
        return [
            Act("type", "#terminal-target", f"rm {name}"),
            Act("press", "#terminal-target", "Enter"),
        ]

    wrong = (
        remove(others[0])
        if others
        else [Act("type", "#terminal-target", "exit"), Act("press", "#terminal-target", "Enter")]
    )
    return Script([*line, *remove(fits[0])], [*line, *wrong])


@entry(PAGES, "book-flight")
@entry(PAGES, "book-flight-nodelay")
def flight(page: Page) -> Script:
    """A search for flights; the right one is booked, or another one."""
    by, origin, to, date = re.findall(
        r"the (\w+) one-way flight from: (.+) to: (.+) on (\d+/\d+/\d+)\.", query(page)
    )[0]
    acts = list[Act]()
    for field, place in (("#flight-from", origin), ("#flight-to", to)):
        item = f"ul.ui-autocomplete:visible li:has-text({quoted(place)}) div"
        acts += [Act("type", field, place), click(item)]
    for act in acts:
        act.perform(page)
    month, day = (int(part) for part in date.split("/")[:2])
    dated = [*_turned(page, "#datepicker", month), _day(day)]
    search = click("#search")
    for act in (*dated[1:], search):
        act.perform(page)
    flights = page.locator("#results .flight").all()
    worths = [int((f.locator("[data-price]" if by == "cheapest" else "[data-duration]").get_attribute(
        "data-price" if by == "cheapest" else "data-duration")) or 0) for f in flights]  # fmt: skip
    order = sorted(range(len(worths)), key=worths.__getitem__)
    book = [
        click(f"#results .flight >> nth={n} >> button.flight-price") for n in (order[0], order[-1])
    ]
    return Script(*([*acts, *dated, search, one] for one in book))


@entry(PAGES, "email-inbox")
@entry(PAGES, "email-inbox-noscroll")
@entry(PAGES, "email-inbox-reply")
@entry(PAGES, "email-inbox-star-reply")
@entry(PAGES, "email-inbox-important")
@entry(PAGES, "email-inbox-nl-turk")
@entry(PAGES, "email-inbox-forward-nl")
@entry(PAGES, "email-inbox-forward-nl-turk")
def mail(page: Page) -> Script:
    """A mail is starred, deleted, answered or forwarded; the same with another one misses."""
    words = page.evaluate("() => core.getUtterance()")
    asked = {"task": "forward", **words["fields"]} if isinstance(words, dict) else _asked(words)
    task, by = asked["task"], asked["by"]
    senders = page.locator("#main .email-sender").all_text_contents()
    other = next(name for name in senders if name != by)

    def do(name: str) -> list[Act]:
        row = f"#main .email-thread:has(.email-sender:text-is({quoted(name)}))"
        if task in ("star", "delete"):
            return [Act("force", f"{row} >> .{'star' if task == 'star' else 'trash'}")]
        opened = [click(f"{row} >> .email-sender"), click(f"#email .email-{task}")]
        if task == "reply":
            return [*opened, fill("#reply-text", asked["message"]), click("#send-reply")]
        return [*opened, fill(".forward-sender", asked["to"]), click("#send-forward")]

    return Script(do(by), do(other))


def _asked(words: str) -> dict[str, str]:
    (by,) = re.findall("Find the email by (.+?) and", words)
    message, to = (
        re.findall('with the text "(.*)"', words),
        re.findall(r"forward that email to (.+)\.$", words),
    )
    if message:
        return {"task": "reply", "by": by, "message": message[0]}
    if to:
        return {"task": "forward", "by": by, "to": to[0]}
    return {"task": "star" if "star icon" in words else "delete", "by": by}
