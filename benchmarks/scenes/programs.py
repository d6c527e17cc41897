"""Tasks for desktop programs beside those of `benchmarks.desktop`: editors, a file manager,
calculators."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from benchmarks.desktop import editors, managers
from benchmarks.desktop.scene import Act, Scene, keys

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
    return edit_with(command, make("mousepad", seed, draw))


def managing(make: Make, seed: int, draw: random.Random) -> Scene:
    """The same of a file manager, in which Return does not answer yes to its question."""
    confirm = YES if make is managers.deleting else managers.CONFIRM
    return manage_with((MANAGER,), make("pcmanfm", seed, draw), confirm)


def calculating(program: str, seed: int, draw: random.Random) -> Scene:
    """The same of a calculator."""
    return calculate_with(
        program, CALCULATORS[program], managers.calculating("galculator", seed, draw)
    )


def edit_with(command: tuple[str, ...], scene: Scene) -> Scene:
    """Return a scene of mousepad as one of the editor with this command."""
    renamed = rename_scene(scene, command[0])
    return replace(renamed, command=(*command, scene.command[-1]))


def manage_with(command: tuple[str, ...], scene: Scene, confirm: Act = managers.CONFIRM) -> Scene:
    """Return a scene of pcmanfm as one of the file manager with this command, in which ``confirm``
    answers yes."""
    renamed = rename_scene(scene, command[0])
    ways = {
        way: tuple(confirm if act == managers.CONFIRM else act for act in acts)
        for way, acts in scene.ways.items()
    }
    return replace(renamed, command=(*command, scene.command[-1]), ways=ways)


def calculate_with(program: str, title: str, scene: Scene) -> Scene:
    """Return a scene of galculator as one of the calculator whose window has this title."""
    return replace(rename_scene(scene, program), command=(program,), title=title)


def rename_scene(scene: Scene, program: str) -> Scene:
    """Return the scene as one of another program."""
    name = str(scene.task["id"]).replace(scene.program, program)
    return replace(scene, program=program, task={**scene.task, "id": name})
