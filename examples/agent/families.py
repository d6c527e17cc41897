"""The families of pages, and their instances: one for each seed.

An instance's values fill the family's task, and its page is drawn from the same values. Training
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
ENTRIES = ("Reports", "Orders", "Users", "Mail", "March", "April", "June", "July", "Notes", "Stock")
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


def _form(seed: int, chance: random.Random) -> Instance:
    fields = chance.sample(FIELDS, 4)
    (field_1, field_2), (value_1, value_2) = chance.sample(fields, 2), chance.sample(VALUES, 2)
    buttons = chance.sample(BUTTONS, 3)
    button = chance.choice(buttons)
    view = [*(("textbox", name) for name in fields), *(("button", name) for name in buttons)]
    said = f"fill {field_1} with {value_1} , fill {field_2} with {value_2} , press {button}"
    values = {
        "field_1": field_1,
        "value_1": value_1,
        "field_2": field_2,
        "value_2": value_2,
        "button": button,
    }
    script = [(field_1, value_1), (field_2, value_2), (button, "")]
    return Instance("form", seed, said, values, [view], script)


def _boxes(seed: int, chance: random.Random) -> Instance:
    boxes, buttons = chance.sample(BOXES, 5), chance.sample(BUTTONS, 3)
    box_1, box_2 = chance.sample(boxes, 2)
    button = chance.choice(buttons)
    view = [*(("checkbox", name) for name in boxes), *(("button", name) for name in buttons)]
    said = f"check {box_1} , check {box_2} , press {button}"
    values = {"box_1": box_1, "box_2": box_2, "button": button}
    return Instance("boxes", seed, said, values, [view], [(box_1, ""), (box_2, ""), (button, "")])


def _menu(seed: int, chance: random.Random) -> Instance:
    entries, buttons = chance.sample(ENTRIES, 8), chance.sample(BUTTONS, 4)
    first, second = entries[:4], entries[4:]
    entry_1, entry_2, button = (chance.choice(names) for names in (first, second, buttons))
    views = [
        [("link", name) for name in first],
        [("link", name) for name in second],
        [("button", name) for name in buttons],
    ]
    said = f"open {entry_1} , open {entry_2} , press {button}"
    values = {"entry_1": entry_1, "entry_2": entry_2, "button": button}
    script = [(entry_1, ""), (entry_2, ""), (button, "")]
    return Instance("menu", seed, said, values, views, script)


FAMILIES: Mapping[str, Callable[[int, random.Random], Instance]] = {
    "form": _form,
    "boxes": _boxes,
    "menu": _menu,
}


def instance(family: str, seed: int) -> Instance:
    """Return the family's instance of a seed; the same seed gives the same one."""
    return FAMILIES[family](seed, random.Random(f"{family} {seed}"))


PAGE = """<!doctype html>
<html lang="en" data-told="DATA">
<meta charset="utf-8">
<title>Page</title>
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
