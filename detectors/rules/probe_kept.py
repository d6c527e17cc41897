"""What a probe answers is as it was at the start, but for what the task allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from detectors.matchers.facts import MAX_PATH_LENGTH, leads, split_path, value_at
from detectors.matchers.masked import can_equal, is_masked
from detectors.model.codec import canonical
from detectors.model.errors import UnseenError
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.kept_back import MASKED
from detectors.sdk.probe_facts import answer_keys
from detectors.sdk.registry import rule
from detectors.sdk.world import World

MAX_COMPARED = 100_000
"""Pairs of rows with masked secrets that are compared; of more nobody knows."""


@dataclass(frozen=True, slots=True)
class ProbeKeptArgs:
    probe: str = arg("The id of a probe that the task declares.")
    path: str | None = arg(
        "A dotted path to the part that is compared; without one, the whole answer.", None
    )
    by: str | None = arg("For a list of rows: the key that identifies a row, such as id.", None)
    rows: tuple[str, ...] = arg("Rows, by the value of `by`, that may come, go or change.", ())
    keys: tuple[str, ...] = arg("Keys of each row, or of the object itself, that may change.", ())

    def __post_init__(self) -> None:
        if self.rows and self.by is None:
            raise ValueError("by beside rows")
        if self.path is not None and (
            not all(split_path(self.path)) or len(split_path(self.path)) > MAX_PATH_LENGTH
        ):
            raise ValueError(f"path: a dotted path of at most {MAX_PATH_LENGTH} names")


@rule(
    component="goal",
    version=6,
    hears=("probe.answered",),
    args=ProbeKeptArgs,
    index_args=lambda args: (args.probe,),
    index_event=answer_keys,
    single=lambda args: True,
)
def probe_kept(event: Event, world: World, args: ProbeKeptArgs) -> Iterator[Reading]:
    """The rows that a probe reads are those of the start, in any order, except for the `rows` and
    `keys` that may differ.

    A guard: use it in an `only_if` or a goal to require that nothing else changed. By itself it
    earns nothing, since it is true at the start. A result that was cut, or that at the start was
    longer than 8 kB or had nothing at `path`, cannot be compared: the step is null. So it is where
    the answers may differ by a masked secret alone.
    """
    data, first = event.data, world.probes.get(args.probe)
    if data.get("probe") != args.probe or not first:
        return
    if data.get("cut") is True:
        raise UnseenError(
            "the probe's answer was too long to keep whole", Reading(1.0, f"probe:{args.probe}")
        )
    steps = split_path(args.path) if args.path is not None else ()
    if not leads(first[0], steps):
        return  # what was not there can't be kept: the engine says that nobody knows
    before, now = value_at(first[0], steps), value_at(data.get("value"), steps)
    reading = Reading(1.0, f"probe:{args.probe}")
    if _protected_value(before, args) == _protected_value(now, args):
        yield reading
    elif _may_be_kept(before, now, args):
        raise UnseenError(MASKED, reading)


def _may_be_kept(before: object, now: object, args: ProbeKeptArgs) -> bool:
    """Whether two answers that differ may be alike but for what the daemon masked in them: each row
    that only one of them has may be one of the other's, or one that may differ."""
    if not (is_masked(before) or is_masked(now)):
        return False
    if not isinstance(before, list) or not isinstance(now, list):
        return _can_be_alike(_row(before, args), _row(now, args))
    old, new = _rows_beyond(before, now, args), _rows_beyond(now, before, args)
    if len(old) != len(new) and not args.rows:
        return False
    if len(old) * len(new) > MAX_COMPARED:
        return True
    return all(_is_excused(row, new, args) for row in old) and all(
        _is_excused(row, old, args) for row in new
    )


def _rows_beyond(some: list[Any], others: list[Any], args: ProbeKeptArgs) -> list[object]:
    """Return the rows of one answer that the other has not, or has less often, but for those that
    may differ."""
    known = Counter(canonical(_row(row, args)) for row in others)
    beyond: list[object] = []
    for row in some:
        told = canonical(_row(row, args))
        if known[told]:
            known[told] -= 1
        elif _name_of(row, args) not in args.rows:
            beyond.append(row)
    return beyond


def _is_excused(row: object, others: list[object], args: ProbeKeptArgs) -> bool:
    if args.rows and is_masked(_name_of(row, args)):
        return True
    return any(_can_be_alike(_row(row, args), _row(other, args)) for other in others)


def _can_be_alike(one: object, other: object) -> bool:
    return can_equal(one, other) or can_equal(other, one)


def _name_of(row: object, args: ProbeKeptArgs) -> str:
    return str(row.get(args.by)) if isinstance(row, dict) else str(row)


def _protected_value(value: object, args: ProbeKeptArgs) -> object:
    """What must be as it was: of rows, each by its key; of an object or anything else, itself."""
    if not isinstance(value, list):
        return _row(value, args)
    if args.by is None:
        return sorted(canonical(_row(row, args)) for row in value)
    named = [(_name_of(row, args), _row(row, args)) for row in value]
    return sorted((name, canonical(row)) for name, row in named if name not in args.rows)


def _row(value: object, args: ProbeKeptArgs) -> object:
    return (
        {k: v for k, v in sorted(value.items()) if k not in args.keys}
        if isinstance(value, dict)
        else value
    )
