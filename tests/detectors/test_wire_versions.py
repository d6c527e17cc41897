"""What an older wire version called otherwise: the tables name what there is, recordings of that time
give the same rewards, and nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from api.replay.recordings import play, read_recording
from api.replay.task_tests import read_events
from api.tasks.task_files import load_task_file
from detectors.engine.engine import Engine
from detectors.model.codec import (
    GENESIS,
    decode_segment,
    encode_event,
    encode_segment,
    join_segment,
    sha256,
)
from detectors.model.kinds import KINDS
from detectors.model.rewards import encode_reward
from detectors.model.types import Event
from detectors.model.wire_versions import FIELDS_1_TO_2, KINDS_1_TO_2, WIRE, current, former_kinds
from detectors.task.ruleset import Ruleset, compile_task
from tests.probes.record_golden import RULES as PROBE_RULES
from tests.readers.record_golden import RULES as READ_RULES

ROOT = Path(__file__).parents[2]
OLD = Path(__file__).parent / "golden" / "wire1"
NOW = {
    "shop": ROOT / "examples/desktop/recordings/shop.jsonl",
    "probes": ROOT / "tests/probes/golden/probes.log.jsonl",
    "reads": ROOT / "tests/readers/golden/reads.log.jsonl",
}
FLEET = ROOT / "benchmarks/fleet/shop.mrec"
"""A recording file that a daemon of version 1 wrote."""


def rules_of(name: str) -> Ruleset:
    known = {"probes": PROBE_RULES, "reads": READ_RULES}
    return known.get(name) or compile_task(load_task_file(ROOT / "examples/desktop/search.yaml"))


def rewards(rules: Ruleset, events: list[Event]) -> list[bytes]:
    return [encode_reward(one) for one in Engine(rules, events[0].episode).feed(events).rewards]


def lines_of(path: Path) -> list[list[Any]]:
    """Rows as [seq, at, source, kind, data]: a log of the tests has the time behind the kind."""
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    return [
        row if isinstance(row[1], int) else [row[0], row[3], row[1], row[2], row[4]] for row in rows
    ]


def old_segment(*said: tuple[str, str, dict[str, Any]]) -> bytes:
    """A segment's text as a build of version 1 wrote it."""
    rows = [
        encode_event(n, source, kind, n, data) for n, (source, kind, data) in enumerate(said, 1)
    ]
    return join_segment("E", 1, rows, GENESIS, wire=1)


def test_the_tables_name_what_there_is_and_no_longer_is() -> None:
    for old, new in KINDS_1_TO_2.items():
        assert (old in KINDS, new in KINDS) == (False, True), (old, new)
        assert former_kinds(new) == (old,)
    for kind, names in FIELDS_1_TO_2.items():
        fields = {field.removesuffix("?") for field in KINDS[kind].fields}
        for old, new in names.items():
            # A request's head has neither, but a hop of it may.
            assert old not in fields, (kind, old)
            assert new in fields or kind == "request.response_started", (kind, new)


@pytest.mark.parametrize("name", NOW)
def test_an_old_log_gives_the_events_and_rewards_of_the_converted_one(name: str) -> None:
    """The old one holds names that are gone; read, it is the new one."""
    old, new = lines_of(OLD / f"{name}.jsonl"), lines_of(NOW[name])
    assert old != new
    said = [(source, kind, data) for _, _, source, kind, data in old]
    assert any(kind in KINDS_1_TO_2 or kind in FIELDS_1_TO_2 for _, kind, _ in said)
    text = join_segment("E", 1, [orjson.dumps(row) for row in old], GENESIS, wire=1)
    segment = decode_segment(text)
    assert [[e.seq, e.at, e.source, e.kind, e.data] for e in segment.events] == new
    assert segment.digest == sha256(text), "the chain is of the bytes as they were written"
    again = decode_segment(encode_segment(segment.events, GENESIS))
    rules = rules_of(name)
    assert rewards(rules, list(segment.events)) == rewards(rules, list(again.events))
    assert any(orjson.loads(one)["reward"] for one in rewards(rules, list(segment.events)))


