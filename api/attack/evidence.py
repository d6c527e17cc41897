"""Adversaries of single events: one that shows a milestone is missing, or comes too early."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from api.attack.logs import READINGS, is_framework, with_first, without
from api.attack.scores import TOLERANCE, Limit, LogScore, Oracle, score_log
from detectors.model.types import Event

Made = Iterator[tuple[str, Iterable[Event], Limit]]
MAX_EVENTS = 16
"""Events of one milestone that are dropped, one after the other: the latest."""
MAX_REPEATS = 64
"""Repetitions of an event that are dropped with it."""
_PROOF = ("request.", "file.", "folder.", "probe.", "process.", "download.", "message.")
_PROOFS = ("agent.tool_returned",)
_SHOWN = (
    *("page.", "tab.", "window.", "notification."),
    *("text.appeared", "text.shown", "element.appeared", "element.state_changed"),
)
_CLAIMED = ("agent.answered", "agent.tool_called")


def standing_of(kind: str) -> int:
    """How well an event of ``kind`` shows that something is done: 3 if a server, a file or the
    system itself says so, 2 if it is an act of the user, 1 if a page shows it or the agent says
    it."""
    if kind.startswith(_PROOF) or kind in _PROOFS:
        return 3
    if kind.startswith(_SHOWN) or kind in _CLAIMED:
        return 1
    return 2


def drop_evidence(oracle: Oracle) -> Made:
    """Each event that shows a milestone is dropped, with its repetitions. The milestone may pay in
    full only by other evidence of at least the same standing; what needs it pays nothing then."""
    for id in oracle.ids:
        for seq in _droppable(oracle, id)[-MAX_EVENTS:]:
            kind = oracle.by_seq[seq].kind
            gone, left = _drop_repeatedly(oracle, id, {seq})
            if _is_other_proof(oracle, left, id, standing_of(kind)):
                kept = oracle.score.paid(id)
            else:
                kept = _kept_without(oracle, id, gone)
            limit = oracle.limit_without(id, kept)
            variant = f"{id} without event {seq} {kind}"
            yield variant, without(oracle.events, gone), limit


def reorder_evidence(oracle: Oracle) -> Made:
    """What must come after another milestone (`after`, `since`) happens first of all. What stands
    (an address, a file's content, what must hold at the end) may still pay, once that came."""
    for id in oracle.ids:
        before = [name for name in oracle.order_predecessors(id) if oracle.score.paid(name) > 0]
        own = _own_occurrences(oracle, id, before)
        if not before or not own:
            continue
        moved, _ = _drop_repeatedly(oracle, id, own)
        earliest = min(seq for name in before for seq in oracle.score.evidence(name))
        if max(moved) < earliest:
            continue  # the oracle does it first, too
        yield f"{id} first", with_first(oracle.events, moved), oracle.limit_without(id, 0.0)


def _droppable(oracle: Oracle, id: str) -> list[int]:
    """The events that show a milestone, but for those that are written whatever happens."""
    return [seq for seq in oracle.score.evidence(id) if not is_framework(oracle.by_seq[seq])]


def _own_occurrences(oracle: Oracle, id: str, before: Iterable[str]) -> set[int]:
    """The events of a milestone's own condition that happen, and show none of those before it."""
    if oracle.rules.task.milestones[oracle.rules.index[id]].must_hold_at_end:
        return set()
    of_others: set[int] = set()
    for name in before:
        of_others.update(oracle.score.evidence(name))
    kinds = oracle.event_kinds(id, occurrences=True) - READINGS
    own = {seq for seq in _droppable(oracle, id) if oracle.by_seq[seq].kind in kinds}
    return own - of_others


def _drop_repeatedly(oracle: Oracle, id: str, first: Collection[int]) -> tuple[set[int], LogScore]:
    """Drop events, and further ones of their kinds that then show the milestone in their place.
    Return all that were dropped, and what the log without them pays."""
    kinds = {oracle.by_seq[seq].kind for seq in first}
    known = set(oracle.score.evidence(id))
    gone = set(first)
    while True:
        left = score_log(oracle.rules, without(oracle.events, gone))
        again = {seq for seq in left.evidence(id) if oracle.by_seq[seq].kind in kinds} - known
        if again <= gone or len(gone) > MAX_REPEATS:
            return gone, left
        gone |= again


def _kept_without(oracle: Oracle, id: str, gone: Collection[int]) -> float:
    """What a milestone may still pay in parts that the events did not show."""
    own = (payout for payout in oracle.score.payouts if payout.id == id)
    return sum((payout.worth for payout in own if not oracle.rests_on(payout, gone)), 0.0)


def _is_other_proof(oracle: Oracle, left: LogScore, id: str, standing: int) -> bool:
    """Whether the milestone still pays, by evidence that shows it no worse."""
    if left.paid(id) <= TOLERANCE:
        return False
    kinds = {oracle.by_seq[seq].kind for seq in left.evidence(id)}
    return any(standing_of(kind) >= standing for kind in kinds)
