"""The recordings beside a task that show what it pays: an oracle that must reach its total, and one
that must not.

tests:
  - {oracle: buy.oracle.jsonl}
  - {oracle: detour.mrec, total: 0.8}
  - {adversarial: says-success.jsonl, at_most: 0}

A recording is a file of ours (.mrec), or its lines as `milestoned recording show --json` prints
them (.jsonl); over the wire it is {frames: base64} or {lines: text}. What its verdicts decided
counts as it was decided; a recording without any is tested by its rules alone. The tests are no
part of the task: its digest does not know them.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from api.core.regular_file import read_regular
from api.replay.recordings import MAX_FILE, RecordingError, read_file, read_frames, read_said
from api.verdicts.recorded import Playback
from detectors.model.codec import (
    GENESIS,
    MAX_VALUES_BYTES,
    CodecError,
    decode_segment,
    join_segment,
)
from detectors.model.rewards import episode_total, total
from detectors.model.types import Event, Reward
from detectors.task.ruleset import Ruleset

KINDS = ("oracle", "adversarial")
EPISODE = "ep_test"


class BadTestError(ValueError):
    """A test is not what it should be; ``path``, ``value`` and ``wanted`` say how."""

    def __init__(self, path: str, value: Any, wanted: str) -> None:
        self.path, self.value, self.wanted = path, value, wanted
        super().__init__(f"{path}: got {str(value)[:120]!r}, wanted {wanted}")


@dataclass(frozen=True, slots=True)
class Tested:
    """What one test came to; ``total`` is None where a step of it is not known."""

    name: str
    kind: str
    total: float | None
    success: bool | None
    wrong: str | None


_LINES = 500
"""Lines that are read at once, as a segment holds them."""


class Read(NamedTuple):
    """What a recording holds: its events, and the events of its log of verdicts."""

    events: list[Event]
    said: list[dict[str, Any]]


def read_of(source: Any, beside: Path | None, where: str) -> Read:
    """A recording: a file beside the task, or inline. Raises `BadTestError`."""
    try:
        if isinstance(source, str) and beside is not None:
            path = beside / source
            packed = read_file(path)
            return (
                Read(_of_lines(packed), []) if path.suffix == ".jsonl" else _of_frames(packed, path)
            )
        if isinstance(source, Mapping) and isinstance(source.get("frames"), str):
            return _of_frames(
                base64.b64decode(source["frames"], validate=True), where, MAX_VALUES_BYTES
            )
        if isinstance(source, Mapping) and isinstance(source.get("lines"), str):
            return Read(_of_lines(source["lines"].encode()), [])
    except OSError as error:
        raise BadTestError(
            where, source, f"a recording that can be read: {error.strerror}"
        ) from None
    except (RecordingError, CodecError, binascii.Error) as error:
        raise BadTestError(where, "…", f"a recording: {error}") from None
    wanted = "a file beside the task" if beside is not None else "{frames: base64} or {lines: text}"
    raise BadTestError(where, source, wanted)


def read_events(path: Path) -> list[Event]:
    """The events of a .mrec or .jsonl file. Raises `RecordingError`, `CodecError` or `OSError`."""
    packed = read_file(path)
    return _of_lines(packed) if path.suffix == ".jsonl" else _of_frames(packed, path).events


def _of_frames(packed: bytes, where: Path | str, max_values: int | None = None) -> Read:
    events = [
        event
        for segment in read_frames(packed, where, max_values=max_values)
        for event in segment.events
    ]
    return Read(events, read_said(packed, where))


def _of_lines(text: bytes) -> list[Event]:
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise CodecError("no event line; wanted at least one")
    events: list[Event] = []
    for at in range(0, len(lines), _LINES):
        events += decode_segment(
            join_segment(EPISODE, at + 1, lines[at : at + _LINES], GENESIS)
        ).events
    return events


def run_tests(rules: Ruleset, tests: Any, beside: Path | None) -> list[Tested]:
    """Every test of a task, in order. Raises `BadTestError` for one that is none."""
    if not isinstance(tests, list):
        raise BadTestError("tests", tests, "a list of tests")
    return [_run(rules, test, beside, f"tests[{n}]") for n, test in enumerate(tests)]


def _run(rules: Ruleset, test: Any, beside: Path | None, where: str) -> Tested:
    kinds = [kind for kind in KINDS if isinstance(test, Mapping) and kind in test]
    limit = {"oracle": "total", "adversarial": "at_most"}.get(kinds[0] if kinds else "", "")
    if len(kinds) != 1 or set(test) - {kinds[0], limit}:
        raise BadTestError(
            where, test, "{oracle: a recording, total?} or {adversarial: a recording, at_most?}"
        )
    wanted = test.get(limit)
    if wanted is not None and (isinstance(wanted, bool) or not isinstance(wanted, int | float)):
        raise BadTestError(f"{where}.{limit}", wanted, "a number")
    kind, source = kinds[0], test[kinds[0]]
    events, said = read_of(source, beside, f"{where}.{kind}")
    playback = Playback(rules, events[0].episode if events else EPISODE, said)
    ruled = playback.take(events).rewards
    # Lines hold no verdicts, and what an oracle shows is that the rules pay it.
    rewards = playback.rewards if said else ruled
    success = playback.success if said else playback.engine.success
    came = total(r.reward for r in rewards if r.reward is not None)
    check = _oracle if kind == "oracle" else _adversarial
    name = source if isinstance(source, str) else f"{kind} {where}"
    closed, began = playback.engine.closed, any(event.kind == "step.began" for event in events)
    known = episode_total(r.reward for r in rewards)
    return Tested(
        name,
        kind,
        known,
        success,
        check(_Came(rules, rewards, came, success, closed, began), wanted),
    )


class _Came(NamedTuple):
    """What a recording came to under the task's rules."""

    rules: Ruleset
    rewards: list[Reward]
    total: float
    success: bool | None
    closed: bool
    began: bool