def test_a_recording_of_version_1_is_worth_what_its_converted_copy_is() -> None:
    segments = list(read_recording(FLEET))
    rules = compile_task(load_task_file(ROOT / "examples/shop/task.yaml", {"origin": ORIGIN}))
    events = [event for segment in segments for event in segment.events]
    copied, head = list[Event](), GENESIS
    for segment in segments:
        copy = decode_segment(encode_segment(segment.events, head))
        head = copy.digest
        copied += copy.events
    assert head != segments[-1].digest, "its bytes are another version's"
    paid = [encode_reward(reward) for reward in play(FLEET, rules).rewards]
    assert rewards(rules, events) == rewards(rules, copied) == paid != []
    assert not [event for event in events if event.kind in KINDS_1_TO_2]


ORIGIN = next(
    event.data["url"].removesuffix("/")
    for segment in read_recording(FLEET)
    for event in segment.events
    if event.kind == "page.navigated" and event.data["url"].startswith("http")
)

CASES: dict[str, tuple[str, dict[str, Any], str, dict[str, Any]]] = {
    "a kind": ("page.titled", {"title": "of"}, "page.title_changed", {"title": "of"}),
    "a gap's part": (
        "gap.began",
        {"source": "cdp", "of": "request", "reason": "page.titled"},
        "gap.began",
        {"source": "cdp", "part": "request", "reason": "page.titled"},
    ),
    "a part that is a kind": (
        "gap.ended", {"source": "ax", "of": "window.titled"},
        "gap.ended", {"source": "ax", "part": "window.title_changed"},
    ),
    "an alarm of no part": ("alarm.ended", {"source": "ax"}, "alarm.ended", {"source": "ax"}),
    "a seal": ("step.sealed", {"step": 1, "why": "quiet"}, "step.sealed", {"step": 1, "reason": "quiet"}),
    "hops": (
        "request.finished",
        {"answer": {"body": {"text": "{}"}}, "hops": [{"answer": {}, "answered_by": "disk"}, 7], "left": True},
        "request.finished",
        {
            "response": {"body": {"text": "{}"}},
            "hops": [{"response": {}, "served_from": "disk"}, 7],
            "document_gone": True,
        },
    ),
    "hops that are none": ("request.failed", {"hops": "x"}, "request.failed", {"hops": "x"}),
    "a head": (
        "request.answered", {"answered_by": "disk"}, "request.response_started", {"served_from": "disk"},
    ),
    "a drop": (
        "element.dropped", {"onto": {"id": "a"}, "within": ["b"], "place": 2},
        "element.dropped", {"target": {"id": "a"}, "target_ancestors": ["b"], "index": 2},
    ),
    "what is cut in one kind is not in another": (
        "text.copied", {"text": "a", "cut": True}, "text.copied", {"text": "a", "removed": True},
    ),
    "a text that goes on": ("field.filled", {"cut": True}, "field.filled", {"cut": True}),
    "a conversion": (
        "episode.opened", {"converted": {"format": "har", "vouched": ["page"]}},
        "episode.opened", {"converted": {"format": "har", "declared_complete": ["page"]}},
    ),
    "a field of that name in another kind": (
        "agent.tool_called", {"arguments": {"of": 1}, "why": "x"}, "agent.tool_called", {"arguments": {"of": 1}, "why": "x"},
    ),
    "a kind that nobody knows": ("x.y", {"of": 1}, "x.y", {"of": 1}),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "data", "new_kind", "new_data"), CASES.values(), ids=CASES)
def test_version_1_is_read_as_version_2(
    kind: str, data: dict[str, Any], new_kind: str, new_data: dict[str, Any]
) -> None:
    """What stands inside texts and others' values is let be; read again, nothing changes."""
    (event,) = decode_segment(old_segment(("cdp", kind, data))).events
    assert (event.kind, event.data) == (new_kind, new_data)
    assert list(current([event], 1)) == [event]


def test_what_is_written_now_is_read_as_it_is() -> None:
    """An old name in a segment of this version is no name at all, and is not converted."""
    row = encode_event(1, "cdp", "page.titled", 1, {"title": "x"})
    (event,) = decode_segment(join_segment("E", 1, [row], GENESIS)).events
    assert (event.kind, WIRE) == ("page.titled", 2)


def test_every_golden_observation_has_the_names_of_this_version() -> None:
    """None of them would be converted; and lines without a header are read as of any version."""
    read = 0
    for path in sorted((ROOT / "tests").rglob("golden/*.seen.jsonl")):
        for kind, data in map(orjson.loads, path.read_bytes().splitlines()):
            event = Event("E", 1, "", kind, 0, data)
            assert list(current([event], 1)) == [event], path
            read += 1
    assert read > 100
    assert read_events(OLD / "shop.jsonl") == read_events(NOW["shop"])
