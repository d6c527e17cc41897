"""What the service tells a daemon of an episode: what to listen for, nothing of what would be
right. `detectors.task.ruleset.Ruleset.plan` makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict


class ProbePlan(TypedDict):
    """One probe: when it is asked, and how long that may take. What its ``kind`` needs besides
    stands beside these."""

    id: str
    kind: str
    when: Sequence[str]
    budget_ms: float


class EpisodePlan(TypedDict, total=False):
    """An older service leaves out what it does not know; `quiet_ms` and `settle_ms` are there
    always. ``hears`` None, or missing: a recording for no task in particular, of every kind but
    those that are *asked* (`detectors.model.kinds.reported_kinds` says which are reported).

    ``also``, ``mask`` and ``visual`` are the daemon's own settings, put in beside the task's.
    """

    episode: str
    task: str
    digest: str
    hears: Sequence[str] | None
    guarded: Sequence[str] | None
    quiet_ms: int
    settle_ms: int
    text: bool
    origin: str | None
    probes: Sequence[ProbePlan]
    file_reads: Sequence[Mapping[str, str]]
    tree_bytes: int
    attributes: Sequence[str]
    around: Sequence[object]
    cookies: Sequence[str]
    elements: Sequence[Mapping[str, object]]
    points: Sequence[object]
    selectors: Sequence[str]
    regions: Sequence[Sequence[int]]
    text_regions: Sequence[Sequence[int]]
    request_bodies: Sequence[object]
    request_headers: Sequence[str]
    response_bodies: Sequence[object]
    response_headers: Sequence[str]
    also: Sequence[str]
    mask: Sequence[str]
    visual: int
