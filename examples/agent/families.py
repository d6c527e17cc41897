"""The families of pages, and their instances: one for each seed.

A family is a page and a number of parts, what is to be done on it before its last button: `form-2`
has two fields to fill. An instance's values fill the family's task, and its page is drawn from the same values. Training
uses the seeds below `UNSEEN`, evaluation those from there on.
"""

from __future__ import annotations

import html
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

FIELDS = ("Name", "City", "Street", "Company", "Country", "Hobby", "Colour", "Pet")
VALUES = ("Anna", "Oslo", "Berlin", "Ben", "Chess", "Lima", "Green", "Otter", "Clara", "Rome")
BOXES = ("Red", "Blue", "White", "Black", "Pink", "Brown", "Gold", "Grey", "Silver", "Orange")
BUTTONS = ("Send", "Save", "Print", "Cancel", "Back", "Help")
ENTRIES = (
    *("Reports", "Orders", "Users", "Mail", "March", "April", "June", "July", "Notes", "Stock"),
    *("Teams", "Rooms", "Plans", "Goods", "Costs", "Files", "Tools", "Rules", "Tests", "Dates"),
)
SPARE = 3
"""After so many turns more than it needs an episode is cut off, unless something else is asked."""
POOLS = (FIELDS, VALUES, BOXES, BUTTONS, ENTRIES)
"""The names that may stand in each other's place; none is in two pools."""
UNSEEN = 1_000_000
"""The first seed of the instances that no training sees."""


@dataclass(frozen=True)
class Instance:
    """One page. ``values``: of the task's parameters; ``views``: each a list of (role, name);
    ``script``: the actions of a demonstration, by role, name and text."""

    family: str
    seed: int
    instruction: str
    values: Mapping[str, str]
    views: Sequence[Sequence[tuple[str, str]]]
    script: Sequence[tuple[str, str]]

    def page(self) -> bytes:
        """Return the page's HTML."""
        told = {
            "views": self.views,
            "wanted": self.script,
            "at": f"/{self.family}/{self.seed}",
        }
        data = html.escape(json.dumps(told), quote=True)
        return PAGE.replace("DATA", data).encode()


@dataclass(frozen=True)
class _Drawn:
    """What was drawn for an instance, but for its button: what the instruction says of each part,
    the task's values, and ``views`` and ``script`` as an instance has them."""

    told: Sequence[str]
    values: Mapping[str, str]
    views: Sequence[Sequence[tuple[str, str]]]
    script: Sequence[tuple[str, str]]
    buttons: Sequence[str]


def _form(parts: int, chance: random.Random) -> _Drawn:
    fields, buttons = chance.sample(FIELDS, parts + 2), chance.sample(BUTTONS, 3)
    wanted, values = chance.sample(fields, parts), chance.sample(VALUES, parts)
    view = [*(("textbox", name) for name in fields), *(("button", name) for name in buttons)]
    told = list(zip(wanted, values, strict=True))
    filled = {f"field_{n}": field for n, field in enumerate(wanted, 1)}
    filled |= {f"value_{n}": value for n, value in enumerate(values, 1)}
    return _Drawn([f"fill {f} with {v}" for f, v in told], filled, [view], told, buttons)


def _boxes(parts: int, chance: random.Random) -> _Drawn:
    boxes, buttons = chance.sample(BOXES, parts + 3), chance.sample(BUTTONS, 3)
    wanted = chance.sample(boxes, parts)
    view = [*(("checkbox", name) for name in boxes), *(("button", name) for name in buttons)]
    values = {f"box_{n}": box for n, box in enumerate(wanted, 1)}
    told = [(box, "") for box in wanted]
    return _Drawn([f"check {box}" for box in wanted], values, [view], told, buttons)


def _menu(parts: int, chance: random.Random) -> _Drawn:
    entries, buttons = chance.sample(ENTRIES, 4 * parts), chance.sample(BUTTONS, 4)
    levels = [entries[at : at + 4] for at in range(0, len(entries), 4)]
    wanted = [chance.choice(level) for level in levels]
    views = [[("link", name) for name in level] for level in levels]
    views.append([("button", name) for name in buttons])
    values = {f"entry_{n}": entry for n, entry in enumerate(wanted, 1)}
    told = [(entry, "") for entry in wanted]
    return _Drawn([f"open {entry}" for entry in wanted], values, views, told, buttons)


_DRAW: Mapping[str, Callable[[int, random.Random], _Drawn]] = {
    "form": _form,
    "boxes": _boxes,
    "menu": _menu,
}
PAGES = tuple(_DRAW)


def families(parts: int) -> list[str]:
    """Return the names of the families of so many parts, 1 to 5: `form-2`, …."""
    return [f"{page}-{parts}" for page in PAGES]


def split_name(family: str) -> tuple[str, int]:
    """Return a family's page and its number of parts."""
    page, _, parts = family.partition("-")
    return page, int(parts)


def instance(family: str, seed: int) -> Instance:
    """Return the family's instance of a seed; the same seed gives the same one."""
    page, parts = split_name(family)
    chance = random.Random(f"{family} {seed}")
    drawn = _DRAW[page](parts, chance)
    button = chance.choice(drawn.buttons)
    instruction = " , ".join([*drawn.told, f"press {button}"])
    values = {**drawn.values, "button": button}
    return Instance(family, seed, instruction, values, drawn.views, [*drawn.script, (button, "")])


PAGE = """<!doctype html>
<html lang="en" data-told="DATA">
<meta charset="utf-8">
<title>Page</title>
<link rel="icon" href="data:,">
<style>
  body { margin: 0; font: 14px sans-serif; }
  main > * { display: block; height: 26px; width: 300px; }
</style>
<main></main>
<script>
  const told = JSON.parse(document.documentElement.dataset.told);
  const main = document.querySelector("main");
  let view = 0;
  const makers = {
    textbox: (name) => {
      const label = document.createElement("label");
      label.append(name, " ", document.createElement("input"));
      return label;
    },
    checkbox: (name) => {
      const label = document.createElement("label"), box = document.createElement("input");
      box.type = "checkbox";
      label.append(box, " ", name);
      return label;
    },
    button: (name) => {
      const button = document.createElement("button");
      button.textContent = name;
      button.onclick = () => pressed(name);
      return button;
    },
    link: (name) => {
      const link = document.createElement("a");
      link.textContent = name;
      link.href = "#";
      link.onclick = (event) => { event.preventDefault(); opened(name); };
      return link;
    },
  };
  const show = () => main.replaceChildren(...told.views[view].map(([role, name]) => makers[role](name)));
  const opened = (name) => { if (told.wanted[view][0] === name) { view += 1; show(); } };
  const filled = () => {
    const wanted = new Map(told.wanted);
    return [...main.querySelectorAll("label")].every((label) => {
      const input = label.querySelector("input"), name = label.textContent.trim();
      const is = input.type === "checkbox" ? input.checked : input.value;
      const want = wanted.has(name) ? wanted.get(name) || true : input.type === "checkbox" ? false : "";
      return is === want;
    });
  };
  const pressed = (name) => {
    const right = told.wanted.at(-1)[0] === name && filled();
    history.pushState(null, "", told.at + (right ? "/right" : "/wrong"));
    main.replaceChildren();
  };
  show();
</script>
</html>
"""
