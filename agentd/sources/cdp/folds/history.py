"""Back or forward: the browser tells that a page goes through its history, and only its list says
which way.

The list is asked for after each move. What happens in the page until the answer is in waits, so
that the order stands. In a log nobody asks, so nothing waits.
"""

from __future__ import annotations

from collections.abc import Iterator

from agentd.sources.cdp.state.protocol import HistoryReply
from agentd.sources.cdp.state.state import CdpObservation, History, SessionState

MAX_LATE = 2000


def record_move(session: SessionState, data: dict[str, object], how: str) -> None:
    """The page went somewhere, as ``data`` of its ``page.navigated`` says; ``how``: through its
    "history" (which way, will be known), a "reload", after which it stands where it stood, or
    ""."""
    past = session.history
    if how == "reload":
        return
    if how != "history":
        past.gone_on = past.moves
    elif past.entry is not None:
        past.pending.append((past.moves, data))


def handle_history(session: SessionState, params: HistoryReply) -> Iterator[CdpObservation]:
    """`Page.getNavigationHistory` has answered what was asked after ``as_of`` moves (without
    ``entries``: refused)."""
    past = session.history
    entries = params.get("entries")
    as_of = params.get("as_of", 0)
    way = ""
    if entries:
        at = params["currentIndex"]
        numbers = [entry["id"] for entry in entries]
        way = _way(past, numbers, at)
        past.entry = numbers[at]
        past.known = as_of
    if all(move <= as_of for move, _ in past.pending):
        yield from release_waiting(session, way)


def release_waiting(session: SessionState, way: str = "") -> Iterator[CdpObservation]:
    """Tell what waited for the direction; nobody knows it where ``way`` is empty."""
    pending, session.history.pending = session.history.pending, []
    for _, data in pending:
        if way:
            data["navigation_type"] = way
    yield from release_late(session)


def release_late(session: SessionState) -> Iterator[CdpObservation]:
    """Report what was seen in a page since, once nothing holds it back."""
    if session.hidden or session.holds_back:
        return
    late, session.late = session.late, []
    yield from late


def _way(past: History, numbers: list[int], at: int) -> str:
    """Return "back" or "forward" as far as the tab's history tells, "" where it does not."""
    # Where the page moved on unasked, it stood further than at the last answer: then only a step
    # back past it is sure.
    if past.entry not in numbers:
        return ""
    stood = numbers.index(past.entry)
    further = past.gone_on > past.known
    if at < stood or (at == stood and further):
        return "back"
    return "forward" if at > stood and not further else ""
