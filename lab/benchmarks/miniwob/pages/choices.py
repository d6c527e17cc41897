"""Pages on which several things are chosen and then a button is pressed; which are chosen is in the
document."""

from __future__ import annotations

import json
import re

from detectors.model.json_value import JsonObject
from lab.benchmarks.base import BadSourceError
from lab.benchmarks.miniwob.conditions import click_condition
from lab.benchmarks.miniwob.instance import Instance, attribute, inside, text
from lab.benchmarks.miniwob.plan import PagePlan
from lab.benchmarks.miniwob.registry import page
from lab.benchmarks.miniwob.state import state_plan


@page("click-shades")
def shades(instance: Instance) -> PagePlan:
    """All shades of a colour and no other."""
    (color,) = instance.find(r"all the shades of (\w+)")
    wanted = [attribute(node, "data-color") == color for node in instance.all("#area span")]
    body = """
const chosen = all("#area span").map((span) => has(span, "selected"));
const good = given.wanted.filter((is, n) => is && chosen[n]).length;
const bad = chosen.filter((is, n) => is && !given.wanted[n]).length;
const every = good === given.wanted.filter((is) => is).length;
return { score: every && !bad ? 1 : -1, begun: good > 0 && !bad, every: every && !bad };
"""
    return state_plan(body, {"wanted": wanted}, ["begun", "every"], click_condition(id="submit"))


@page("click-checkboxes-large")
def boxes(instance: Instance) -> PagePlan:
    """Just these boxes; the page pays for each that stands as it should and takes off for each
    other."""
    asked = instance.find(r"^Select (.+) and click Submit\.$")[0].split(", ")
    wanted = [text(node) in asked for node in instance.all("#area label")]
    body = """
const boxes = all("#area label input").map((box) => box.checked);
const good = boxes.filter((is, n) => is === given.wanted[n]).length;
const own = boxes.filter((is, n) => is && given.wanted[n]).length;
const bad = boxes.some((is, n) => is && !given.wanted[n]);
return { score: (2 * good - boxes.length) / boxes.length, begun: own > 0 && !bad, every: good === boxes.length };
"""
    tiers = [
        ((2 * n - len(wanted)) / len(wanted),) * 2
        for n in range(len(wanted) // 2 + 1, len(wanted) + 1)
    ]
    return state_plan(body, {"wanted": wanted}, ["begun", "every"], tiers=tiers)


@page("odd-or-even")
def parity(instance: Instance) -> PagePlan:
    """Three numbers are marked as odd or even; the page pays for the right ones and takes off for
    the others."""
    body = """
const right = all("#numbers .row").map((row) => {
  const marked = text(one("button.selected", row)), odd = Number(text(one(".display-number", row))) % 2 !== 0;
  return marked === (odd ? "Odd" : "Even");
});
const good = right.filter((is) => is).length;
return { score: (2 * good - right.length) / right.length, one: good >= 1, two: good >= 2, three: good >= 3 };
"""
    return state_plan(
        body,
        {},
        ["one", "two", "three"],
        click_condition(id="submit"),
        [(0.333333, 1 / 3), (1.0, 1.0)],
    )


@page("number-checkboxes")
def drawn_number(instance: Instance) -> PagePlan:
    """A digit is drawn in a grid of boxes, after the page's own pattern."""
    digit = int(instance.quoted[0])
    patterns = re.sub(r"//[^\n]*", "", instance.source("PATTERNS", "["))
    rows = json.loads(re.sub(r",(\s*\])", r"\1", patterns))[digit]
    body = """
const boxes = all("#checkboxes input").map((box) => box.checked);
const good = boxes.filter((is, n) => is && given.wanted[n]).length;
const bad = boxes.filter((is, n) => is && !given.wanted[n]).length;
const some = good > 0 && !bad, most = given.wanted.filter((is) => is).length, every = some && good === most;
return { score: every ? 1 : -1, some, half: some && good * 2 >= most, every };
"""
    return state_plan(
        body, {"wanted": [cell == 1 for row in rows for cell in row]}, ["some", "half", "every"]
    )


@page("order-food")
def food(instance: Instance) -> PagePlan:
    """One of each named item, or so many of a kind; how many of each are ordered stands beside
    it."""
    items = instance.all("#area .food-item")
    names = [
        text(found) if (found := inside(item, ".item-name")) is not None else "" for item in items
    ]
    kinds = [{attribute(image, "alt") for image in item.css(".types img")} for item in items]
    by_name = re.search(r"^Order one of each item: (.+)$", instance.utterance)
    if by_name:
        asked = [" ".join(name.split()) for name in by_name[1].split(", ")]
        given: JsonObject = {
            "fits": [name in asked for name in names],
            "each": True,
            "many": len(asked),
        }
    else:
        many, kind = instance.find(r"^Order (\d+) items that are (.+)$")
        given = {"fits": [kind in own for own in kinds], "each": False, "many": int(many)}
    body = """
const counts = all("#area .food-item").map((item) => Number(text(one(".quantity", item)) || "0"));
const bad = counts.some((n, at) => n > 0 && (!given.fits[at] || (given.each && n > 1)));
const good = counts.filter((n, at) => given.fits[at]).reduce((sum, n) => sum + n, 0);
const every = !bad && good === given.many;
return { score: every ? 1 : -1, begun: !bad && good > 0, every };
"""
    return state_plan(
        body, given, ["begun", "every"], click_condition(role="button", name="Order!")
    )


@page("generate-number")
def generated(instance: Instance) -> PagePlan:
    """A number is drawn anew until it is as wanted. Of a page that shows none yet nothing is right,
    though the page itself takes that for an even one."""
    asked = instance.utterance
    if found := re.search(r"(less|greater) than (\d+)", asked):
        given = {"kind": found[1], "bound": int(found[2])}
    elif found := re.search(r"an (odd|even) number", asked):
        given = {"kind": found[1], "bound": 0}
    else:
        raise BadSourceError(
            f"utterance: got {asked!r:.200}, wanted a number less or greater than one, odd or even"
        )
    body = """
const said = text(one("#display-number")), number = Number(said), drawn = /^-?[0-9]+$/.test(said);
const odd = number % 2 !== 0, less = number < given.bound, greater = number > given.bound;
const right = drawn && { less, greater, odd, even: !odd }[given.kind];
return { score: right ? 1 : -1, drawn, right };
"""
    return state_plan(body, given, ["drawn", "right"], click_condition(id="submit"))


@page("find-greatest")
def greatest(instance: Instance) -> PagePlan:
    """The card with the greatest of three hidden numbers; the page pays a tenth for any card."""
    body = """
const cards = all("#cardholder .card"), open = cards.filter((card) => !has(card, "hidden"));
const most = Math.max(...cards.map((card) => Number(text(card)))), picked = open.length > 0;
const right = picked && Number(text(open[0])) === most;
return { score: right ? 1 : picked ? 0.1 : -1, picked, right };
"""
    return state_plan(
        body, {}, ["picked", "right"], click_condition(id="submit"), [(0.1, 0.1), (1.0, 1.0)]
    )
