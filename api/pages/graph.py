"""A task's milestones as a graph: what comes after what, what needs what, in columns from left to
right (pure)."""

from __future__ import annotations

from typing import NamedTuple

from detectors.task.ruleset import Ruleset

BOX, TALL, ACROSS, DOWN, EDGE = 200.0, 58.0, 268.0, 74.0, 12.0
"""A box's width and height, and from one box to the next, across and down; the margin."""


class Box(NamedTuple):
    """One milestone; ``place`` is its number in the task."""

    place: int
    id: str
    component: str
    worth: float
    x: float
    y: float


class Arrow(NamedTuple):
    """``kind``: after, before, requires or gate; ``path`` is an SVG path's."""

    kind: str
    start: str
    end: str
    path: str


class Graph(NamedTuple):
    """Boxes in the task's order."""

    boxes: list[Box]
    arrows: list[Arrow]
    width: float
    height: float


def graph(rules: Ruleset) -> Graph:
    """The graph of a compiled task; a milestone stands to the right of all that it comes after or
    needs."""
    links = _links(rules)
    columns = _columns(len(rules.task.milestones), links)
    rows: dict[int, int] = {}
    boxes = []
    for place, spec in enumerate(rules.task.milestones):
        column = columns[place]
        row = rows[column] = rows.get(column, -1) + 1
        boxes.append(
            Box(
                place,
                spec.id,
                spec.component,
                rules.share[place],
                EDGE + column * ACROSS,
                EDGE + row * DOWN,
            )
        )
    arrows = [
        Arrow(kind, boxes[a].id, boxes[b].id, _path(boxes[a], boxes[b]))
        for a, b, kind in sorted(links)
    ]  # fmt: skip
    width = EDGE * 2 + BOX + ACROSS * max(columns, default=0)
    return Graph(boxes, arrows, width, EDGE * 2 + TALL + DOWN * max(rows.values(), default=0))


def _links(rules: Ruleset) -> set[tuple[int, int, str]]:
    """(from, to, kind) by the places of milestones; where two kinds say the same, the one that a
    task says first."""
    found: dict[tuple[int, int], str] = {}
    for place, spec in enumerate(rules.task.milestones):
        for name in spec.after:
            found.setdefault((rules.index[name], place), "after")
        for name in spec.before:
            found.setdefault((place, rules.index[name]), "before")
    for node in rules.nodes:
        for needed in node.requires:
            found.setdefault((needed, node.owner), "gate" if node.role == "only_if" else "requires")
    return {(a, b, kind) for (a, b), kind in found.items() if a != b}


def _columns(many: int, links: set[tuple[int, int, str]]) -> list[int]:
    """The longest way to each; a circle, which a task can't have by `after` alone, ends after as
    many rounds."""
    columns = [0] * many
    for _ in range(many):
        before = list(columns)
        for a, b, _kind in links:
            columns[b] = min(max(columns[b], columns[a] + 1), many - 1)
        if columns == before:
            break
    return columns


def _path(a: Box, b: Box) -> str:
    left, above, right, below = a.x + BOX, a.y + TALL / 2, b.x - 7, b.y + TALL / 2
    bend = max(24.0, abs(right - left) / 2)
    return (
        f"M{left:g} {above:g}C{left + bend:g} {above:g} {right - bend:g} {below:g} {right:g}"
        f" {below:g}"
    )
