"""Pages with drawn shapes, letters and digits: which one is meant is known from the drawing's own
elements."""

from __future__ import annotations

from selectolax.lexbor import LexborNode

from lab.benchmarks.base import BadSourceError
from lab.benchmarks.miniwob.conditions import Condition, any_of, click_condition, clicked_at
from lab.benchmarks.miniwob.instance import Instance, attribute, path, text
from lab.benchmarks.miniwob.pages.buttons import button
from lab.benchmarks.miniwob.plan import PagePlan
from lab.benchmarks.miniwob.registry import page
from lab.benchmarks.miniwob.state import state_plan

COLORS = frozenset("red green blue aqua black magenta yellow".split())
SHAPES = {"rect": "rectangle", "circle": "circle", "polygon": "triangle"}
LARGE = 15.0
"""Pixels: a large one measures 20, a small one 10."""


def _matches(node: LexborNode, words: list[str]) -> bool:
    """Whether the drawn element is what ``words`` describe: [size] [colour] kind, or `item`."""
    *marks, kind = words
    if kind not in _kinds(node):
        return False
    size = "large" if _size(node) > LARGE else "small"
    own_marks = {size, attribute(node, "fill")}
    return own_marks.issuperset(marks)


def _kinds(node: LexborNode) -> set[str]:
    """All words by which a page may mean what is drawn."""
    shape = SHAPES.get(str(node.tag))
    if shape is not None:
        return {"item", "shape", shape}
    own = text(node)
    return {"item", own, "digit" if own.isdigit() else "letter"}


def _size(node: LexborNode) -> float:
    """Return how large the node is drawn, in pixels: its side, diameter, width, or the size of its
    letters."""
    match node.tag:
        case "rect":
            return float(attribute(node, "width"))
        case "circle":
            return 2 * float(attribute(node, "r"))
        case "polygon":
            places = [float(point.split(",")[0]) for point in attribute(node, "points").split()]
            return max(places) - min(places)
        case _:
            return float(attribute(node, "font-size").removesuffix("px"))


@page("click-shape")
def shape(instance: Instance) -> PagePlan:
    """Any drawn element that fits a description."""
    words = instance.find(r"^Click on an? (.+?)\.?$")[0].split()
    drawn = instance.all("#area_svg > *")
    right = [path(node) for node in drawn if _matches(node, words)]
    if not right:
        raise BadSourceError(f"html: nothing that is drawn is a {' '.join(words)!r}")
    return PagePlan(
        clicked_at({"one_of": right}),
        once=any_of(
            [clicked_at({"one_of": [path(node) for node in drawn]}), click_condition(id="area_svg")]
        ),
    )


@page("count-shape")
def count(instance: Instance) -> PagePlan:
    """How many drawn elements fit a description; buttons name numbers."""
    words = instance.find(r"How many (.+)s are there")[0].split()
    return button(str(sum(_matches(node, words) for node in instance.all("#area_svg > *"))))


@page("ascending-numbers")
def ascending(instance: Instance) -> PagePlan:
    """Five numbers in their order; they hide after the first. The page pays a fifth for each before
    a wrong one."""
    body = """
const left = all("#area_svg rect").length, hidden = all("#area_svg text").length === 0;
const score = !hidden ? -1 : left <= 1 ? 1 : (5 - left) / 5;
return { score, first: hidden, third: hidden && left <= 2 };
"""
    press: Condition = {
        "observed": {"kind": "element.clicked", "where": {"element.path": {"glob": "#area_svg>*"}}}
    }
    tiers = [(n / 5, n / 5) for n in (1, 2, 3, 5)]
    plan = state_plan(body, {}, ["first", "third"], press, tiers)
    return PagePlan(plan.goal, plan.steps, None, plan.probes)
