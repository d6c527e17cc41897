"""Tasks for desktop programs that no earlier recording has: editors, a file manager, calculators,
and a spreadsheet, which is a kind of program of its own."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.desktop import editors, managers
from benchmarks.desktop.scene import CITIES, NAMES, Act, Scene, keys, task, typing

Make = Callable[[str, int, random.Random], Scene]
EDITORS: dict[str, tuple[tuple[str, ...], Make]] = {
    "geany": (("geany", "--new-instance", "--no-session", "--no-terminal"), editors.adding),
    "gnome-text-editor": (("gnome-text-editor", "--standalone"), editors.writing),
    "scite": (("scite",), editors.replacing),
}
"""Their commands, and what is done with each."""
MANAGER = "pcmanfm-qt"
CALCULATORS = {"mate-calc": "Calculator", "speedcrunch": "SpeedCrunch"}
SHEET = "gnumeric"
SAVE = (keys("ctrl+s"),)


def editing(program: str, seed: int, draw: random.Random) -> Scene:
    """What an editor that was recorded before did, done with one that was not."""
    command, make = EDITORS[program]
    scene = _rename(make("mousepad", seed, draw), "mousepad", program)
    return replace(scene, command=(*command, scene.command[-1]))


def managing(make: Make, seed: int, draw: random.Random) -> Scene:
    """The same of a file manager."""
    scene = _rename(make("pcmanfm", seed, draw), "pcmanfm", MANAGER)
    return replace(scene, command=(MANAGER, scene.command[-1]))


def calculating(program: str, seed: int, draw: random.Random) -> Scene:
    """The same of a calculator."""
    scene = _rename(managers.calculating("galculator", seed, draw), "galculator", program)
    return replace(scene, command=(program,), title=CALCULATORS[program])


def _rename(scene: Scene, old: str, program: str) -> Scene:
    """Return the scene as one of another program."""
    name = str(scene.task["id"]).replace(old, program)
    return replace(scene, program=program, task={**scene.task, "id": name})


def entering(seed: int, draw: random.Random) -> Scene:
    """A number is entered into a cell of a sheet, which is saved as it was opened."""
    name = f"{draw.choice(NAMES)}.csv"
    cities = draw.sample(CITIES, 3)
    numbers = [str(draw.randint(10, 99)) for _ in cities]
    at = draw.randrange(3)
    wanted, other = str(draw.randint(100, 499)), str(draw.randint(500, 999))
    table = [
        ["city", "guests"],
        *([city, number] for city, number in zip(cities, numbers, strict=True)),
    ]
    after = [list(row) for row in table]
    after[at + 1][1] = wanted
    ways = {
        "right": (*_put(at, wanted), *SAVE),
        "right-again": (*_put(at, other), *_put(at, wanted), *SAVE),
        "right-late": (*_put(at, other), *SAVE, *_put(at, wanted), *SAVE),
        "near-unsaved": _put(at, wanted),
        "near-row": (*_put((at + 1) % 3, wanted), *SAVE),
        "near-open": (*_put(at, wanted)[:-1],),
        "near-digit": (*_put(at, str(int(wanted) + 1)), *SAVE),
        "near-undone": (*_put(at, wanted), keys("ctrl+z"), *SAVE),
        "wrong-number": (*_put(at, other), *SAVE),
        "wrong-nothing": (keys("ctrl+Home"), *SAVE),
    }
    said = f"In {name}, set the guests of {cities[at]} to {wanted} and save the file."
    row = {"city": cities[at], "guests": {"number": int(wanted)}}
    when = {"table_cells": {"path": name, "format": "csv", "row": row}}

    def succeeded(folder: Path, answered: str) -> bool:
        with (folder / name).open(newline="") as file:
            return [row for row in csv.reader(file) if row] == after

    made = task(f"{SHEET}-entering", seed, said, when)
    before = {name: "".join(",".join(row) + "\n" for row in table)}
    return Scene(SHEET, made, ways, succeeded, before, (SHEET, "--no-splash", name), name)


def _put(at: int, text: str) -> tuple[Act, ...]:
    """Go to a row's second cell, type, confirm."""
    go = " ".join(["ctrl+Home", "Right", *["Down"] * (at + 1)])
    return keys(go), typing(text), keys("Return")
