"""Episodes of desktops, files and tools drawn by a seed, of every kind of event that their features
read: for recorded rows, and for bounds."""

from __future__ import annotations

import random
from typing import Any

from api.stages.model.desk import digest_of
from detectors.model.types import Event
from tests.support.logs import Said, log, sealed

INSTRUCTIONS = (
    'Add the line "Amber river" to the end of notes.txt and save it.',
    "Rename the file notes.txt to agenda.txt.",
    "Delete the file agenda.txt and no other one.",
    "In notes.txt, replace Oslo by Turin.",
    "Set the volume to 34 and confirm it with OK.",
    "Copy notes.txt into the folder backup.",
    "Work out 12 times 3 with the calculator and answer with the result.",
    "Turn on the dark style in the settings.",
    'Choose "Lima" in the list, write "Lima" into notes.txt, and start mousepad.',
)
TEXTS = (
    "Amber river", "amber river", "Copper\nAmber river", "Copper", "Oslo", "Turin", "In Turin\n",
    "In Oslo\n", "Lima", "36", "12*3", "", "Amber river saddle",
)  # fmt: skip
PATHS = ("notes.txt", "agenda.txt", "backup/notes.txt", "other.txt", ".notes.swp", "notes.txt~")
TITLES = ("notes.txt - Mousepad", "*notes.txt - Mousepad", "Settings", "Save changes?")
BUTTONS = ("OK", "Cancel", "Save", "Dark style", "Lima", "")


def draw_desk(seed: int, steps: int = 0) -> tuple[str, list[Event]]:
    """Return instruction and log of the episode with this seed; of so many steps, if any is given."""
    draw = random.Random(seed)
    instruction = INSTRUCTIONS[seed % len(INSTRUCTIONS)]
    said: list[Said] = [("episode.opened", {"task": "t", "digest": "d"})]
    said += [
        _present(draw),
        _present(draw),
        _read(draw, baseline=True),
        _probe(draw, baseline=True),
    ]
    said += [_text(draw, initial=True), _switch(draw, initial=True), _value(draw, initial=True)]
    for step in range(steps or draw.randrange(1, 7)):
        said.append(("step.began", {"step": step, "action": {"act": "type", "text": "x"}}))
        said += [draw.choice(_DRAWS)(draw) for _ in range(draw.choice((0, 2, 5, 12)))]
        said += [("step.ended", {"step": step}), sealed(step)]
    said += [draw.choice(_DRAWS)(draw), ("episode.closed", {"reason": "done"})]
    return instruction, log(*said)


def _window(draw: random.Random, **more: Any) -> dict[str, Any]:
    app = draw.choice(("mousepad", "settings"))
    return {"app": app, "window": f"{app}/{draw.choice('12')}", **more}


def _at_widget(draw: random.Random, **more: Any) -> dict[str, Any]:
    role = draw.choice(("text", "text", "entry", "label"))
    widget = {"role": role, "name": draw.choice(BUTTONS), "path": [0, draw.randrange(3)]}
    return _window(draw, widget=widget, **more)


def _open(draw: random.Random) -> Said:
    role = draw.choice(("frame", "frame", "dialog", "alert"))
    return "window.opened", _window(draw, role=role, title=draw.choice(TITLES))


def _retitle(draw: random.Random) -> Said:
    return "window.title_changed", _window(draw, role="frame", title=draw.choice(TITLES))


def _close(draw: random.Random) -> Said:
    return "window.closed", _window(draw, role="frame", title="")


def _leave(draw: random.Random) -> Said:
    return "app.vanished", {"app": draw.choice(("mousepad", "settings"))}


def _press(draw: random.Random) -> Said:
    return "widget.activated", _at_widget(draw, by="key")


def _text(draw: random.Random, **more: Any) -> Said:
    return "widget.text_changed", _at_widget(draw, text=draw.choice(TEXTS), **more)


def _switch(draw: random.Random, **more: Any) -> Said:
    state = draw.choice(("checked", "selected"))
    return "widget.state_changed", _at_widget(draw, state=state, on=draw.random() < 0.6, **more)


def _value(draw: random.Random, **more: Any) -> Said:
    return "widget.value_changed", _at_widget(draw, value=draw.choice((30.0, 34.0, 35.0)), **more)


def _file(draw: random.Random) -> dict[str, Any]:
    path, text = draw.choice(PATHS), draw.choice(TEXTS)
    name = path.rsplit("/", 1)[-1]
    size = len(text.encode())
    return {"root": "h", "path": path, "name": name, "size": size, "sha256": digest_of(text)}


def _present(draw: random.Random) -> Said:
    return "file.present", {**_file(draw), "baseline": True}


def _write(draw: random.Random) -> Said:
    kind = draw.choice(("file.created", "file.modified"))
    return kind, {**_file(draw), "via": "write"}


def _move(draw: random.Random) -> Said:
    return "file.moved", {**_file(draw), "from": draw.choice(PATHS)}


def _delete(draw: random.Random) -> Said:
    path = draw.choice(PATHS)
    return "file.deleted", {"root": "h", "path": path, "name": path}


def _unsettled(draw: random.Random) -> Said:
    return "file.unsettled", {"root": "h", "path": "x.part", "name": "x.part", "size": 1}


def _read(draw: random.Random, **more: Any) -> Said:
    text = draw.choice(TEXTS)
    facts: dict[str, Any] = (
        {"text": text} if draw.random() < 0.7 else {"value": {"owner": [text, 3]}}
    )
    path = draw.choice(PATHS[:3])
    data = {"root": "h", "path": path, "name": path, "as": "auto", "status": "read", "when": "step"}
    return "file.read", {**data, "facts": facts, **more}


def _probe(draw: random.Random, **more: Any) -> Said:
    value = draw.choice(("default", "prefer-dark", None, {"volume": 34}))
    return "probe.answered", {"probe": "style", "when": "step", "value": value, "ms": 1, **more}


def _copy(draw: random.Random) -> Said:
    return "clipboard.changed", {"selection": "clipboard", "text": draw.choice(TEXTS)}


def _call(draw: random.Random) -> Said:
    command = draw.choice(("ls", "mv notes.txt agenda.txt", "sed -i s/Oslo/Turin/ notes.txt"))
    arguments = {"command": command}
    return "agent.tool_called", {"call": "c1", "tool": "shell", "arguments": arguments}


def _return(draw: random.Random) -> Said:
    return "agent.tool_returned", {"call": "c1", "ok": draw.random() < 0.7}


def _run(draw: random.Random) -> Said:
    return "process.started", {"pid": 7, "name": draw.choice(("mousepad", "sh"))}


def _notify(draw: random.Random) -> Said:
    return "notification.shown", {"app": "backup", "title": "Done"}


def _look(draw: random.Random) -> Said:
    phash = draw.choice(("00000000000000ff", "ffffffff00000000", "0f0f0f0f0f0f0f0f"))
    return "screen.captured", {"sha256": "", "phash": phash, "changed": draw.choice((0.0, 0.5))}


def _answer(draw: random.Random) -> Said:
    return "agent.answered", {"text": draw.choice(TEXTS)}


_DRAWS = (
    _open, _retitle, _close, _leave, _press, _press, _text, _text, _text, _switch, _switch, _value,
    _write, _write, _write, _move, _delete, _unsettled, _read, _read, _probe, _copy, _call, _call,
    _return, _run, _notify, _look, _answer,
)  # fmt: skip
