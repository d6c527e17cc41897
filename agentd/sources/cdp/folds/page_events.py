"""What the observer script says through its binding, checked field by field before it is
believed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import orjson

from agentd.sources.cdp.attach.precedence import ANSWERED
from agentd.sources.cdp.folds import tabs, visual
from agentd.sources.cdp.folds.page_fields import FIELDS, checked
from agentd.sources.cdp.state.gaps import PAGE_PARTS, gap
from agentd.sources.cdp.state.state import BrowserState, CdpObservation, Params, SessionState

MAX_HELD = 2000
HEARD = ("Runtime.bindingCalled", "Page.createIsolatedWorld", "Page.documentOpened", ANSWERED)
"""The messages that `told` folds."""
HIDDEN = "the page can keep a person's input from its observer"


def fold(
    browser: BrowserState, session: SessionState, binding: str, method: str, params: Params
) -> Iterator[CdpObservation]:
    """Fold one call of the binding; ``Page.createIsolatedWorld`` stands for that command's reply.

    A call from a context whose frame is not known yet waits for that reply.
    """
    if method == "Page.createIsolatedWorld":
        context = params["executionContextId"]
        session.contexts[context] = params["frameId"]
        for payload in session.held.pop(context, ()):
            yield from _handle_message(browser, session, params["frameId"], payload)
    elif method == "Runtime.bindingCalled" and params["name"] == binding:
        context = params["executionContextId"]
        frame = session.contexts.get(context)
        if frame is not None:
            yield from _handle_message(browser, session, frame, params["payload"])
        elif sum(map(len, session.held.values())) < MAX_HELD:
            session.held.setdefault(context, []).append(params["payload"])
        else:
            session.lost += 1
    elif method == "Page.documentOpened":
        session.reopened.add(params["frame"]["id"])
    elif method == ANSWERED and (frame := session.contexts.get(params["executionContextId"])):
        (session.reopened.add if params["preceded"] else session.reopened.discard)(frame)


def drop_contexts(
    browser: BrowserState, session: SessionState, method: str, params: Params
) -> Iterator[CdpObservation]:
    """Drop the script contexts of documents that are no more: another process may use their numbers
    again. What one of them may have kept to itself is a gap."""
    if method == "Page.frameNavigated":
        gone = params["frame"]["id"]
    elif method == "Page.frameDetached":
        gone = params["frameId"]
    else:
        return
    kept = {
        one: frame
        for one, frame in session.contexts.items()
        if frame != gone and frame in browser.frames
    }
    session.contexts = kept
    if gone == session.root:
        session.held.clear()
    yield from hidden_until_left(session, (gone,))


def hidden_until_left(session: SessionState, frames: tuple[str, ...]) -> Iterator[CdpObservation]:
    """A gap where a document is left that may have kept a person's input from its observer until
    then."""
    if not session.reopened.isdisjoint(frames):
        session.reopened.difference_update(frames)
        yield from _hidden(PAGE_PARTS)


def _handle_message(
    browser: BrowserState, session: SessionState, frame: str, payload: str
) -> Iterator[CdpObservation]:
    kind, data = orjson.loads(payload)
    if kind == "secret":
        browser.secrets.add_field(data)
        return
    if kind == "title":
        if isinstance(data.get("title"), str) and frame == session.root and session.is_page:
            if session.hidden:
                session.title = data["title"]
            else:
                yield from tabs.titled(
                    browser, session.tab, data["title"], browser.frames[frame].url
                )
        return
    if kind == "front":
        if _is_main(session, frame):
            yield from tabs.focused(browser, session, data.get("front") is True)
        return
    if kind in visual.SAID:
        if _is_main(session, frame):
            yield CdpObservation(kind, {**data, "tab": session.tab})
        return
    if kind == "late":
        if (
            session.arrival is not None and frame == session.root
        ):  # what stands within has its observer in time
            yield from gap(PAGE_PARTS, "somebody acted in a document before its observer was there")
        return
    if kind == "hidden":
        yield from _hidden([kind for kind in data["of"] if kind in FIELDS])
        return
    if kind == "dropped":
        yield from _dropped(data)
        return
    if kind not in FIELDS:
        return
    kept = checked(kind, data)
    if kind == "form.submitted":
        form = kept.setdefault("form", {})
        form["action"] = browser.secrets.mask_url(form.get("action", ""))
    if not browser.settled and "baseline" in FIELDS[kind]:
        kept["baseline"] = True
    yield CdpObservation(kind, {"tab": session.tab, "frame": frame} | kept)


def _hidden(parts: Iterable[str]) -> Iterator[CdpObservation]:
    """These parts may lack what a person did, by the page's own doing: a gap, and an alarm for who
    looks after it."""
    yield from gap(parts, HIDDEN)
    yield CdpObservation("alarm.raised", {"source": "cdp", "of": "page", "reason": HIDDEN})
    yield CdpObservation("alarm.ended", {"source": "cdp", "of": "page"})


def _dropped(data: Params) -> Iterator[CdpObservation]:
    """What a page made too much of: of some kinds, which blinds what hears those, or of
    anything."""
    count = int(data["count"])
    if kinds := [kind for kind in data.get("of", ()) if kind in FIELDS]:
        why = (
            f"the page changed faster than it may be looked at, or can't be read: {count} changes"
            " went unseen"
        )
        yield from gap(kinds, why)
    else:
        yield CdpObservation(
            "journal.dropped",
            {"source": "cdp", "count": count, "reason": "the page said more than it could keep"},
        )


def lost(session: SessionState) -> Iterator[CdpObservation]:
    """Say how much there was no room for, while it waited; of a page that nobody was shown that is
    no loss."""
    if session.lost and not session.hidden:
        count, session.lost = session.lost, 0
        reason = "more happened in a page than may wait until its document or its history is known"
        yield CdpObservation("journal.dropped", {"source": "cdp", "count": count, "reason": reason})


def _is_main(session: SessionState, frame: str) -> bool:
    return session.is_page and not session.hidden and frame == session.root
