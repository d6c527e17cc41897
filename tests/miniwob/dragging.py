"""Pages on which something is dragged, drawn or resized."""

from __future__ import annotations

import re

from playwright.sync_api import Page

from tests.miniwob.script import (
    SUBMIT,
    Act,
    Script,
    Table,
    at,
    click,
    drag,
    entry,
    fill,
    query,
    said,
)

PAGES: Table = {}


def _middle(page: Page, target: str) -> tuple[float, float]:
    box = page.locator(target).first.bounding_box()
    assert box is not None, target
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def _onto(page: Page, source: str, target: str, dx: float = 0, dy: float = 0) -> Act:
    (x, y), (to_x, to_y) = _middle(page, source), _middle(page, target)
    return drag(source, (to_x - x + dx, to_y - y + dy))


@entry(PAGES, "drag-box")
def box(page: Page) -> Script:
    """A small box into the middle of a large one; half over its edge misses."""
    small, large = "#draggableSmall", "#draggableLarge"
    return Script([_onto(page, small, large), SUBMIT], [_onto(page, small, large, 30), SUBMIT])


@entry(PAGES, "drag-cube")
def cube(page: Page) -> Script:
    """A cube is turned until the right side is in front; another side misses."""
    wanted = said(page)[0]
    turn = Act("turn", ".viewport", wanted)
    other = "2" if wanted != "2" else "3"
    return Script([turn, SUBMIT], [turn._replace(text=other), SUBMIT])


@entry(PAGES, "drag-items-grid")
def grid(page: Page) -> Script:
    """A name into another place; the neighbour misses."""
    name, where = re.findall(r"^Drag (\S+) (.+)\.$", query(page))[0]
    names = page.locator("#sortable li").all_inner_texts()
    start = names.index(name)
    by_one = {"up by one": -3, "down by one": 3, "left by one": -1, "right by one": 1}
    rows = {"top": 0, "bottom": 6}
    words = where.removeprefix("to the ").split()
    if where in by_one:
        target = start + by_one[where]
    else:
        row = next((rows[word] for word in words if word in rows), 3)
        target = row + (0 if "left" in words else 2 if "right" in words else 1)
    other = next(
        n for n in (target + 1, target - 1, target + 2, target - 2) if 0 <= n < 9 and n != start
    )
    acts = []
    for place in (target, other):
        act = _onto(page, f"#sortable li >> nth={start}", f"#sortable li >> nth={place}")
        x, y = map(float, act.text.split(","))
        acts.append(
            drag(
                act.target,
                (x / 2, y / 2),
                (x * 0.9, y * 0.9),
                (x + (14 if place > start else -14), y),
            )
        )
    return Script([acts[0]], [acts[1]])


@entry(PAGES, "drag-sort-numbers")
def sorting(page: Page) -> Script:
    """Four numbers, each put into its place from the top; the last one left out misses."""
    item = "#sortable li"
    acts = list[Act]()
    for place in range(3):
        numbers = [int(text) for text in page.locator(f"{item} div").all_inner_texts()]
        lowest = min(range(place, 4), key=numbers.__getitem__)
        if lowest == place:
            continue
        act = _onto(page, f"{item} >> nth={lowest}", f"{item} >> nth={place}", 0, -8)
        act.perform(page)
        acts.append(act)
    return Script([*acts, SUBMIT], [*acts[:-1], SUBMIT])


@entry(PAGES, "drag-single-shape")
def single(page: Page) -> Script:
    """A shape is moved one way; the other way misses."""
    (way,) = re.findall(r"item (\w+) then", query(page))
    x, y = {"up": (0, -25), "down": (0, 25), "left": (-25, 0), "right": (25, 0)}[way]
    return Script(
        [Act("drag", ".black-shape", f"{x},{y}"), SUBMIT],
        [Act("drag", ".black-shape", f"{-x},{-y}"), SUBMIT],
    )


SHAPES = """() => [...document.querySelectorAll('#area_svg > *')].map((node, n) => {
  const box = node.getBoundingClientRect(), own = node.getBBox();
  return {n, tag: node.tagName, fill: node.getAttribute('fill'), id: node.id, x: box.x + box.width / 2,
          y: box.y + box.height / 2, left: box.x, top: box.y, width: own.width, height: own.height};
})"""
KINDS = {"rectangles": "rect", "circles": "circle", "triangles": "polygon"}


