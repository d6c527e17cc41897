"""What the observer script says through its binding, checked field by field before it is
believed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from agentd.sources.cdp.attach.precedence import ANSWERED
from agentd.sources.cdp.folds import tabs, visual
from agentd.sources.cdp.folds.page_fields import FIELDS, check_fields
from agentd.sources.cdp.state.gaps import PAGE_PARTS, gap
from agentd.sources.cdp.state.protocol import (
    BindingCalled,
    FrameNavigated,
    PrecedenceKnown,
    WorldCreated,
)
from agentd.sources.cdp.state.state import BrowserState, CdpObservation, Handler, SessionState

MAX_HELD = 2000
HIDDEN = "the page can keep a person's input from its observer"


def handle_world(
    browser: BrowserState, session: SessionState, params: WorldCreated
) -> Iterator[CdpObservation]:
    """The frame of a script context is known; what its observer said before that waits no
    longer."""
    context, frame = params["executionContextId"], params["frameId"]
    session.contexts[context] = frame
    for payload in session.held.pop(context, ()):
        yield from _handle_message(browser, session, frame, payload)


def handle_call(
    browser: BrowserState, session: SessionState, params: BindingCalled
) -> Iterable[CdpObservation]:
    """An observer calls the binding; from a context whose frame is not known yet that waits."""
    context = params["executionContextId"]
    frame = session.contexts.get(context)
    if frame is not None:
        return _handle_message(browser, session, frame, params["payload"])
    if sum(map(len, session.held.values())) < MAX_HELD:
        session.held.setdefault(context, []).append(params["payload"])
    else:
        session.lost += 1
    return ()


def handle_reopened(
    _browser: BrowserState, session: SessionState, params: FrameNavigated
) -> Iterable[CdpObservation]:
    """A document is written anew, and with it went the observer's listeners."""
    session.reopened.add(params["frame"]["id"])
    return ()


def handle_precedence(
    _browser: BrowserState, session: SessionState, params: PrecedenceKnown
) -> Iterable[CdpObservation]:
    """It is known whether a reopened document's page can keep input from its observer."""
    frame = session.contexts.get(params["executionContextId"])
    if frame is not None and params["preceded"]:
        session.reopened.add(frame)
    elif frame is not None:
        session.reopened.discard(frame)
    return ()


HANDLERS: Mapping[str, Handler] = {
    "Page.createIsolatedWorld": handle_world,
    "Page.documentOpened": handle_reopened,
    ANSWERED: handle_precedence,
}
"""By message; a command's name stands for its reply."""


def drop_contexts(
    browser: BrowserState, session: SessionState, gone: str
) -> Iterator[CdpObservation]:
    """Drop the script contexts of the document that the frame ``gone`` had: another process may use
    their numbers again. What one of them may have kept to itself is a gap."""
    session.contexts = {
        context: frame
        for context, frame in session.contexts.items()
        if frame != gone and frame in browser.frames
    }
    if gone == session.root:
        session.held.clear()
    yield from hidden_until_left(session, (gone,))


def hidden_until_left(session: SessionState, frames: tuple[str, ...]) -> Iterator[CdpObservation]:
    """A gap where a document is left that may have kept a person's input from its observer until
    then."""
    if not session.reopened.isdisjoint(frames):
        session.reopened.difference_update(frames)
        yield from _hidden(PAGE_PARTS)


def release_held_events(session: SessionState, frame: str | None = None) -> list[CdpObservation]:
    """Take the clicks that a document, which is left, did not tell any more; without a ``frame``
    those of all documents of the session."""
    left = [key for key in session.held_events if frame in (None, key[0])]
    return [session.held_events.pop(key) for key in left]


class _Report(NamedTuple):
    """One message of a document's observer: its kind, its data, and the frame it came from."""

    browser: BrowserState
    session: SessionState
    frame: str
    kind: str
    data: dict[str, Any]

    @property
    def is_of_shown_page(self) -> bool:
        """Whether the main frame of a page that is shown reports."""
        session = self.session
        return session.is_page and not session.hidden and self.frame == session.root


def _handle_message(
    browser: BrowserState, session: SessionState, frame: str, payload: str
) -> Iterable[CdpObservation]:
    """Hand a word of the page's script to what handles its kind; kinds that are not known tell
    nothing."""
    kind, data = orjson.loads(payload)
    report = _Report(browser, session, frame, kind, data)
    if kind in _HANDLERS:
        return _HANDLERS[kind](report)
    if kind in FIELDS:
        return (_checked_observation(report),)
    return ()


