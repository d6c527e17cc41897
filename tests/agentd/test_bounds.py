"""What one event may be: whatever the journal numbers, the service takes, and what it would refuse
is not numbered."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import orjson
import pytest

from agentd.core.wire_limits import (
    EVENT_BYTES,
    EVENT_DEPTH,
    UnfitError,
    deeper,
    line_of,
)
from agentd.journal.journal import Journal
from agentd.journal.recorder import Recorder
from api.core.frames import read_segment
from api.core.settings import Limits
from common.frames import live_packer
from detectors.model.types import Segment


def nested(depth: int, kind: type = list) -> Any:
    """Lists, or objects, ``depth`` of them in each other."""
    value: Any = kind()
    for _ in range(depth - 1):
        value = [value] if kind is list else {"a": value}
    return value


CHANCE = random.Random(7)
NOISE = orjson.dumps([CHANCE.random() for _ in range(200_000)]).decode()

FIT: dict[str, Any] = {
    "little": "x",
    "as deep as may be": nested(EVENT_DEPTH - 2),
    "as deep as may be, in objects": nested(EVENT_DEPTH - 2, dict),
    "many brackets, not deep": [[]] * 1000,
    "brackets in a text": "[{" * 1000,
    "commas in a text, as long as may be": "[{," * ((EVENT_BYTES - 100) // 3),
    "as many lists as an event may hold": [[]] * ((1 << 20) // 3),
    "half a surrogate pair": "\ud800",
    "two million zeros": "0" * (2 << 20),
    "blanks": " " * 1_200_000,
    "as long as may be, and packs to nothing": "ab" * ((EVENT_BYTES - 100) // 2),
    "as long as may be, and hardly packs": (NOISE * 2)[: EVENT_BYTES - 100],
}
UNFIT: dict[str, tuple[Any, str]] = {
    "one too deep": (nested(EVENT_DEPTH - 1), "nested deeper"),
    "one object too deep": (nested(EVENT_DEPTH - 1, dict), "nested deeper"),
    "deeper than JSON is written": (nested(300), "nested deeper"),
    "deeper than Python recurses": (nested(5000), "nested deeper"),
    "too long": ("x" * EVENT_BYTES, "longer than"),
    "values that take more memory than a segment's may": ([[]] * (1 << 20), "take more than"),
    "a number of more than 64 bits": (2**70, "no JSON"),
}


def taken(text: bytes) -> Segment:
    """The segment as the service reads it, out of the shipper's frame."""
    return read_segment(live_packer().pack(text), Limits())


@pytest.mark.parametrize("value", FIT.values(), ids=FIT)
def test_what_is_numbered_the_service_takes(value: Any, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", "E")
    assert journal.append("cdp", "message.received", {"text": value}, 1) == 1
    journal.cut()
    cut = journal.next_cut(0)
    assert cut is not None
    assert taken(journal.text(cut)).digest == cut.digest
    journal.close()


async def test_two_events_that_pack_to_nothing_go_too(tmp_path: Path) -> None:
    """A segment of several has a text of a MiB and a little, and is looked at for bombs."""
    journal = Journal(tmp_path / "j", "E")
    for _ in range(2):
        journal.append("cdp", "page.title_changed", {"title": "0" * 524_200}, 1)
    journal.cut()
    cut = journal.next_cut(0)
    assert cut is not None
    assert taken(journal.text(cut)).count == 2
    journal.close()


@pytest.mark.parametrize(("value", "why"), UNFIT.values(), ids=UNFIT)
async def test_what_the_service_would_refuse_is_counted_as_lost(
    value: Any, why: str, tmp_path: Path
) -> None:
    """A page can make such an event: its own is lost, and its step not seen; all that follows is
    shipped."""
    with pytest.raises(UnfitError, match=why):
        line_of(1, "cdp", "message.received", 1, {"text": value})
    recorder = Recorder(Journal(tmp_path / "j", "E"))
    assert recorder.append("cdp", "message.received", {"text": value}) is None
    assert recorder.append("cdp", "page.loaded", {}) == 1
    assert recorder.append("steps", "step.ended", {"step": 0}) == 3
    journal = recorder.journal
    journal.cut()
    cut = journal.next_cut(0)
    assert cut is not None
    events = taken(journal.text(cut)).events
    assert [event.kind for event in events] == ["page.loaded", "events.dropped", "step.ended"]
    assert (events[1].data["source"], events[1].data["count"]) == ("cdp", 1)
    assert why in events[1].data["reason"]
    recorder.close()


def test_depth_is_counted_through_what_stands_twice() -> None:
    """A value that holds itself, or another many times, is looked at without end or multitude."""
    assert not deeper("x", 0)
    assert not deeper({"a": [1], "b": ({},)}, 3)
    assert deeper({"a": [1], "b": ({},)}, 2)
    twice: Any = []
    for _ in range(150):
        twice = [twice, twice]
    assert not deeper(twice, 151)
    round_about: list[Any] = []
    round_about.append(round_about)
    assert deeper(round_about, 100)
