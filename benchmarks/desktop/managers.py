"""Tasks for file managers (a file is renamed, deleted, duplicated) and for calculators."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from benchmarks.desktop.editors import misspelt, phrase
from benchmarks.desktop.scene import (
    NAMES,
    Act,
    Scene,
    answer,
    folder_scene,
    keys,
    make_gone,
    task,
    text_of,
    typing,
)  # fmt: skip

MANAGERS = {"pcmanfm": ("pcmanfm",), "thunar": ("thunar",)}
CALCULATORS = {"gnome-calculator": "Calculator", "galculator": "galculator"}
FOLDER = "shelf"
CONFIRM = keys("Return")


def _files(draw: random.Random) -> tuple[list[str], dict[str, str]]:
    """Three files, in the order in which a manager shows them, and their texts."""
    names = sorted(f"{name}.txt" for name in draw.sample(NAMES, 3))
    return names, {f"{FOLDER}/{name}": phrase(draw) + "\n" for name in names}


def _select(at: int) -> tuple[Act, ...]:
    """Select one of the icons by the keyboard."""
    return (keys("Home"), *(keys("Right") for _ in range(at)))


def renaming(program: str, seed: int, draw: random.Random) -> Scene:
    """A file is renamed."""
    names, before = _files(draw)
    at = draw.randrange(3)
    taken = {name.removesuffix(".txt") for name in names}
    new, other = draw.sample([name for name in NAMES if name not in taken], 2)
    chosen, beside = _select(at), _select((at + 1) % 3)
    ways = {
        "right": (*chosen, keys("F2"), typing(f"{new}.txt", "ctrl+a"), CONFIRM),
        "right-escaped": (
            *chosen, keys("F2"), keys("Escape"), keys("F2"),
            typing(f"{new}.txt", "ctrl+a"), CONFIRM,
        ),
        "near-cancelled": (*chosen, keys("F2"), typing(f"{new}.txt", "ctrl+a"), keys("Escape")),
        "near-misspelt": (
            *chosen, keys("F2"), typing(f"{misspelt(new, draw)}.txt", "ctrl+a"), CONFIRM,
        ),
        "near-beside": (*beside, keys("F2"), typing(f"{new}.txt", "ctrl+a"), CONFIRM),
        "wrong-name": (*chosen, keys("F2"), typing(f"{other}.txt", "ctrl+a"), CONFIRM),
        "wrong-nothing": (*chosen, keys("F2"), keys("Escape")),
    }  # fmt: skip
    old = names[at]
    said = f"Rename the file {old} to {new}.txt."
    new_path, old_path = f"{FOLDER}/{new}.txt", f"{FOLDER}/{old}"
    when = {"all_of": {"holding": True, "of": [
        {"file_matches": {"path": new_path}}, {"none_of": {"of": [{"file_matches": {"path": old_path}}]}},
    ]}}  # fmt: skip

    def succeeded(folder: Path, answered: str) -> bool:
        return text_of(folder / new_path) == before[old_path].strip() and not text_of(
            folder / old_path
        )

    scene = folder_scene(program, "renaming", seed, said, when, ways, before, succeeded)
    return _in_manager(scene)


def deleting(program: str, seed: int, draw: random.Random) -> Scene:
    """A file is deleted for good."""
    names, before = _files(draw)
    at = draw.randrange(3)
    chosen, beside = _select(at), _select((at + 1) % 3)
    delete = keys("shift+Delete")
    ways = {
        "right": (*chosen, delete, CONFIRM),
        "right-again": (*chosen, delete, keys("Escape"), delete, CONFIRM),
        "near-cancelled": (*chosen, delete, keys("Escape")),
        "near-beside": (*beside, delete, CONFIRM),
        "near-open": (*chosen, delete),
        "wrong-all": (keys("ctrl+a"), delete, CONFIRM),
        "wrong-nothing": chosen,
    }
    wanted = f"{FOLDER}/{names[at]}"
    said = f"Delete the file {names[at]} and no other one."

    def succeeded(folder: Path, answered: str) -> bool:
        return {path for path in before if not (folder / path).exists()} == {wanted}

    kept = sorted(path for path in before if path != wanted)
    when = make_gone(before[path] for path in kept)
    probed = (wanted, *kept)
    scene = folder_scene(program, "deleting", seed, said, when, ways, before, succeeded, probed)
    return _in_manager(scene)


def _in_manager(scene: Scene) -> Scene:
    """Return the scene with its file manager open on the folder."""
    return replace(scene, command=(*MANAGERS[scene.program], FOLDER), title=FOLDER)


def calculating(program: str, seed: int, draw: random.Random) -> Scene:
    """Two numbers are multiplied or added, and the result answered."""
    a, b = draw.randint(12, 79), draw.randint(3, 19)
    sign, word = draw.choice((("*", "times"), ("+", "plus")))
    result = a * b if sign == "*" else a + b
    other = a * (b + 1) if sign == "*" else a + b + 10
    sum_, off = f"{a}{sign}{b}", f"{a}{sign}{b + 1 if sign == '*' else b + 10}"
    ways = {
        "right": (typing(sum_), CONFIRM, answer(str(result))),
        "right-again": (typing(off), CONFIRM, typing(sum_, "Escape"), CONFIRM, answer(str(result))),
        "near-digit": (typing(sum_), CONFIRM, answer(str(result + 1))),
        "near-swapped": (typing(sum_), CONFIRM, answer(str(result)[::-1] + "0")),
        "near-other": (typing(off), CONFIRM, answer(str(other))),
        "near-silent": (typing(sum_), CONFIRM),
        "near-operand": (typing(sum_), CONFIRM, answer(str(a))),
        "wrong-guess": (typing(str(a)), answer(str(result + 7))),
        "wrong-nothing": (keys("Escape"), answer("done")),
    }
    said = f"Work out {a} {word} {b} with the calculator and answer with the result."
    when = {"answer_matches": {"text": {"number": result}}}

    def succeeded(folder: Path, answered: str) -> bool:
        return answered.strip() == str(result)

    made = task(f"{program}-calculating", seed, said, when)
    title = CALCULATORS[program]
    return Scene(program, made, ways, succeeded, {}, (program,), title)


KINDS = (renaming, deleting)
