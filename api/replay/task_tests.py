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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import orjson

from api.replay.recordings import MAX_FILE, RecordingError, read_file, read_frames, read_said
from api.rewards.explaining import of_events
from api.rewards.near_miss import BY_SCRIPT, BY_WORKER
from api.verdicts.recorded import Playback
from common.regular_file import read_regular
from detectors.model.codec import (
    GENESIS,
    MAX_VALUES_BYTES,
    CodecError,
    decode_segment,
    join_segment,
)
from detectors.model.rewards import episode_total, total
from detectors.model.types import Event, Json, Reward
from detectors.model.wire_versions import OLDEST_WIRE
from detectors.task.ruleset import Ruleset

Kind = Literal["oracle", "adversarial"]
KINDS: tuple[Kind, ...] = ("oracle", "adversarial")
LIMITS: dict[Kind, str] = {"oracle": "total", "adversarial": "at_most"}
"""The member that says what a recording of each kind is to earn."""
TOLERANCE = 1e-9
UNENDED = "the recording ends before its episode does"
EPISODE = "ep_test"


class BadTestError(ValueError):
    """A test is not what it should be; ``path``, ``value`` and ``wanted`` say how."""

    def __init__(self, path: str, value: Json, wanted: str) -> None:
        self.path = path
        self.value = value
        self.wanted = wanted
        super().__init__(f"{path}: got {str(value)[:120]!r}, wanted {wanted}")

    def as_problem(self) -> dict[str, Json]:
        """Return the error as a member of a problem document's ``errors``."""
        return {
            "path": self.path,
            "line": None,
            "value": str(self.value)[:120],
            "wanted": self.wanted,
        }


@dataclass(frozen=True, slots=True)
class Tested:
    """What one test came to; ``total`` is None where a step of it is not known. ``hints``: of one
    that fails, what its author may not know."""

    name: str
    kind: str
    total: float | None
    success: bool | None
    wrong: str | None
    hints: tuple[str, ...] = ()


_LINES = 500
"""Lines that are read at once, as a segment holds them."""


class RecordingContents(NamedTuple):
    """What a recording holds: its events, and the events of its log of verdicts."""

    events: list[Event]
    said: list[dict[str, Json]]


def read_of(source: Json, beside: Path | None, where: str) -> RecordingContents:
    """Read a recording: a file beside the task, or inline. Raises `BadTestError`."""
    try:
        if isinstance(source, str) and beside is not None:
            return read_log(beside / source)
        inline = source if isinstance(source, Mapping) else {}
        if isinstance(inline.get("frames"), str):
            packed = base64.b64decode(inline["frames"], validate=True)
            return _of_frames(packed, where, MAX_VALUES_BYTES)
        if isinstance(inline.get("lines"), str):
            return RecordingContents(_of_lines(inline["lines"].encode()), [])
    except OSError as error:
        raise BadTestError(
            where, source, f"a recording that can be read: {error.strerror}"
        ) from None
    except (RecordingError, CodecError, binascii.Error) as error:
        named = source if isinstance(source, str) else "…"
        raise BadTestError(where, named, f"a recording: {error}") from None
    wanted = "a file beside the task" if beside is not None else "{frames: base64} or {lines: text}"
    raise BadTestError(where, source, wanted)


def read_log(path: Path) -> RecordingContents:
    """Read a .mrec or .jsonl file. Raises `RecordingError`, `CodecError` or `OSError`."""
    packed = read_file(path)
    is_lines = path.suffix == ".jsonl"
    return RecordingContents(_of_lines(packed), []) if is_lines else _of_frames(packed, path)


def read_events(path: Path) -> list[Event]:
    """Read the events of a .mrec or .jsonl file. Raises as `read_log`."""
    return read_log(path).events


def _of_frames(
    packed: bytes, where: Path | str, max_values: int | None = None
) -> RecordingContents:
    """Return the events and verdicts of a recording."""
    events = [
        event
        for segment in read_frames(packed, where, max_values=max_values)
        for event in segment.events
    ]
    return RecordingContents(events, read_said(packed, where))


