"""What an episode is made of: a task, what stands in its folder before, and ways through it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

NAMES = (
    "notes", "agenda", "letter", "budget", "minutes", "recipe", "travel", "garden", "orders",
    "schedule", "members", "report",
)  # fmt: skip
WORDS = (
    "amber", "river", "lantern", "copper", "meadow", "violin", "harbour", "pepper", "saddle",
    "window", "garden", "marble", "thunder", "basket", "candle", "forest",
)  # fmt: skip
PEOPLE = ("Ada", "Boris", "Clara", "Dmitri", "Elena", "Felix", "Greta", "Hugo", "Ines", "Jonas")
CITIES = ("Oslo", "Lima", "Cairo", "Quito", "Turin", "Porto", "Dakar", "Hanoi", "Perth", "Sofia")


Truth = Callable[[Path, str], bool]
"""Whether the folder and the answer are as a task asks."""


class Deed(NamedTuple):
    """One thing that the script does.

    ``verb`` is keys (press ``what``, several with spaces between), type, window (wait for a title,
    a regular expression), shell (run a command in the folder) or answer.
    """

    verb: str
    what: str


class Act(NamedTuple):
    """One step: what the harness says of it, and its deeds."""

    said: str
    deeds: tuple[Deed, ...]


@dataclass(frozen=True)
class Scene:
    """One task for one program. ``ways``: the right ones begin with ``right``."""

    program: str
    task: Mapping[str, Any]
    ways: Mapping[str, tuple[Act, ...]]
    succeeded: Truth
    """Whether the folder, and the answer, are as the task asks: looked at after the episode."""
    before: Mapping[str, str] = field(default_factory=dict)
    """Files of the folder before, by path, with their texts."""
    command: tuple[str, ...] = ()
    """The program that runs before the first step, in the folder."""
    title: str = ""
    """Its window's title, a regular expression."""


def keys(what: str) -> Act:
    """A step that presses keys."""
    return Act(f"press {what}", (Deed("keys", what),))


def typing(text: str, *before: str) -> Act:
    """A step that presses keys, then types a text."""
    pressed = tuple(Deed("keys", one) for one in before)
    return Act(f"type {text}", (*pressed, Deed("type", text)))


def shell(command: str) -> Act:
    """A step that runs a command in the folder, as a call of the tool ``shell``."""
    return Act(f"shell {command}", (Deed("shell", command),))


def answer(text: str) -> Act:
    """A step that answers."""
    return Act("answer", (Deed("answer", text),))


def task(
    name: str,
    seed: int,
    instruction: str,
    when: Mapping[str, Any],
    probed: Iterable[str] = (),
) -> dict[str, Any]:
    """A task whose goal is one condition that must hold at the end. ``probed``: files whose text is
    a probe, called p0, p1, ...; it is null while there is no such file."""
    probes = [
        {"id": f"p{at}", "file": {"root": "home", "path": path, "as": "text"}}
        for at, path in enumerate(probed)
    ]
    goal = {"id": "goal", "must_hold_at_end": True, "when": {"goal": {"when": dict(when)}}}
    made = {
        "id": f"desktop/{name}",
        "version": str(seed),
        "instruction": instruction,
        "weights": {"goal": 1},
        "milestones": [goal],
    }
    return made | ({"probes": probes} if probes else {})


def is_there(path: str) -> dict[str, Any]:
    """The condition that a file is there."""
    return {"file_matches": {"path": path}}


def none_of(*conditions: Mapping[str, Any]) -> dict[str, Any]:
    """The condition that none of these holds."""
    return {"none_of": {"of": list(conditions)}}


def all_of(*conditions: Mapping[str, Any]) -> dict[str, Any]:
    """The condition that all of these hold at once."""
    return {"all_of": {"holding": True, "of": list(conditions)}}


def make_gone(kept: Iterable[str]) -> dict[str, Any]:
    """The condition that the first probed file is make_gone, and that those behind it hold these
    texts."""
    others = [
        {"probe_answers": {"probe": f"p{at}", "value": {"contains": text.strip()}}}
        for at, text in enumerate(kept, 1)
    ]
    first = {"probe_answers": {"probe": "p0", "value": None}}
    return {"all_of": {"holding": True, "of": [first, *others]}}


def text_of(path: Path) -> str:
    """A file's text without spaces at its ends; an empty one where there is no such file."""
    return path.read_text(errors="replace").strip() if path.is_file() else ""


def holds_json(path: Path, wanted: object) -> bool:
    """Whether a file is JSON with this value."""
    try:
        return bool(json.loads(text_of(path)) == wanted)
    except ValueError:
        return False


def folder_scene(
    program: str,
    kind: str,
    seed: int,
    said: str,
    when: Mapping[str, Any],
    ways: dict[str, tuple[Act, ...]],
    before: dict[str, str],
    succeeded: Truth,
    probed: tuple[str, ...] = (),
) -> Scene:
    """Return a scene of one condition over the files of the folder. ``said``: the instruction."""
    made = task(f"{program}-{kind}", seed, said, when, probed)
    return Scene(program, made, ways, succeeded, before)
