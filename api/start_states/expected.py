"""What of an episode's start is not what its task expects: `start` of the task language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from api.start_states.comparison import MAX_FINDINGS, FindingJson, expected_finding
from api.start_states.facts import Part, StartState
from detectors.engine.expected_start import expected_address
from detectors.model.safe_json import mapping
from detectors.model.types import Json

ExpectedPart = Literal["tabs", "files"]
"""The parts of which a task says what it expects."""


def is_refusing(task: Mapping[str, Json]) -> bool:
    """Return whether a task refuses a start that is not as it expects."""
    return mapping(task.get("start")).get("on_mismatch") == "refuse"


def compare_expected(task: Mapping[str, Json], own: StartState) -> list[FindingJson]:
    """Return what differs from the ``start`` of ``task``, a task as JSON; at most `MAX_FINDINGS`.

    A part that was not observed, or has too many facts to name them, is not compared.
    """
    start = mapping(task.get("start"))
    tabs = [expected_address(task.get("origin"), name) for name in start.get("tabs", ())]
    found = [
        *_missing("tabs", tabs, own),
        *_missing("files", start.get("files", ()), own),
        *_unexpected("files", start.get("absent_files", ()), own),
    ]
    return found[:MAX_FINDINGS]


def _missing(part: ExpectedPart, names: Sequence[str], own: StartState) -> Iterator[FindingJson]:
    """Yield a finding for each expected name that the start has not."""
    facts = _facts_of(part, own)
    if facts is not None:
        for name in names:
            if name not in facts:
                yield expected_finding(part, "missing", name)


def _unexpected(part: ExpectedPart, names: Sequence[str], own: StartState) -> Iterator[FindingJson]:
    """Yield a finding for each unwanted name that the start has."""
    facts = _facts_of(part, own)
    if facts is not None:
        for name in names:
            if name in facts:
                yield expected_finding(part, "extra", name)


def _facts_of(part: Part, own: StartState) -> Mapping[str, str] | None:
    return own[part]["facts"] if part in own else None
