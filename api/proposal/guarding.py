"""What failures alone did: a task takes something off for it."""

from __future__ import annotations

from collections.abc import Sequence

from api.proposal.support import ConditionSupport, RecordedRun, fields_of
from api.suggestions.event_values import OPERATION

MAX_GUARDS = 5

GUARDED_DEEDS = ("element_clicked", "file_matches")

MIN_GUARD_RUNS = 2
"""Failures that did it, and successes that did not, below which a click or a file is no guard."""


def choose_guards(
    supports: Sequence[ConditionSupport], good: Sequence[RecordedRun], bad: Sequence[RecordedRun]
) -> list[ConditionSupport]:
    """Choose what failures alone did: requests, whatever they carried; else clicks and files of
    several failures, at least half of them, where several successes lack such a thing.

    A click may be harmless where a request has an effect. So one whose failures all sent a guarded
    request is none; and where runs are told different things, neither clicks nor files are: what is
    wrong in one may be right in the next.
    """
    requests = [one for one in supports if _is_guarded_request(one)]
    is_one_task = not any(log.values for log in (*good, *bad))
    least = max(MIN_GUARD_RUNS, (len(bad) + 1) // 2)
    deeds: dict[str, ConditionSupport] = {}
    if is_one_task and len(good) >= MIN_GUARD_RUNS:
        of_good = {one.candidate.family for one in supports if one.in_good}
        for one in supports:
            is_new = one.candidate.family not in of_good
            is_often = one.in_bad >= least and not _is_told_by(one, requests)
            if one.rule in GUARDED_DEEDS and is_new and is_often:
                deeds.setdefault(one.candidate.family, one)
    return [*requests, *deeds.values()][:MAX_GUARDS]


def _is_guarded_request(support: ConditionSupport) -> bool:
    """Return whether failures alone sent such a request, whatever it carried."""
    has_body = bool(fields_of(support) - {OPERATION})
    is_request = (
        support.rule == "request_accepted" and not has_body and not support.candidate.part_of
    )
    return is_request and support.in_bad > 0 and not support.in_good


def _is_told_by(support: ConditionSupport, requests: Sequence[ConditionSupport]) -> bool:
    """Return whether each failure that met a condition met one of ``requests`` too."""
    return all(
        place is None or any(one.in_failures[n] is not None for one in requests)
        for n, place in enumerate(support.in_failures)
    )
