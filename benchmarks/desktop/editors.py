"""Tasks for text editors: a line is added, a text written, saved under another name, replaced."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.desktop.scene import NAMES, WORDS, Act, Scene, keys, task, text_of, typing

EDITORS: dict[str, tuple[str, ...]] = {
    "mousepad": ("mousepad", "--disable-server"),
    "gedit": ("gedit", "--standalone"),
    "featherpad": ("featherpad", "--standalone"),
    "pluma": ("pluma",),
    "l3afpad": ("l3afpad",),
}
SAVE = keys("ctrl+s")


def misspelt(text: str, draw: random.Random) -> str:
    """The text with one letter left out, doubled or exchanged."""
    at = draw.randrange(1, len(text) - 1)
    changed = draw.choice(("", text[at] * 2, "q"))
    return text[:at] + changed + text[at + 1 :]


def phrase(draw: random.Random) -> str:
    """A few words, as a user would write them."""
    return " ".join(draw.sample(WORDS, draw.randint(2, 4))).capitalize()


def adding(program: str, seed: int, draw: random.Random) -> Scene:
    """A line is added to the end of a file."""
    name, first, wanted, other = f"{draw.choice(NAMES)}.txt", *(phrase(draw) for _ in range(3))
    whole = f"{first}\n{wanted}"
    end = "ctrl+End"
    ways = {
        "right": (typing(wanted, end), SAVE),
        "right-corrected": (typing(wanted + "x", end), keys("BackSpace"), SAVE),
        "right-twice": (typing(wanted, end), SAVE, SAVE),
        "near-unsaved": (typing(wanted, end),),
        "near-misspelt": (typing(misspelt(wanted, draw), end), SAVE),
        "near-cut": (typing(wanted.rsplit(" ", 1)[0], end), SAVE),
        "near-undone": (typing(wanted, end), SAVE, keys("BackSpace BackSpace"), SAVE),
        "near-question": (typing(wanted, end), keys("ctrl+w"), keys("Escape")),
        "near-start": (typing(wanted, "ctrl+Home"), SAVE),
        "wrong-text": (typing(other, end), SAVE),
        "wrong-all": (typing(wanted, "ctrl+a"), SAVE),
        "wrong-nothing": (keys(end), SAVE),
    }
    said = f'Add the line "{wanted}" to the end of {name} and save the file.'
    when = {"file_text": {"path": name, "text": whole}}
    return _scene(program, "adding", seed, said, when, name, first + "\n", ways, whole)


def writing(program: str, seed: int, draw: random.Random) -> Scene:
    """A text is written into an empty file."""
    name, wanted, other = f"{draw.choice(NAMES)}.txt", phrase(draw), phrase(draw)
    ways = {
        "right": (typing(wanted), SAVE),
        "right-again": (typing(other), typing(wanted, "ctrl+a"), SAVE),
        "right-late": (typing(misspelt(wanted, draw)), SAVE, typing(wanted, "ctrl+a"), SAVE),
        "near-unsaved": (typing(wanted),),
        "near-misspelt": (typing(misspelt(wanted, draw)), SAVE),
        "near-case": (typing(wanted.upper()), SAVE),
        "near-more": (typing(f"{wanted} {other.split()[0].lower()}"), SAVE),
        "near-emptied": (typing(wanted), SAVE, keys("ctrl+a BackSpace"), SAVE),
        "near-early": (typing(wanted[:4]), SAVE, typing(wanted[4:])),
        "wrong-text": (typing(other), SAVE),
        "wrong-nothing": (SAVE,),
    }
    said = f'Write "{wanted}" into the empty document {name} and save it.'
    when = {"file_text": {"path": name, "text": wanted}}
    return _scene(program, "writing", seed, said, when, name, "", ways, wanted)


def naming(program: str, seed: int, draw: random.Random) -> Scene:
    """A file is saved under another name."""
    one, two, three = draw.sample(NAMES, 3)
    name, wanted, other = f"{one}.txt", f"{two}.txt", f"{three}.txt"
    text = phrase(draw)
    dialog = "ctrl+shift+s"
    ways = {
        "right": _saving_as(wanted),
        "right-escaped": (keys(dialog), keys("Escape"), *_saving_as(wanted)),
        "near-cancelled": (keys(dialog), typing(wanted, "ctrl+a"), keys("Escape")),
        "near-open": (keys(dialog), typing(wanted, "ctrl+a")),
        "near-misspelt": _saving_as(misspelt(two, draw) + ".txt"),
        "near-edited": (typing("x"), *_saving_as(wanted)),
        "wrong-name": _saving_as(other),
        "wrong-saved": (SAVE,),
    }
    said = f"Save a copy of {name} under the name {wanted}, with the same text."
    when = {"file_text": {"path": wanted, "text": text}}
    made = _scene(program, "naming", seed, said, when, name, text + "\n", ways, text)

    def succeeded(folder: Path, answered: str) -> bool:
        return text_of(folder / wanted) == text

    return Scene(
        made.program, made.task, made.ways, succeeded, made.before, made.command, made.title
    )


def replacing(program: str, seed: int, draw: random.Random) -> Scene:
    """The whole text of a file is replaced."""
    name, old, wanted = f"{draw.choice(NAMES)}.txt", phrase(draw), phrase(draw)
    ways = {
        "right": (keys("ctrl+a"), typing(wanted), SAVE),
        "right-cleared": (keys("ctrl+a Delete"), typing(wanted), SAVE),
        "near-beside": (typing(wanted), SAVE),
        "near-unsaved": (keys("ctrl+a"), typing(wanted)),
        "near-undone": (typing(wanted, "ctrl+a"), SAVE, keys("ctrl+z ctrl+z ctrl+z"), SAVE),
        "near-misspelt": (typing(misspelt(wanted, draw), "ctrl+a"), SAVE),
        "wrong-emptied": (keys("ctrl+a Delete"), SAVE),
        "wrong-nothing": (keys("ctrl+a"), keys("Right")),
    }
    said = f'Replace the whole text of {name} by "{wanted}" and save it.'
    when = {"file_text": {"path": name, "text": wanted}}
    return _scene(program, "replacing", seed, said, when, name, old + "\n", ways, wanted)


def _saving_as(name: str) -> tuple[Act, ...]:
    return keys("ctrl+shift+s"), typing(name, "ctrl+a"), keys("Return")


def _scene(
    program: str,
    kind: str,
    seed: int,
    said: str,
    when: Mapping[str, Any],
    name: str,
    before: str,
    ways: dict[str, tuple[Act, ...]],
    wanted: str,
) -> Scene:
    """A scene of one file, in which that file must hold the wanted text at the end."""

    def succeeded(folder: Path, answered: str) -> bool:
        return text_of(folder / name) == wanted

    return Scene(
        program,
        task(f"{program}-{kind}", seed, said, when),
        ways,
        succeeded,
        {name: before},
        (*EDITORS[program], name),
        name.removesuffix(".txt"),
    )


KINDS = (adding, writing, naming, replacing)
