"""Episodes drawn by a seed, of every kind of event that the features read: for recorded rows."""

from __future__ import annotations

import random
from typing import Any

from api.stages.model.words import plain
from detectors.model.types import Event, Milestone, Reward, Status
from tests.support.logs import Said, finished, log, sealed, went

INSTRUCTIONS = (
    'Enter the username "ada" and the password "x7", then press Submit.',
    "Find the mail by Bob and click the trash icon.",
    "Click on the olive box and then on the 2nd link.",
    "Select Ada, Bob and click Submit.",
    "Drag Ada to the 2nd place, copy 03/05/2010 and paste it into the 1st textbox.",
    'Check the last checkbox, enter "Amber Lamp" in upper case and search.',
    "Book a flight from Boston to San Diego on 03/05/2010 at 1:05 PM. Choose the cheapest.",
    'Find words that start with "am" and close the window: click x.',
    "Click the 2nd link and the last checkbox, and fill the 1st textbox.",
    "How many sides has the largest shape? Enter -5 or 12.",
    "",
)
NAMES = (
    "ada bob eve amber lamp boston olive trash submit search cancel close x username password"
    " first second 12 -5 x7 am save reply menu"
).split()
LINES = (
    "Ada Hello",
    "Bob Bye",
    "Username ada",
    "Colour blue",
    "Error: name is required",
    "Thank you, saved",
    "2010-03-05",
    "Boston, MA (BOS)",
    "Amber Lamp",
    "success",
)
VALUES: tuple[Any, ...] = (
    "ada", "Ada", "x7", "AMBER LAMP", "amber lamp", "am", "Boston, MA (BOS)", "2010-03-05", "-5",
    "12",  "blue", "", ["Ada", "Bob"], ["Bob", "Eve"], "nothing of it", "13:05",
)  # fmt: skip
ROLES = (
    "button", "link", "checkbox", "radio", "option", "textbox", "searchbox", "combobox", "listbox",
    "spinbutton", "generic", "img", "listitem",
)  # fmt: skip
TAGS = {"button": "button", "link": "a", "img": "span", "generic": "div", "listitem": "li"}
ACTIONS: tuple[Any, ...] = (
    None,
    "fill",
    {"verb": "type", "text": "x7"},
    {"verb": "set", "value": "ada"},
)


class Draw(random.Random):
    """A seed's draws; ``elements`` have appeared, ``names`` and ``roles`` are the page's."""

    def __init__(self, seed: int, names: list[str]) -> None:
        super().__init__(seed)
        self.elements: list[dict[str, Any]] = []
        self.names = names
        self.roles = [*ROLES, *(role for role in ROLES if role in names for _ in range(12))]
        self.fields = self.sample(names, 4)


def draw_episode(seed: int) -> tuple[str, list[Event], list[Reward]]:
    """Return instruction, log and some rewards of the episode with this seed."""
    instruction = INSTRUCTIONS[seed % len(INSTRUCTIONS)]
    draw = Draw(seed, [*NAMES, *2 * plain(instruction).split()])
    said: list[Said] = [("episode.opened", {"task": "t", "digest": "d"})]
    said.append(went("/", baseline=True))
    if draw.random() < 0.9:
        said.append(("text.appeared", _at(text=instruction, baseline=True)))
        said += [_draw_event(draw, baseline=True) for _ in range(draw.randrange(30))]
    steps, events = draw.randrange(1, 7), list[Said]()
    for step in range(steps):
        said.append(("step.began", {"step": step, "action": draw.choice(ACTIONS)}))
        if draw.random() < 0.8:  # else the same once more
            events = [_draw_event(draw) for _ in range(draw.choice((0, 1, 2, 4, 8, 12)))]
        said += events
        said += [("step.ended", {"step": step}), sealed(step)]
    if draw.random() < 0.7:
        said.append(("episode.closed", {"reason": "done"}))
    return instruction, log(*said), [_draw_reward(draw, step) for step in range(steps)]


def _draw_reward(draw: Draw, step: int) -> Reward:
    worths = [draw.choice((0.25, 0.1, -0.3, 0.0)) for _ in range(draw.randrange(3))]
    total = None if draw.random() < 0.2 else sum(worths)
    milestones = tuple(
        Milestone(f"m{n}", "step_sealed", 1, "goal", step, worth, worth, ())
        for n, worth in enumerate(worths)
    )
    status: Status = "sealed" if total is not None else "unobserved"
    return Reward(
        "ep_1", step, status, total, total is not None, None, {}, milestones, (), None, False,
        None, 1, "d",
    )  # fmt: skip


