"""Pages with fields to fill, which the browser tells of one by one, and a button."""

from __future__ import annotations

from datetime import datetime

from lab.benchmarks.miniwob.conditions import (
    SUBMIT,
    Condition,
    check_condition,
    click_condition,
    fill_condition,
    none,
    then,
    together,
)
from lab.benchmarks.miniwob.instance import Instance, text
from lab.benchmarks.miniwob.plan import PagePlan
from lab.benchmarks.miniwob.registry import page


def one_field(field: str, value: str, begun: str = "") -> PagePlan:
    """One text field and Submit; its beginning is a step of its own."""
    right = fill_condition(field, value)
    steps = [
        ("begun", fill_condition(field, {"starts_with": begun or value[:1]})),
        ("filled", right),
    ]
    return PagePlan(then(right, SUBMIT), steps, once=SUBMIT)


@page("enter-text", "enter-text-dynamic")
def given_text(instance: Instance) -> PagePlan:
    """The field holds the text that the utterance quotes."""
    return one_field("tt", instance.quoted[0])


@page("enter-text-2")
def text_in_case(instance: Instance) -> PagePlan:
    """A text in the other case than it is written."""
    given = instance.quoted[0]
    return one_field("tt", given.upper() if "upper case" in instance.utterance else given.lower())


@page("read-table")
def table(instance: Instance) -> PagePlan:
    """The value that stands beside a key."""
    key = text(instance.first("#query .bold"))
    rows = [[text(cell) for cell in row.css("td")] for row in instance.all("#tab tr")]
    return one_field("tt", next(value for own, value in rows if own == key))


@page("simple-arithmetic")
def arithmetic(instance: Instance) -> PagePlan:
    """The field holds the result of two numbers and an operation."""
    left, sign, right = text(instance.first("#math-problem")).split()[:3]
    a, b = int(left), int(right)
    return one_field("math-answer", str({"+": a + b, "-": a - b, "x": a * b}[sign]))


@page("simple-algebra")
def algebra(instance: Instance) -> PagePlan:
    """The field holds the solution of an equation with one unknown."""
    left, sign, right, _, total = text(instance.first("#math-problem")).split()[:5]
    known = int(right if left == "x" else left)
    answer = (
        known - int(total)
        if (sign, right) == ("-", "x")
        else int(total) + (-known if sign == "+" else known)
    )
    return one_field("math-answer", str(answer))


@page("enter-date")
def date(instance: Instance) -> PagePlan:
    """A date field; the browser holds it as year, month, day."""
    month, day, year = instance.find(r"(\d+)/(\d+)/(\d+)")
    return one_field("tt", f"{year}-{month}-{day}", begun=year)


@page("enter-time")
def time_of_day(instance: Instance) -> PagePlan:
    """The time field holds the time that the utterance gives."""
    found = " ".join(instance.find(r"(\d+:\d+)\s([AP]M)"))
    return one_field("tt", datetime.strptime(found, "%I:%M %p").strftime("%H:%M"))


@page("click-option")
def option(instance: Instance) -> PagePlan:
    """The named radio button is checked, one of several."""
    (wanted,) = instance.find(r"^Select (.+) and click Submit\.$")
    right = then(check_condition(wanted), SUBMIT)
    return PagePlan(right, [("option", check_condition(wanted)), ("pressed", right)], once=SUBMIT)


@page("click-scroll-list")
def scroll_list(instance: Instance) -> PagePlan:
    """One or more options of a list that allows many."""
    asked = instance.find(r"^Select (.+) from the scroll list")[0].split(", ")
    others = [name for name in map(text, instance.all("#options option")) if name not in asked]
    chosen = [fill_condition("options", name) for name in asked]
    press = click_condition(role="button", name="Submit")
    right = then(together(*chosen, none(fill_condition("options", {"one_of": others}))), press)
    return PagePlan(
        right, [("one", {"any_of": {"of": chosen}}), ("all", together(*chosen))], once=press
    )


@page("form-sequence-2")
def radio_and_number(instance: Instance) -> PagePlan:
    """A radio, and one of three text fields holds a number, the others nothing. The page takes any
    radio for the right one."""
    _, nth = instance.find(r"Check the (\d)\w\w radio .+ into the (\d)\w\w textbox")
    number = instance.quoted[0]
    empty = [none(fill_condition(f"input-{n}", {"glob": "?*"})) for n in "123" if n != nth]
    right = fill_condition(f"input-{nth}", number)
    goal = then(together(check_condition("radio"), right, *empty), SUBMIT)
    return PagePlan(goal, [("radio", check_condition("radio")), ("number", right)], once=SUBMIT)


@page("form-sequence-3")
def dropdown(instance: Instance) -> PagePlan:
    """A list that is drawn by script, then one of three buttons."""
    (item,) = instance.find(r"Choose (.+) from the dropdown")
    chosen = click_condition(tag="li", text=item)
    press = click_condition(role="button", name=instance.quoted[0])
    others = [text(node) for node in instance.all("#dropdown option") if text(node) != item]
    last = then({"none_of": {"of": [click_condition(tag="li", text={"one_of": others})]}}, chosen)
    buttons = [text(node) for node in instance.all("#buttons button")]
    once = click_condition(role="button", name={"one_of": buttons})
    return PagePlan(
        then(last, press), [("item", chosen), ("pressed", then(chosen, press))], once=once
    )


@page("use-autocomplete")
def autocomplete(instance: Instance) -> PagePlan:
    """An item with a given start and, sometimes, a given end."""
    start, *ends = instance.quoted
    right = [
        fill_condition("Tags:", {"starts_with": start}),
        *(fill_condition("Tags:", {"ends_with": end}) for end in ends),
    ]
    steps = [("begun", right[0]), ("filled", together(*right))]
    return PagePlan(then(together(*right), SUBMIT), steps, once=SUBMIT)


@page("guess-number")
def guess(instance: Instance) -> PagePlan:
    """A number is guessed with the page's help; only its own word tells that it was found."""
    digits = [str(digit) for digit in range(10)]
    hint: list[Condition] = [
        {"text_visible": {"text": {"contains": f"The number is {way} than"}}}
        for way in ("lower", "higher")
    ]
    steps: list[tuple[str, Condition]] = [
        ("guessed", then(fill_condition("tt", {"one_of": digits}), SUBMIT)),
        ("hint", {"any_of": {"of": hint}}),
    ]
    told: Condition = {"text_visible": {"text": {"contains": "Correct!"}}}
    return PagePlan({"all_of": {"of": [SUBMIT, told], "holding": True}}, steps)


@page("search-engine")
def search(instance: Instance) -> PagePlan:
    """A search, then the nth of its results."""
    wanted = instance.quoted[0]
    typed, press = (
        fill_condition("search-text", wanted),
        click_condition(role="button", name="Search"),
    )
    searched = then(typed, press)
    right = then(typed, press, click_condition(role="link", name=wanted))
    return PagePlan(right, [("typed", typed), ("searched", searched)])
