"""What a click says of an element beside its name: class, colour and surroundings, as words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from api.stages.model.screen import EventData
from api.stages.model.words import STOP, Goal, plain

COLORS: Mapping[str, tuple[int, int, int]] = {
    "black": (0, 0, 0), "white": (255, 255, 255), "red": (255, 0, 0), "lime": (0, 255, 0),
    "blue": (0, 0, 255), "yellow": (255, 255, 0), "cyan": (0, 255, 255), "aqua": (0, 255, 255),
    "magenta": (255, 0, 255), "fuchsia": (255, 0, 255), "grey": (128, 128, 128),
    "gray": (128, 128, 128), "maroon": (128, 0, 0), "olive": (128, 128, 0), "green": (0, 128, 0),
    "purple": (128, 0, 128), "teal": (0, 128, 128), "navy": (0, 0, 128), "orange": (255, 165, 0),
    "pink": (255, 192, 203), "violet": (238, 130, 238), "brown": (165, 42, 42),
}  # fmt: skip
BESIDE = 4
"""Words that stand beside an icon, at most, to be taken for its name."""
_COLOR = len("#rrggbb")
_PART = re.compile(r"[A-Z]?[a-z]+|[0-9]+")


def looks(click: EventData) -> frozenset[str]:
    """Return the words of the element's class and the names of its colour."""
    color = str(click.get("color") or "")
    return _looks(str(click.get("class") or "")[:200], color if len(color) == _COLOR else "")


@lru_cache(maxsize=1024)
def _looks(classes: str, color: str) -> frozenset[str]:
    return frozenset(part.lower() for part in _PART.findall(classes)) | _color_names(color)


def _color_names(color: str) -> frozenset[str]:
    """Return the names of the nearest colour; none for what is no #rrggbb."""
    if not re.fullmatch(r"#[0-9a-f]{6}", color):
        return frozenset()
    own = [int(color[at : at + 2], 16) for at in (1, 3, 5)]
    distances = {
        name: sum((a - b) ** 2 for a, b in zip(own, other, strict=True))
        for name, other in COLORS.items()
    }
    least = min(distances.values())
    return frozenset(name for name, distance in distances.items() if distance == least)


def label(click: EventData) -> str:
    """Return the few words beside a nameless element; an empty text where there are more."""
    text = plain(str(click.get("around") or ""))
    return text if len(text.split()) <= BESIDE else ""


def agrees(click: EventData, goal: Goal) -> bool:
    """Whether the goal has a word of how the element looks."""
    return bool((looks(click) - STOP) & goal.words)


def around(click: EventData, goal: Goal) -> frozenset[str] | None:
    """Return the words of what the element stands in, without the instruction; None where that is
    not known."""
    around = click.get("around")
    if around is None:
        return None
    text = f" {plain(str(around))} ".replace(goal.text, " ")
    return frozenset(text.split())
