"""Tasks for dialogs of zenity and yad: forms, lists, entries, scales. Their answer is a file."""

from __future__ import annotations

import random
import shlex
from pathlib import Path

from benchmarks.desktop.editors import misspelt
from benchmarks.desktop.scene import CITIES, PEOPLE, Act, Scene, keys, task, text_of, typing

DIALOGS = ("zenity", "yad")
ANSWER = "answer.txt"
TITLE = "Registration"
ENTER, ESCAPE = keys("Return"), keys("Escape")
STEP, START = 5, 30


def form(program: str, seed: int, draw: random.Random) -> Scene:
    """Two entries are filled in, and the form confirmed."""
    (name, other), (city, town) = draw.sample(PEOPLE, 2), draw.sample(CITIES, 2)
    fields = {
        "zenity": ("--forms", "--text=Guest", "--add-entry=Name", "--add-entry=City"),
        "yad": ("--form", "--text=Guest", "--field=Name", "--field=City", "--separator=|"),
    }[program]
    ways = {
        "right": (typing(name), typing(city, "Tab"), ENTER),
        "right-corrected": (typing(name + "k"), keys("BackSpace"), typing(city, "Tab"), ENTER),
        "near-cancelled": (typing(name), typing(city, "Tab"), ESCAPE),
        "near-open": (typing(name), typing(city, "Tab")),
        "near-swapped": (typing(city), typing(name, "Tab"), ENTER),
        "near-misspelt": (typing(name), typing(misspelt(city, draw), "Tab"), ENTER),
        "near-half": (typing(name), ENTER),
        "wrong-both": (typing(other), typing(town, "Tab"), ENTER),
        "wrong-one": (typing(name), typing(town, "Tab"), ENTER),
    }
    said = f'Fill in the form: the name is "{name}" and the city is "{city}". Then confirm it.'
    return _scene(program, "form", seed, said, fields, ways, f"{name}|{city}")


def entry(program: str, seed: int, draw: random.Random) -> Scene:
    """One text is entered."""
    city, other = draw.sample(CITIES, 2)
    ways = {
        "right": (typing(city), ENTER),
        "right-again": (typing(other), typing(city, "ctrl+a"), ENTER),
        "near-cancelled": (typing(city), ESCAPE),
        "near-misspelt": (typing(misspelt(city, draw)), ENTER),
        "near-both": (typing(f"{city} {other}"), ENTER),
        "wrong-text": (typing(other), ENTER),
        "wrong-empty": (ENTER,),
    }
    said = f'Enter the city "{city}" and confirm with OK.'
    return _scene(program, "entry", seed, said, ("--entry", "--text=City"), ways, city)


def choice(program: str, seed: int, draw: random.Random) -> Scene:
    """A row of a list is chosen."""
    cities = draw.sample(CITIES, 5)
    at = draw.randrange(1, 4)
    columns = ("--list", "--column=City", *cities)
    columns += ("--print-column=1", "--separator=") if program == "yad" else ()
    down = [keys("Down") for _ in range(at)]
    ways = {
        "right": (keys("Home"), *down, ENTER),
        "right-back": (keys("Home"), *down, keys("Down"), keys("Up"), ENTER),
        "near-cancelled": (keys("Home"), *down, ESCAPE),
        "near-row": (keys("Home"), *down, keys("Down"), ENTER),
        "near-open": (keys("Home"), *down),
        "wrong-first": (keys("Home"), ENTER),
        "wrong-last": (keys("End"), ENTER),
    }
    said = f'Choose "{cities[at]}" in the list and confirm the choice.'
    return _scene(program, "choice", seed, said, columns, ways, cities[at])


def scale(program: str, seed: int, draw: random.Random) -> Scene:
    """A scale is set to a value."""
    turns = draw.randint(2, 4)
    value = START + turns
    command = ("--scale", "--text=Volume", f"--value={START}", "--step=1")
    right = [keys("Right") for _ in range(turns)]
    ways = {
        "right": (*right, ENTER),
        "right-back": (*right, keys("Right"), keys("Left"), ENTER),
        "near-cancelled": (*right, ESCAPE),
        "near-less": (*right[1:], ENTER),
        "near-more": (*right, keys("Right"), ENTER),
        "wrong-same": (ENTER,),
        "wrong-way": (keys("Left"), keys("Left"), ENTER),
    }
    said = f"Set the volume to {value} and confirm it with OK."
    return _scene(program, "scale", seed, said, command, ways, str(value))


def _scene(
    program: str,
    kind: str,
    seed: int,
    said: str,
    options: tuple[str, ...],
    ways: dict[str, tuple[Act, ...]],
    wanted: str,
) -> Scene:
    """A dialog whose answer is written into a file if it is confirmed."""
    dialog = shlex.join([program, f"--title={TITLE}", *options])
    script = f'said=$({dialog}) && printf "%s\\n" "$said" > {ANSWER}'
    when = {"file_text": {"path": ANSWER, "text": {"one_of": [wanted, wanted + "|"]}}}

    def succeeded(folder: Path, answered: str) -> bool:
        return text_of(folder / ANSWER).rstrip("|") == wanted

    return Scene(
        program,
        task(f"{program}-{kind}", seed, said, when),
        ways,
        succeeded,
        {},
        ("sh", "-c", script),
        TITLE,
    )


KINDS = (form, entry, choice, scale)