def _unseen(came: _Came) -> str | None:
    masked = [r for r in came.rewards if r.mask]
    return f"step {masked[0].step} is not known: {masked[0].reason}" if masked else None


def _oracle(came: _Came, wanted: float | None) -> str | None:
    if unseen := _unseen(came):
        return unseen
    least = came.rules.attainable if wanted is None else wanted
    if abs(came.total - least) > 1e-9 and not (wanted is None and came.total > least):
        return f"came to {came.total:g}, wanted {least:g}"
    if came.rules.has_goal and came.success is not True:
        return (
            "reached its total, but not the goal"
            if came.closed
            else "the recording ends before its episode does"
        )
    return None


def _adversarial(came: _Came, most: float | None) -> str | None:
    if came.success is True:
        return "reached the goal"
    # Of what was not seen, or not to its end, anything may still come: it shows nothing about what
    # the task refuses.
    if unseen := _unseen(came):
        return unseen
    if not came.closed:
        return "the recording ends before its episode does"
    if not came.began:
        return "has no step: nothing was tried in it"
    if most is not None and came.total > most + 1e-9:
        return f"came to {came.total:g}, wanted at most {most:g}"
    if most is None and came.total >= came.rules.attainable - 1e-9:
        return f"came to {came.total:g}, all that can be had"
    return None


def bundled(spec: Mapping[str, Any], beside: Path) -> dict[str, Any]:
    """The task with the recordings of its tests inside it, as the service takes it. Raises
    `BadTestError`."""
    given, tests = spec.get("tests", []), []
    if not isinstance(given, list):
        raise BadTestError("tests", given, "a list of tests")
    for n, test in enumerate(given):
        kind = next(
            (
                kind
                for kind in KINDS
                if isinstance(test, Mapping) and isinstance(test.get(kind), str)
            ),
            None,
        )
        if kind is None:
            raise BadTestError(f"tests[{n}]", test, "{oracle: a file} or {adversarial: a file}")
        try:
            held = read_regular(beside / test[kind], MAX_FILE)
        except OSError as error:
            raise BadTestError(
                f"tests[{n}].{kind}", test[kind], f"a file: {error.strerror}"
            ) from None
        lines = test[kind].endswith(".jsonl")
        try:
            source = (
                {"lines": held.decode()} if lines else {"frames": base64.b64encode(held).decode()}
            )
        except UnicodeDecodeError as error:
            raise BadTestError(
                f"tests[{n}].{kind}", test[kind], f"UTF-8 text, not byte {error.start}"
            ) from None
        tests.append({**test, kind: source})
    return {**spec, "tests": tests}


def lacking(tests: Any) -> str | None:
    """What a task's tests lack to show that it can be reached and not be had for nothing."""
    listed = tests if isinstance(tests, list) else []
    missing = [
        kind
        for kind in KINDS
        if not any(isinstance(test, Mapping) and kind in test for test in listed)
    ]
    return f"an {' test and an '.join(missing)} test" if missing else None


def as_bytes(spec: Mapping[str, Any]) -> bytes:
    """A bundled task as JSON."""
    return orjson.dumps(spec)
