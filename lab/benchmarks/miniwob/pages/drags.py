"""Pages on which something is dragged, drawn or resized, and stands in the document where it was
put."""

from __future__ import annotations

import re

from detectors.model.json_value import JsonObject
from lab.benchmarks.miniwob.conditions import click_condition
from lab.benchmarks.miniwob.instance import Instance, attribute, text
from lab.benchmarks.miniwob.plan import PagePlan
from lab.benchmarks.miniwob.registry import page
from lab.benchmarks.miniwob.state import TWENTIETHS, state_plan

_AT = """
const number = (node, name) => Number(node.getAttribute(name));
const shift = (node) => {
  const said = (node.getAttribute("transform") || "").match(/-?[0-9.]+(?:e-?[0-9]+)?/g) || [];
  return [Number(said[0] || 0), Number(said[1] || 0)];
};
const corner = (node) => {
  if (node.tagName === "rect") return [number(node, "x"), number(node, "y")];
  const r = number(node, "r");
  if (node.tagName === "circle") return [number(node, "cx") - r, number(node, "cy") - r];
  const points = node.getAttribute("points").split(" ").map((point) => point.split(",").map(Number));
  return [Math.min(...points.map((p) => p[0])), Math.min(...points.map((p) => p[1]))];
};
const at = (node) => { const [x, y] = corner(node), [dx, dy] = shift(node); return [x + dx, y + dy]; };
const within = (node, box) => {
  const [x, y] = at(node);
  return x > box.x && x < box.x + box.width && y > box.y && y < box.y + box.height;
};
"""
TAGS = {"rectangles": "rect", "circles": "circle", "triangles": "polygon"}


@page("drag-box")
def box(instance: Instance) -> PagePlan:
    """A small box is put into a large one."""
    body = """
const place = (css) => [parseInt(getComputedStyle(one(css)).left), parseInt(getComputedStyle(one(css)).top)];
const small = place("#draggableSmall"), large = place("#draggableLarge");
const [x, y] = [small[0] - large[0], small[1] - large[1]];
const moved = small[0] !== given.left || small[1] !== given.top, inside = x > 0 && x < 30 && y > 0 && y < 30;
return { score: inside ? 1 : -1, moved, inside };
"""
    places = re.findall(
        r"(left|top): (\d+)px", attribute(instance.first("#draggableSmall"), "style")
    )
    return state_plan(body, {side: int(value) for side, value in places}, ["moved", "inside"])


@page("drag-cube")
def cube(instance: Instance) -> PagePlan:
    """A cube is turned until a side faces the user; the page marks that side."""
    body = """
const active = text(one("#area .active")), facing = active === given.wanted;
return { score: facing ? 1 : -1, turned: active !== given.start, facing };
"""
    given: JsonObject = {
        "wanted": instance.quoted[0],
        "start": text(instance.first("#area .active")),
    }
    # Where the side faces the user from the start, to turn the cube is no step.
    stands = given["wanted"] == given["start"]
    return state_plan(body, given, [] if stands else ["turned", "facing"])


@page("drag-items-grid")
def grid(instance: Instance) -> PagePlan:
    """One of nine names is put into another place: one drag decides, by where it ends."""
    name, where = instance.find(r"^Drag (.+?) ((?:to the |up |down |left |right ).+)\.$")
    names = [text(node) for node in instance.all("#sortable li")]
    start = names.index(name)
    by_one = {"up by one": -3, "down by one": 3, "left by one": -1, "right by one": 1}
    places = (
        "top left", "top center", "top right", "center left", "center", "center right",
        "bottom left", "bottom center", "bottom right",
    )  # fmt: skip
    target = (
        start + by_one[where] if where in by_one else places.index(where.removeprefix("to the "))
    )
    wanted = [other for other in names if other != name]
    wanted.insert(target, name)
    body = """
const names = all("#sortable li").map(text);
return { score: names.join() === given.wanted.join() ? 1 : -1 };
"""
    press = {"observed": {"kind": "element.dropped"}}
    return state_plan(body, {"wanted": wanted}, [], press)


@page("drag-sort-numbers")
def sorted_numbers(instance: Instance) -> PagePlan:
    """Four numbers are put in order."""
    body = """
const numbers = all("#sortable li div").map((node) => Number(text(node)));
const order = numbers.slice().sort((a, b) => a - b);
const right = (n) => order.slice(0, n).every((x, at) => x === numbers[at]);
return { score: right(4) ? 1 : -1, first: right(1), second: right(2), sorted: right(4) };
"""
    return state_plan(body, {}, ["first", "second", "sorted"])


@page("drag-single-shape")
def single_shape(instance: Instance) -> PagePlan:
    """A shape is moved up, down, left or right."""
    (way,) = instance.find(r"Drag the item (\w+) then press Submit")
    body = (
        _AT
        + """
const [x, y] = shift(one("#area svg .black-shape"));
const went = { up: y < 0, down: y > 0, left: x < 0, right: x > 0 }[given.way];
return { score: went ? 1 : -1, moved: x !== 0 || y !== 0, went };
"""
    )
    return state_plan(body, {"way": way}, ["moved", "went"])


