"""Tasks for desktop programs that no recording of `benchmarks.scenes` or `benchmarks.desktop` has."""

from __future__ import annotations

import random
from dataclasses import replace

from benchmarks.desktop import editors, managers
from benchmarks.desktop.scene import Scene, keys
from benchmarks.scenes.programs import Make, calculate_with, edit_with, manage_with

EDITORS: dict[str, tuple[tuple[str, ...], tuple[Make, ...]]] = {
    "bluefish": (("bluefish", "--newwindow"), (editors.replacing,)),
}
"""Their commands, and what is done with each."""
MANAGERS: dict[str, tuple[str, ...]] = {
    "caja": ("caja", "--no-desktop", "--browser", "--geometry=1100x700"),
    "nemo": ("nemo", "--geometry=1100x700"),
}
"""Their commands: windows so wide that the icons stand in one row."""
CALCULATORS = {"qalculate-gtk": "Qalculate"}
LOOK = keys("ctrl+Home ctrl+End")
WAIT = (keys("Escape"), keys("Home"))


def editing(program: str, make: Make, seed: int, draw: random.Random) -> Scene:
    """What an editor that was recorded before did, done with one that was not; then a look at what it
    shows, since it may write a file after the step that saves it."""
    scene = edit_with(EDITORS[program][0], make("mousepad", seed, draw))
    return replace(scene, ways={way: (*acts, LOOK) for way, acts in scene.ways.items()})


def managing(program: str, make: Make, seed: int, draw: random.Random) -> Scene:
    """The same of a file manager, which is given keys that change nothing until it shows its icons."""
    scene = manage_with(MANAGERS[program], make("pcmanfm", seed, draw))
    return replace(scene, ways={way: (*WAIT, *acts) for way, acts in scene.ways.items()})


def calculating(program: str, seed: int, draw: random.Random) -> Scene:
    """The same of a calculator."""
    scene = managers.calculating("galculator", seed, draw)
    return calculate_with(program, CALCULATORS[program], scene)