def _checked_observation(report: _Report) -> CdpObservation:
    """The observation of a kind that the page reports itself: no field but those of its kind."""
    kept = check_fields(report.kind, report.data)
    if report.kind == "form.submitted":
        form = kept.setdefault("form", {})
        form["action"] = report.browser.secrets.mask_url(form.get("action", ""))
    if not report.browser.settled and "baseline" in FIELDS[report.kind]:
        kept["baseline"] = True
    where = {"tab": report.session.tab, "frame": report.frame}
    return CdpObservation(report.kind, where | kept)


def _handle_secret(report: _Report) -> Iterable[CdpObservation]:
    report.browser.secrets.add_field(report.data)
    return ()


def _handle_title(report: _Report) -> Iterable[CdpObservation]:
    """Report a tab's title; a prerendered page keeps it until it is shown."""
    browser, session = report.browser, report.session
    title = report.data.get("title")
    if not isinstance(title, str) or report.frame != session.root or not session.is_page:
        return ()
    if session.hidden:
        session.title = title
        return ()
    return tabs.record_title(browser, session.tab, title, browser.frames[report.frame].url)


def _handle_front(report: _Report) -> Iterable[CdpObservation]:
    """Report that a page came to the front, or left it."""
    if not report.is_of_shown_page:
        return ()
    return tabs.record_focus(report.browser, report.session, report.data.get("front") is True)


def _handle_visual(report: _Report) -> Iterable[CdpObservation]:
    """Report an event of the visual record, of pages that are shown."""
    if not report.is_of_shown_page:
        return ()
    return (CdpObservation(report.kind, {**report.data, "tab": report.session.tab}),)


def _handle_left(report: _Report) -> Iterable[CdpObservation]:
    """Note that a document was left, so that what comes later is known to be of another."""
    if report.frame in report.browser.frames:
        report.browser.frames[report.frame].marks.add("left")
    return ()


def _handle_late_observer(report: _Report) -> Iterable[CdpObservation]:
    """Report a gap where somebody acted in a young page before its observer was there."""
    # What stands within the page has its observer in time.
    if report.session.arrival is None or report.frame != report.session.root:
        return ()
    return gap(PAGE_PARTS, "somebody acted in a document before its observer was there")


def _handle_hidden(report: _Report) -> Iterable[CdpObservation]:
    """Report which kinds of events the page may have kept from its observer."""
    return _hidden([kind for kind in report.data["of"] if kind in FIELDS])


def _hold_event(report: _Report) -> Iterable[CdpObservation]:
    """Keep a click that the page tells once the browser's tree was looked at, as it is if nobody
    can."""
    kind, data = report.data.get("kind"), report.data.get("event")
    if kind in FIELDS and isinstance(kind, str) and isinstance(data, dict):
        told = report._replace(kind=kind, data={**data, "unread": ["name", "role"]})
        report.session.held_events[report.frame, report.data["token"]] = _checked_observation(told)
    return ()


def _release_event(report: _Report) -> Iterable[CdpObservation]:
    report.session.held_events.pop((report.frame, report.data["token"]), None)
    return ()


def _handle_dropped(report: _Report) -> Iterable[CdpObservation]:
    """What a page made too much of: of some kinds, which blinds what hears those, or of
    anything."""
    count = int(report.data["count"])
    kinds = [kind for kind in report.data.get("of", ()) if kind in FIELDS]
    if kinds:
        reason = "the page changed faster than it may be looked at, or can't be read"
        return gap(kinds, f"{reason}: {count} changes went unseen")
    reason = "the page said more than it could keep"
    return (CdpObservation("events.dropped", {"source": "cdp", "count": count, "reason": reason}),)


_HANDLERS: Mapping[str, Callable[[_Report], Iterable[CdpObservation]]] = {
    "secret": _handle_secret,
    "title": _handle_title,
    "front": _handle_front,
    **dict.fromkeys(visual.SAID, _handle_visual),
    "left": _handle_left,
    "late": _handle_late_observer,
    "hidden": _handle_hidden,
    "event_held": _hold_event,
    "event_released": _release_event,
    "dropped": _handle_dropped,
}
"""What a document's observer reports that is not an event of a kind of its own."""


def _hidden(parts: Iterable[str]) -> Iterator[CdpObservation]:
    """These parts may lack what a person did, by the page's own doing: a gap, and an alarm for who
    looks after it."""
    yield from gap(parts, HIDDEN)
    yield CdpObservation("alarm.raised", {"source": "cdp", "part": "page", "reason": HIDDEN})
    yield CdpObservation("alarm.ended", {"source": "cdp", "part": "page"})


def lost(session: SessionState) -> Iterator[CdpObservation]:
    """Say how much there was no room for, while it waited; of a page that nobody was shown that is
    no loss."""
    if session.lost and not session.hidden:
        count, session.lost = session.lost, 0
        reason = "more happened in a page than may wait until its document or its history is known"
        yield CdpObservation("events.dropped", {"source": "cdp", "count": count, "reason": reason})
