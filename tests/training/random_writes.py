"""Episodes drawn by a seed in which pages send forms and requests: for recorded rows."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import orjson

from detectors.model.types import Event
from tests.support.logs import Said, clicked, filled, finished, log, sealed, went

INSTRUCTIONS = (
    'Change the phone number of "Ada Field" to 555-1234 and save it.',
    "Order 3 honey and 2 pears, and nothing else.",
    'Move the card "Mend the roof" to Done.',
    "Book the Attic for 4 nights from 2027-03-05.",
)
NAMES = ("Ada Field", "Bo Lind", "honey", "pears", "Mend the roof", "room", "nights", "phone", "at")
VALUES: tuple[Any, ...] = (
    "555-1234", "555-9", 2, 3, 4, 0, True, None, "Done", "Attic", "2027-03-05", "Ada Field", 2.5,
)  # fmt: skip
ACTIONS = (None, {"verb": "choose", "text": "Attic"}, {"verb": "click"})


def draw_sending(seed: int) -> tuple[str, list[Event]]:
    """Return instruction and log of the episode with this seed."""
    draw = random.Random(seed)
    said: list[Said] = [("episode.opened", {"task": "t", "digest": "d"}), went("/", baseline=True)]
    for step in range(draw.randrange(1, 6)):
        said.append(("step.began", {"step": step, "action": draw.choice(ACTIONS)}))
        for _ in range(draw.randrange(5)):
            said += draw.choice(_DRAWS)(draw)
        said.append(sealed(step))
    said.append(("episode.closed", {"reason": "done"}))
    return draw.choice(INSTRUCTIONS), log(*said)


def _click(draw: random.Random) -> list[Said]:
    return [clicked(draw.choice(NAMES), trusted=draw.random() < 0.8)]


def _fill(draw: random.Random) -> list[Said]:
    value = str(draw.choice(VALUES))
    return [filled(draw.choice(NAMES), value, trusted=draw.random() < 0.6)]


def _submit(draw: random.Random) -> list[Said]:
    form = {"id": "f", "action": "http://shop.test/x", "method": "get"}
    fields = [[draw.choice(NAMES), str(draw.choice(VALUES))] for _ in range(draw.randrange(4))]
    told = {"tab": "T", "frame": "T", "form": form, "fields": fields}
    return [("form.submitted", {**told, "trusted": draw.random() < 0.8})]


def _send(draw: random.Random) -> list[Said]:
    """A request and its answer, most with a body that was read."""
    method, type = draw.choice(("POST", "PUT", "DELETE", "GET")), draw.choice(("Fetch", "Document"))
    about = {"request": "r1", "method": method, "type": type, "url": "http://shop.test/x"}
    text = orjson.dumps(_document(draw)).decode()
    body = {"text": text, "mime": "application/json"} if draw.random() < 0.8 else None
    status = draw.choice((200, 201, 302, 409, 500))
    return [("request.sent", about), finished(method, "/x", status, type=type, body=body)]


def _document(draw: random.Random) -> Any:
    """A mapping, a list of objects, or the variables of an operation."""
    row = {draw.choice(NAMES): draw.choice(VALUES) for _ in range(draw.randrange(1, 5))}
    other = {draw.choice(NAMES): draw.choice(VALUES) for _ in range(draw.randrange(1, 4))}
    return draw.choice((row, [row, other], {"query": "mutation", "variables": {"in": row}}))


_DRAWS: tuple[Callable[[random.Random], list[Said]], ...] = (_click, _fill, _submit, _send, _send)