def _draw_element(draw: Draw) -> dict[str, Any]:
    if draw.elements and draw.random() < 0.7:
        return draw.choice(draw.elements)
    role = draw.choice(draw.roles)
    name = " ".join(draw.sample(draw.names, draw.choice((0, 1, 1, 1, 2, 3))))
    element = {"role": role, "name": name, "tag": TAGS.get(role, "input")}
    if draw.random() < 0.3:
        element["id"] = draw.choice(NAMES)
    if draw.random() < 0.2:
        element["type"] = draw.choice(("submit", "radio", "text"))
    return element


def _draw_event(draw: Draw, *, baseline: bool = False) -> Said:
    kinds = _DRAWS if not baseline else _AT_FIRST
    kind, data = draw.choice(kinds)(draw)
    return kind, {**data, "baseline": True} if baseline else data


def _at(**data: object) -> dict[str, Any]:
    return {"tab": "T", "frame": "T", **data}


def _appeared(draw: Draw) -> Said:
    element = _draw_element(draw)
    draw.elements.append(element)
    return "element.appeared", _at(element=element)


def _disappeared(draw: Draw) -> Said:
    return "element.disappeared", _at(element=_draw_element(draw))


def _text(draw: Draw) -> Said:
    lines = [*LINES, *(" ".join(draw.sample(draw.names, 3)) for _ in range(4))]
    lines += [value for value in VALUES if isinstance(value, str)]
    return "text.appeared", _at(text="\n".join(draw.sample(lines, draw.randrange(1, 4))))


def _text_gone(draw: Draw) -> Said:
    return "text.disappeared", _at(text=draw.choice(LINES))


def _click(draw: Draw) -> Said:
    icon = {"role": "img", "name": "", "tag": "span", "path": draw.choice("pqr")}
    element = icon if draw.random() < 0.2 else _draw_element(draw)
    data = _at(element=element, trusted=draw.random() < 0.95)
    if draw.random() < 0.4:
        data["around"] = draw.choice((*LINES, " ".join(draw.sample(draw.names, 3))))
    if draw.random() < 0.5:
        data["class"] = draw.choice(("trash", "btn-save olive", draw.choice(draw.names)))
        data["color"] = draw.choice(("#7f8001", "#0000ff", ""))
    return "element.clicked", data


def _double(draw: Draw) -> Said:
    return "element.double_clicked", _at(element=_draw_element(draw), trusted=True)


def _focus(draw: Draw) -> Said:
    return "element.focused", _at(element=_draw_element(draw), trusted=True)


def _hover(draw: Draw) -> Said:
    return "element.hovered", _at(element=_draw_element(draw), trusted=True)


def _drop(draw: Draw) -> Said:
    data = _at(element=_draw_element(draw), index=draw.randrange(4), trusted=True, by="pointer")
    if draw.random() < 0.5:
        data["target"] = _draw_element(draw)
    return "element.dropped", data


def _paste(draw: Draw) -> Said:
    return "text.pasted", _at(element=_draw_element(draw), trusted=True)


def _fill(draw: Draw) -> Said:
    role = draw.choice(("textbox", "checkbox", "listbox", "combobox", "spinbutton", "radio"))
    name = draw.choice(draw.fields)
    element = {"role": role, "name": name, "tag": "input", "type": draw.choice(("", "text"))}
    data = _at(field=f"#{name}", element=element, trusted=True)
    if role in ("checkbox", "radio"):
        return "field.filled", {**data, "value": None, "checked": draw.random() < 0.7}
    if draw.random() < 0.2:
        return "field.filled", {**data, "value": None, "has_value": True}
    return "field.filled", {**data, "value": draw.choice(VALUES)}


def _navigate(draw: Draw) -> Said:
    return went(draw.choice(("/", "/next", "/cart")), same_document=draw.random() < 0.8)


def _answer(draw: Draw) -> Said:
    return finished("POST", "/x", draw.choice((200, 204, 302, 404, 500)))


def _broken(draw: Draw) -> Said:
    return "request.failed", _at(url="http://shop.test/x", canceled=draw.random() < 0.5)


def _dialog(draw: Draw) -> Said:
    return "dialog.opened", _at(message=draw.choice(LINES))


def _download(draw: Draw) -> Said:
    return "download.began", _at(url="http://shop.test/x.csv")


def _tab(draw: Draw) -> Said:
    return "tab.opened", {"tab": "U", "url": "http://shop.test/"}


_AT_FIRST = (_appeared, _appeared, _text, _fill)
_DRAWS = (
    _appeared, _appeared, _disappeared, _text, _text_gone, _click, _click, _click, _click, _click, _double, _focus,
    _hover, _drop, _paste, _fill, _fill, _navigate, _answer, _broken, _dialog, _download,
    _tab,
)  # fmt: skip
