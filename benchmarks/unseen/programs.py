"""Tasks for desktop programs that no earlier recording has: editors, a file manager,
calculators."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from benchmarks.desktop import editors, managers
from benchmarks.desktop.scene import Scene, keys

Make = Callable[[str, int, random.Random], Scene]
EDITORS: dict[str, tuple[tuple[str, ...], Make]] = {
    "geany": (("geany", "--new-instance", "--no-session", "--no-terminal"), editors.adding),
    "gnome-text-editor": (("gnome-text-editor", "--standalone"), editors.writing),
    "scite": (("scite",), editors.replacing),
}
"""Their commands, and what is done with each."""
MANAGER = "pcmanfm-qt"
CALCULATORS = {"mate-calc": "Calculator", "speedcrunch": "SpeedCrunch"}
YES = keys("alt+y")


def editing(program: str, seed: int, draw: random.Random) -> Scene:
    """What an editor that was recorded before did, done with one that was not."""
    command, make = EDITORS[program]
    scene = _rename(make("mousepad", seed, draw), "mousepad", program)
    return replace(scene, command=(*command, scene.command[-1]))


def managing(make: Make, seed: int, draw: random.Random) -> Scene:
    """The same of a file manager, in which Return does not answer yes to its question."""
    scene = _rename(make("pcmanfm", seed, draw), "pcmanfm", MANAGER)
    ways = scene.ways
    if make is managers.deleting:
        ways = {
            way: tuple(YES if act == managers.CONFIRM else act for act in acts)
            for way, acts in ways.items()
        }
    return replace(scene, command=(MANAGER, scene.command[-1]), ways=ways)


def calculating(program: str, seed: int, draw: random.Random) -> Scene:
    """The same of a calculator."""
    scene = _rename(managers.calculating("galculator", seed, draw), "galculator", program)
    return replace(scene, command=(program,), title=CALCULATORS[program])


def _rename(scene: Scene, old: str, program: str) -> Scene:
    """Return the scene as one of another program."""
    name = str(scene.task["id"]).replace(old, program)
    return replace(scene, program=program, task={**scene.task, "id": name})