def _of_lines(text: bytes) -> list[Event]:
    """Read event lines. They name no wire version: what has newer names is let be as it is."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise CodecError("no event line; wanted at least one")
    events: list[Event] = []
    for at in range(0, len(lines), _LINES):
        events += decode_segment(
            join_segment(EPISODE, at + 1, lines[at : at + _LINES], GENESIS, OLDEST_WIRE)
        ).events
    return events


def run_tests(rules: Ruleset, tests: Json, beside: Path | None) -> list[Tested]:
    """Run every test of a task, in order. Raises `BadTestError` for one that is none."""
    if not isinstance(tests, list):
        raise BadTestError("tests", tests, "a list of tests")
    return [_run(rules, test, beside, f"tests[{n}]") for n, test in enumerate(tests)]


def find_fault(
    rules: Ruleset, kind: Kind, events: Sequence[Event], limit: float | None = None
) -> str | None:
    """Return why events would fail as a test of this kind; None where they would not. ``limit``:
    the total of an oracle, the most of an adversarial one."""
    check = _check_oracle if kind == "oracle" else _check_adversarial
    return check(_score(rules, events, ()), limit)


def _run(rules: Ruleset, test: Json, beside: Path | None, where: str) -> Tested:
    """Run one test of a task: score its recording, and compare with what it expects."""
    kind = _kind_of(test, where)
    expected = _read_limit(test, LIMITS[kind], where)
    source = test[kind]
    events, said = read_of(source, beside, f"{where}.{kind}")
    score = _score(rules, events, said)
    check = _check_oracle if kind == "oracle" else _check_adversarial
    wrong = check(score, expected)
    return Tested(
        source if isinstance(source, str) else f"{kind} {where}",
        kind,
        episode_total(reward.reward for reward in score.rewards),
        score.success,
        wrong,
        tuple(_address_hints(rules, events)) if wrong and kind == "oracle" else (),
    )


def _address_hints(rules: Ruleset, events: Sequence[Event]) -> Iterator[str]:
    """Yield which milestones did not pay as only page script put their address there, or made what
    stands at it."""
    if not events:
        return
    for one in of_events(rules, events, events[0].episode)[0]:
        yield from (
            f"{one.id}: {line.strip()}"
            for line in one.became
            if BY_SCRIPT in line or BY_WORKER in line
        )


def _kind_of(test: Json, where: str) -> Kind:
    """Return which kind a test is; it has no members beside its recording and its limit."""
    kinds = [kind for kind in KINDS if isinstance(test, Mapping) and kind in test]
    if len(kinds) == 1 and set(test) <= {kinds[0], LIMITS[kinds[0]]}:
        return kinds[0]
    raise BadTestError(
        where, test, "{oracle: a recording, total?} or {adversarial: a recording, at_most?}"
    )


def _read_limit(test: Mapping[str, Json], name: str, where: str) -> float | None:
    """Return a test's number, None where it gives none. Raises `BadTestError`."""
    limit = test.get(name)
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, int | float):
        raise BadTestError(f"{where}.{name}", limit, "a number")
    return limit


class RecordingScore(NamedTuple):
    """What a recording is worth under the task's rules."""

    rules: Ruleset
    rewards: list[Reward]
    total: float
    success: bool | None
    closed: bool
    began: bool


def _score(
    rules: Ruleset, events: Sequence[Event], said: Sequence[Mapping[str, Json]]
) -> RecordingScore:
    """Score events under the rules, with recorded verdicts where there are some."""
    playback = Playback(rules, events[0].episode if events else EPISODE, said)
    ruled = playback.take(events).rewards
    # Lines hold no verdicts, and what an oracle shows is that the rules pay it.
    rewards = playback.rewards if said else ruled
    return RecordingScore(
        rules=rules,
        rewards=rewards,
        total=total(reward.reward for reward in rewards if reward.reward is not None),
        success=playback.success if said else playback.engine.success,
        closed=playback.engine.closed,
        began=any(event.kind == "step.began" for event in events),
    )