def _into(shape: dict[str, float], box: dict[str, float], n: int) -> Act:
    """Into the box, the n-th beside the others."""
    x, y = box["left"] + 14 + 12 * (n % 4), box["top"] + 14 + 12 * (n // 4)
    return Act(
        "drag", f"#area_svg > * >> nth={shape['n']}", f"{x - shape['x']:g},{y - shape['y']:g}"
    )


@entry(PAGES, "drag-shapes")
def shapes(page: Page) -> Script:
    """All of a kind into a box; another one too, or none, misses."""
    (kind,) = re.findall(r"Drag all (\w+) into", query(page))
    drawn = page.evaluate(SHAPES)
    box = next(one for one in drawn if one["id"])
    own = [one for one in drawn if one["tag"] == KINDS[kind] and not one["id"]]
    others = [one for one in drawn if one["tag"] != KINDS[kind]]
    right = [_into(one, box, n) for n, one in enumerate(own)]
    wrong = [*right, _into(others[0], box, 5)] if others else right[:-1]
    return Script([*right, SUBMIT], [*wrong, SUBMIT])


@entry(PAGES, "drag-shapes-2")
def parted(page: Page) -> Script:
    """Shapes parted into two boxes; with one in the wrong box the page pays less."""
    (wanted,) = re.findall(r"Drag all (\w+)", query(page))
    drawn = page.evaluate(SHAPES)
    left, right_box = (one for one in drawn if one["id"])
    own = [one for one in drawn if not one["id"]]
    tag = KINDS.get(wanted)
    first = [one["tag"] == tag if tag else one["fill"] == wanted for one in own]
    right = [
        _into(one, left if is_it else right_box, n)
        for n, (one, is_it) in enumerate(zip(own, first, strict=True))
    ]
    wrong = [_into(own[0], right_box if first[0] else left, 0), *right[1:]]
    return Script([*right, SUBMIT], [*wrong, SUBMIT])


@entry(PAGES, "resize-textarea")
def resize(page: Page) -> Script:
    """A text area by its handles; the other way misses."""
    side, way = re.findall(r"the (\w+) is (\w+) than", query(page))[0]
    by = 15 if way == "larger" else -15
    handle = ".ui-resizable-e" if side == "width" else ".ui-resizable-s"
    right, wrong = (
        Act("drag", handle, f"{x if side == 'width' else 0},{0 if side == 'width' else x}")
        for x in (by, -by)
    )
    return Script([right, click("#submit")], [wrong, click("#submit")])


BISECT = """() => {
  const at = (node) => [Number(node.getAttribute('cx')), Number(node.getAttribute('cy'))];
  const [a, b] = [...document.querySelectorAll('.init-black')].map(at), v = at(document.querySelector('.init-blue'));
  const angle = (p, q) => {
    const d = (s, t) => Math.hypot(s[0] - t[0], s[1] - t[1]);
    return Math.acos((d(p, v) ** 2 + d(q, v) ** 2 - d(p, q) ** 2) / (2 * d(p, v) * d(q, v)));
  };
  let best = [-2, 0, 0], half = [2, 0, 0];
  for (let x = 6; x < 145; x++) for (let y = 6; y < 125; y++) {
    if (Math.hypot(x - v[0], y - v[1]) < 12) continue;
    const larger = Math.max(angle(a, [x, y]), angle(b, [x, y])), score = (angle(a, b) - larger) / (angle(a, b) / 2);
    if (score > best[0]) best = [score, x, y];
    if (Math.abs(score - 0.5) < Math.abs(half[0] - 0.5)) half = [score, x, y];
  }
  return [best, half];
}"""


@entry(PAGES, "bisect-angle")
def bisect(page: Page) -> Script:
    """A line that halves the angle; one that is half right is paid half."""
    best, half = page.evaluate(BISECT)
    own = page.locator("#svg-grid").bounding_box()
    assert own is not None
    # The page draws where the pointer is in the window, 50 pixels up, wherever its drawing begins.
    right, wrong = (at("#svg-grid", x - own["x"], y + 50 - own["y"]) for _, x, y in (best, half))
    return Script([right, SUBMIT], [wrong, SUBMIT])


@entry(PAGES, "daily-calendar")
def event(page: Page) -> Script:
    """An event is drawn over free half hours and named; one that is half an hour too long
    misses."""
    length, unit, name, start, end = re.findall(
        r'a ([\d.]+) (hours?|mins) event named "(.+)", between (\w+) and (\w+)', query(page)
    )[0]
    halves = round(float(length) * 2 if unit.startswith("hour") else float(length) / 30)
    first, last = (int(t[:-2]) % 12 * 2 + (24 if t.endswith("PM") else 0) for t in (start, end))
    page.locator(f"#hh-{first}").scroll_into_view_if_needed()
    free = [n for n in range(first, last) if not _covered(page, n)]
    begin = next(
        n for n in free if all(m in free for m in range(n, n + halves + 1)) and n + halves < last
    )

    def make(many: int) -> list[Act]:
        named = [fill("#event-name", name), click("#controls .create")]
        return [
            Act(
                "drag", f"#hh-{begin}", " ".join(f"0,{y}" for y in range(2, 20 * (many - 1) + 6, 4))
            ),
            *named,
        ]

    return Script(make(halves), make(halves + 1))


def _covered(page: Page, n: int) -> bool:
    _, y = _middle(page, f"#hh-{n}")
    code = "e => [e.getBoundingClientRect().top, e.getBoundingClientRect().bottom]"
    tops = page.evaluate(f"() => [...document.querySelectorAll('.event')].map({code})")
    return any(top - 12 <= y <= bottom + 12 for top, bottom in tops)