@page("drag-shapes")
def shapes_into_box(instance: Instance) -> PagePlan:
    """All shapes of a kind are put into a box, and no other."""
    (kind,) = instance.find(r"Drag all (\w+) into the black box")
    body = (
        _AT
        + """
const frame = one("#shape-container");
const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => number(frame, name));
const box = { x, y, width, height };
const shapes = all("#area_svg > *").filter((node) => node !== frame);
const own = shapes.filter((node) => node.tagName === given.tag), inside = own.filter((node) => within(node, box));
const clean = shapes.every((node) => node.tagName === given.tag || !within(node, box));
const every = inside.length === own.length;
return { score: every && clean ? 1 : -1, one: inside.length > 0 && clean, every: every && clean };
"""
    )
    return state_plan(body, {"tag": TAGS[kind]}, ["one", "every"])


@page("drag-shapes-2")
def shapes_into_boxes(instance: Instance) -> PagePlan:
    """Shapes are parted into two boxes, by kind or by colour; the page pays by how many are
    right."""
    (wanted,) = instance.find(r"Drag all (\w+)(?: shapes)? into the left box")
    boxes = [node for node in instance.all("#area_svg > rect") if attribute(node, "fill") == "none"]
    sides = [
        {name: float(attribute(node, name)) for name in ("x", "y", "width", "height")}
        for node in boxes
    ]
    given: JsonObject = {
        "tag": TAGS.get(wanted, ""),
        "color": wanted,
        "left": sides[0],
        "right": sides[1],
    }
    body = (
        _AT
        + """
const shapes = all("#area_svg > *").filter((node) => node.getAttribute("fill") !== "none");
const left = (node) => (given.tag ? node.tagName === given.tag : node.getAttribute("fill") === given.color);
const good = shapes.filter((node) => within(node, left(node) ? given.left : given.right)).length;
const score = Math.min(1, Math.max(-1, good * 0.26 - (shapes.length - good) * 0.2));
return { score, one: good >= 1, three: good >= 3, every: good === shapes.length };
"""
    )
    return state_plan(
        body, given, ["one", "three", "every"], tiers=[(0.38, 0.38), (0.84, 0.84), (1.0, 1.0)]
    )


@page("resize-textarea")
def resized(instance: Instance) -> PagePlan:
    """A text area is made wider, narrower, higher or lower than it was."""
    side, way = instance.find(r"so that the (\w+) is (\w+) than")
    sizes = dict(re.findall(r"(height|width): (\d+)px", attribute(instance.first("#tt"), "style")))
    body = """
const style = getComputedStyle(one("#tt")), now = parseFloat(given.side === "height" ? style.height : style.width);
const went = given.larger ? now > given.start : now < given.start;
return { score: went ? 1 : -1, moved: Math.abs(now - given.start) >= 1, went };
"""
    given: JsonObject = {"side": side, "larger": way == "larger", "start": int(sizes[side])}
    return state_plan(body, given, ["moved", "went"], click_condition(id="submit"))


@page("bisect-angle")
def bisected(instance: Instance) -> PagePlan:
    """A line through an angle's vertex halves it; the page pays by how nearly."""
    body = (
        _AT
        + """
const point = (node) => [number(node, "cx"), number(node, "cy")];
const angle = (a, b, v) => {
  const side = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]), [av, bv, ab] = [side(a, v), side(b, v), side(a, b)];
  return (Math.acos((bv * bv + av * av - ab * ab) / (2 * bv * av)) * 180) / Math.PI;
};
const [a, b] = all(".init-black").map(point), v = point(one(".init-blue")), drawn = one("#blue-circle");
if (!drawn) return { score: -1, drawn: false, between: false };
const c = point(drawn), whole = angle(a, b, v), parts = [angle(a, c, v), angle(b, c, v)], larger = Math.max(...parts);
const score = larger > whole ? -1 : (whole - larger) / (whole / 2);
return { score, drawn: true, between: larger <= whole, near: score > 0.5 };
"""
    )
    return state_plan(body, {}, ["drawn", "between", "near"], tiers=TWENTIETHS)


@page("daily-calendar")
def event(instance: Instance) -> PagePlan:
    """An event of some length is drawn into a day's hours and named."""
    length, unit, name, start, end = instance.find(
        r'^Create a ([\d.]+) (hours?|mins) event named "(.+)", between (\w+) and (\w+)\.$'
    )
    halves = float(length) * (2 if unit.startswith("hour") else 1 / 30)
    given: JsonObject = {
        "halves": round(halves),
        "name": name.lower(),
        "from": _half_hours(start),
        "to": _half_hours(end),
    }
    body = """
const made = one("#newEvent"), field = one("#event-name");
if (!made) return { score: -1, drawn: false, placed: false, named: false };
const first = Number(made.getAttribute("data-start")), length = Number(made.getAttribute("data-duration"));
const drawn = length === given.halves, placed = drawn && first + length >= given.from && first + length <= given.to;
const called = (field ? field.value : text(made)).toLowerCase() === given.name;
return { score: placed && called ? 1 : -1, drawn, placed, named: placed && called };
"""
    return state_plan(
        body, given, ["drawn", "placed", "named"], click_condition(role="button", name="Create")
    )


def _half_hours(clock: str) -> int:
    hour, half = int(clock[:-2]), clock[-2:].upper()
    return (hour % 12 + (12 if half == "PM" else 0)) * 2