def _find_unknown(score: RecordingScore) -> str | None:
    """Say which step's reward is not known, and why; None where all are."""
    unknown = (
        f"step {reward.step} is not known: {reward.reason}"
        for reward in score.rewards
        if reward.mask
    )
    return next(unknown, None)


def _check_oracle(score: RecordingScore, expected: float | None) -> str | None:
    """Say why a recording does not earn what it should; None where it does."""
    unknown = _find_unknown(score)
    if unknown:
        return unknown
    if not _is_expected_total(score, expected):
        wanted = score.rules.attainable if expected is None else expected
        return f"came to {score.total:g}, wanted {wanted:g}"
    if not score.rules.has_goal or score.success is True:
        return None
    return "reached its total, but not the goal" if score.closed else UNENDED


def _is_expected_total(score: RecordingScore, expected: float | None) -> bool:
    """Whether a recording came to what its test names; of one that names nothing, to at least what
    is attainable."""
    if expected is None:
        return score.total >= score.rules.attainable - TOLERANCE
    return abs(score.total - expected) <= TOLERANCE


def _check_adversarial(score: RecordingScore, most: float | None) -> str | None:
    """Say how a recording gets what it should not; None where it does not."""
    if score.success is True:
        return "reached the goal"
    # Of what was not seen, or not to its end, anything may still come: it shows nothing about what
    # the task refuses.
    unknown = _find_unknown(score)
    if unknown:
        return unknown
    if not score.closed:
        return UNENDED
    if not score.began:
        return "has no step: nothing was tried in it"
    if most is not None and score.total > most + TOLERANCE:
        return f"came to {score.total:g}, wanted at most {most:g}"
    if most is None and score.total >= score.rules.attainable - TOLERANCE:
        return f"came to {score.total:g}, all that can be had"
    return None


def bundle_recordings(spec: Mapping[str, Json], beside: Path) -> dict[str, Json]:
    """Return the task with the recordings of its tests inside it, as the service takes it. Raises
    `BadTestError`."""
    tests = spec.get("tests", [])
    if not isinstance(tests, list):
        raise BadTestError("tests", tests, "a list of tests")
    return {**spec, "tests": [_bundle(test, beside, f"tests[{n}]") for n, test in enumerate(tests)]}


def _bundle(test: Json, beside: Path, where: str) -> dict[str, Json]:
    """Return a test with its recording in place of the recording's file."""
    kind = _kind_by_file(test, where)
    file = test[kind]
    where_kind = f"{where}.{kind}"
    try:
        content = read_regular(beside / file, MAX_FILE)
    except OSError as error:
        raise BadTestError(where_kind, file, f"a file: {error.strerror}") from None
    if not file.endswith(".jsonl"):
        frames = base64.b64encode(content).decode()
        return {**test, kind: {"frames": frames}}
    try:
        lines = content.decode()
    except UnicodeDecodeError as error:
        wanted = f"UTF-8 text, not byte {error.start}"
        raise BadTestError(where_kind, file, wanted) from None
    return {**test, kind: {"lines": lines}}


def _kind_by_file(test: Json, where: str) -> Kind:
    """Return the kind of a test whose recording is a file. Raises `BadTestError`."""
    if isinstance(test, Mapping):
        for kind in KINDS:
            if isinstance(test.get(kind), str):
                return kind
    raise BadTestError(where, test, "{oracle: a file} or {adversarial: a file}")


def lacking(tests: Json) -> str | None:
    """Say which tests a task lacks to show that its goal can be reached, and not for nothing; None
    where it has both."""
    present: set[str] = set()
    for test in tests if isinstance(tests, list) else []:
        if isinstance(test, Mapping):
            present.update(test)
    missing = [kind for kind in KINDS if kind not in present]
    if not missing:
        return None
    return f"an {' test and an '.join(missing)} test"


def as_bytes(spec: Mapping[str, Json]) -> bytes:
    """Encode a bundled task as JSON."""
    return orjson.dumps(spec)
