"""The recordings beside a task that show what it pays: an oracle that must reach its total, and one that must not.

tests:
  - {oracle: buy.oracle.jsonl}
  - {oracle: detour.mrec, total: 0.8}
  - {adversarial: says-success.jsonl, at_most: 0}

A recording is a file of ours (.mrec), or its lines as `milestoned recording show --json` prints them (.jsonl); over the
wire it is {frames: base64} or {lines: text}. The tests are no part of the task: its digest does not know them.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from api.recordings import RecordingError, read_frames
from detectors.codec import GENESIS, CodecError, decode_segment, join_segment
from detectors.engine import Engine
from detectors.rewards import total
from detectors.ruleset import Ruleset
from detectors.types import Event, Reward

KINDS = ("oracle", "adversarial")
EPISODE = "ep_test"


class BadTestError(ValueError):
    """A test is not what it should be; ``path``, ``value`` and ``wanted`` say how."""

    def __init__(self, path: str, value: Any, wanted: str) -> None:
        self.path, self.value, self.wanted = path, value, wanted
        super().__init__(f"{path}: got {str(value)[:120]!r}, wanted {wanted}")


@dataclass(frozen=True, slots=True)
class Tested:
    """What one test came to."""

    name: str
    kind: str
    total: float
    success: bool | None
    wrong: str | None


def events_of(source: Any, beside: Path | None, where: str) -> list[Event]:
    """The events of a recording: a file beside the task, or inline. Raises `BadTestError`."""
    try:
        if isinstance(source, str) and beside is not None:
            return read_events(beside / source)
        if isinstance(source, Mapping) and isinstance(source.get("frames"), str):
            packed = base64.b64decode(source["frames"], validate=True)
            return [event for segment in read_frames(packed, where) for event in segment.events]
        if isinstance(source, Mapping) and isinstance(source.get("lines"), str):
            return _of_lines(source["lines"].encode())
    except OSError as error:
        raise BadTestError(where, source, f"a recording that can be read: {error.strerror}") from None
    except (RecordingError, CodecError, binascii.Error) as error:
        raise BadTestError(where, "…", f"a recording: {error}") from None
    wanted = "a file beside the task" if beside is not None else "{frames: base64} or {lines: text}"
    raise BadTestError(where, source, wanted)


def read_events(path: Path) -> list[Event]:
    """The events of a .mrec or .jsonl file. Raises `RecordingError`, `CodecError` or `OSError`."""
    packed = path.read_bytes()
    if path.suffix == ".jsonl":
        return _of_lines(packed)
    return [event for segment in read_frames(packed, path) for event in segment.events]


def _of_lines(text: bytes) -> list[Event]:
    lines = [line for line in text.splitlines() if line.strip()]
    return list(decode_segment(join_segment(EPISODE, 1, lines, GENESIS)).events)


def run_tests(rules: Ruleset, tests: Any, beside: Path | None) -> list[Tested]:
    """Every test of a task, in order. Raises `BadTestError` for one that is none."""
    if not isinstance(tests, list):
        raise BadTestError("tests", tests, "a list of tests")
    return [_run(rules, test, beside, f"tests[{n}]") for n, test in enumerate(tests)]


def _run(rules: Ruleset, test: Any, beside: Path | None, where: str) -> Tested:
    kinds = [kind for kind in KINDS if isinstance(test, Mapping) and kind in test]
    limit = {"oracle": "total", "adversarial": "at_most"}.get(kinds[0] if kinds else "", "")
    if len(kinds) != 1 or set(test) - {kinds[0], limit}:
        raise BadTestError(where, test, "{oracle: a recording, total?} or {adversarial: a recording, at_most?}")
    wanted = test.get(limit)
    if wanted is not None and (isinstance(wanted, bool) or not isinstance(wanted, int | float)):
        raise BadTestError(f"{where}.{limit}", wanted, "a number")
    kind, source = kinds[0], test[kinds[0]]
    events = events_of(source, beside, f"{where}.{kind}")
    engine = Engine(rules, events[0].episode if events else EPISODE)
    rewards = engine.feed(events).rewards
    came = total(r.reward or 0.0 for r in rewards)
    check = _oracle if kind == "oracle" else _adversarial
    name = source if isinstance(source, str) else f"{kind} {where}"
    return Tested(name, kind, came, engine.success, check(rules, engine, rewards, came, wanted))


def _oracle(rules: Ruleset, engine: Engine, rewards: list[Reward], came: float, wanted: float | None) -> str | None:
    masked = [r for r in rewards if r.mask]
    if masked:
        return f"step {masked[0].step} is not known: {masked[0].reason}"
    least = rules.attainable if wanted is None else wanted
    if abs(came - least) > 1e-9 and not (wanted is None and came > least):
        return f"came to {came:g}, wanted {least:g}"
    if rules.has_goal and engine.success is not True:
        return "reached its total, but not the goal" if engine.closed else "the recording ends before its episode does"
    return None


def _adversarial(rules: Ruleset, engine: Engine, rewards: list[Reward], came: float, most: float | None) -> str | None:
    if engine.success is True:
        return "reached the goal"
    if most is not None and came > most + 1e-9:
        return f"came to {came:g}, wanted at most {most:g}"
    if most is None and came >= rules.attainable - 1e-9:
        return f"came to {came:g}, all that can be had"
    return None


def bundled(spec: Mapping[str, Any], beside: Path) -> dict[str, Any]:
    """The task with the recordings of its tests inside it, as the service takes it. Raises `BadTestError`."""
    tests = []
    for n, test in enumerate(spec.get("tests", [])):
        kind = next((kind for kind in KINDS if isinstance(test, Mapping) and isinstance(test.get(kind), str)), None)
        if kind is None:
            raise BadTestError(f"tests[{n}]", test, "{oracle: a file} or {adversarial: a file}")
        try:
            held = (beside / test[kind]).read_bytes()
        except OSError as error:
            raise BadTestError(f"tests[{n}].{kind}", test[kind], f"a file: {error.strerror}") from None
        lines = test[kind].endswith(".jsonl")
        source = {"lines": held.decode()} if lines else {"frames": base64.b64encode(held).decode()}
        tests.append({**test, kind: source})
    return {**spec, "tests": tests}


def lacking(tests: Any) -> str | None:
    """What a task's tests lack to show that it can be reached and not be had for nothing."""
    listed = tests if isinstance(tests, list) else []
    missing = [kind for kind in KINDS if not any(isinstance(test, Mapping) and kind in test for test in listed)]
    return f"an {' test and an '.join(missing)} test" if missing else None


def as_bytes(spec: Mapping[str, Any]) -> bytes:
    """A bundled task as JSON."""
    return orjson.dumps(spec)
