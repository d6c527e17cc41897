"""Pages on which one press of the right button, box or field decides."""

from __future__ import annotations

import re

from lab.benchmarks.base import BadSourceError
from lab.benchmarks.miniwob.conditions import Condition, any_of, click_condition, clicked_at, then
from lab.benchmarks.miniwob.instance import Instance, attribute, inside, path, text
from lab.benchmarks.miniwob.plan import PagePlan
from lab.benchmarks.miniwob.registry import page

WIDGETS: dict[str, dict[str, str]] = {
    "radio": {"role": "radio"},
    "checkbox": {"role": "checkbox"},
    "text": {"role": "textbox", "tag": "input"},
    "textarea": {"role": "textbox", "tag": "textarea"},
    "button": {"role": "button"},
}
FIGURES = {"rect": "Rectangle", "circle": "Circle", "polygon": "Triangle"}


def button(name: str) -> PagePlan:
    """Clicking the named button, one of several."""
    return PagePlan(click_condition(role="button", name=name), once=click_condition(role="button"))


@page("click-test-2")
def one_of_two(instance: Instance) -> PagePlan:
    """One button and not the other."""
    return button(*instance.find(r"button (\w+)\.?$"))


@page("unicode-test")
def unicode_name(instance: Instance) -> PagePlan:
    """Buttons with names in many scripts."""
    return button(instance.quoted[0])


@page("click-dialog")
def close_dialog(instance: Instance) -> PagePlan:
    """A dialog is closed by its x."""
    return button("Close")


@page("click-dialog-2")
def dialog_button(instance: Instance) -> PagePlan:
    """One of a dialog's three buttons."""
    return button({"x": "Close"}.get(instance.quoted[0], instance.quoted[0]))


@page("click-button-sequence")
def two_buttons(instance: Instance) -> PagePlan:
    """Two buttons in an order; the second alone ends the round."""
    one, two = (
        click_condition(role="button", name="ONE"),
        click_condition(role="button", name="TWO"),
    )
    right = then(one, two)
    return PagePlan(right, [("one", one), ("two", right)], once=two)


@page("button-delay")
def delayed(instance: Instance) -> PagePlan:
    """A button, a wait of some seconds, another button: the page pays less the farther off the wait
    is."""
    seconds = int(instance.find(r"wait (\d+) seconds")[0])
    one, two = (
        click_condition(role="button", name="ONE"),
        click_condition(role="button", name="TWO"),
    )
    tiers = [
        (credit, _between(one, two, seconds, off))
        for credit, off in ((0.35, 0.65), (0.6, 0.4), (1.0, 0.15))
    ]
    waited: Condition = {"hold": {"window": {"seconds": seconds * 0.85}, "of": [one]}}
    return PagePlan(tiers, [("one", one), ("waited", waited)], once=two)


def _between(one: Condition, two: Condition, seconds: int, off: float) -> Condition:
    """TWO comes within that part of the wait around its end: late enough, and not too late."""
    late: Condition = {
        "sequence": {"of": [one, two], "within": {"seconds": round(seconds * (1 + off), 3)}}
    }
    early: Condition = {
        "sequence": {"of": [one, two], "within": {"seconds": round(seconds * (1 - off), 3)}}
    }
    return {"all_of": {"holding": True, "of": [late, {"none_of": {"of": [early]}}]}}


@page("click-widget")
def widget(instance: Instance) -> PagePlan:
    """Any widget of the kind that is asked for."""
    wanted = WIDGETS.get(instance.quoted[0])
    if wanted is None:
        raise BadSourceError(
            f"utterance: no widget {instance.quoted[0]!r}, wanted one of {', '.join(WIDGETS)}"
        )
    return PagePlan(
        click_condition(**wanted), once=any_of(click_condition(**one) for one in WIDGETS.values())
    )


@page("identify-shape")
def figure(instance: Instance) -> PagePlan:
    """A button names the kind of figure that is drawn."""
    drawn = instance.first("#area_svg > *")
    kind = FIGURES.get(str(drawn.tag))
    if kind is None:
        kind = "Number" if text(drawn).isdigit() else "Letter"
    return button(kind)


@page("click-color")
def box_of_color(instance: Instance) -> PagePlan:
    """A coloured box; nothing but its place tells it from the others."""
    (color,) = instance.find(r"Click on the (.+) colored box")
    boxes = {attribute(node, "data-color"): path(node) for node in instance.all("#area .color")}
    if color not in boxes:
        raise BadSourceError(f"html: no box is {color!r}, there are {', '.join(boxes)}")
    return PagePlan(clicked_at(boxes[color]), once=any_of(map(clicked_at, boxes.values())))


@page("focus-text", "focus-text-2")
def focused(instance: Instance) -> PagePlan:
    """A text field is clicked into, or reached by the keyboard."""
    found = re.search(r"(\d)(?:st|nd|rd)", instance.utterance)
    wanted = f"tt{found[1]}" if found else "tt"
    others = [attribute(node, "id") for node in instance.all("#area input")]
    return PagePlan(_focus(wanted), once=any_of(map(_focus, others)))


def _focus(field: str) -> Condition:
    return {"observed": {"kind": "element.focused", "where": {"element.id": field}}}


@page("buy-ticket")
def ticket(instance: Instance) -> PagePlan:
    """Of four flights the cheapest, dearest, shortest or longest is booked."""
    asked = instance.utterance
    by = (
        "button.buy-ticket"
        if "cost" in asked or "expensive" in asked or "cheap" in asked
        else ".time-duration"
    )
    flights = sorted(instance.all("#area .flight"), key=lambda node: _amount(_text_of(node, by)))
    best = flights[-1] if re.search("longest|most expensive", asked) else flights[0]
    return button(_text_of(best, "button.buy-ticket"))


def _text_of(node: object, css: str) -> str:
    found = inside(node, css)  # type: ignore[arg-type]
    return text(found) if found is not None else ""


def _amount(said: str) -> int:
    """Dollars, or minutes of ``7h 05m``."""
    numbers = [int(number) for number in re.findall(r"\d+", said)]
    return numbers[-1] if "$" in said else numbers[0] * 60 + numbers[1]
