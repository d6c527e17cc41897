"""One raw message in, observations out: the folds together, without I/O, so recordings can be run
through them.

Replies that carry facts come in as messages named after their command (`Page.getFrameTree`,
`Page.createIsolatedWorld`, `Page.getNavigationHistory`, `Network.enable`,
`Network.getRequestPostData`, `Network.getResponseBody`); `Page.observed` is the first answer of a
document's observer, `Page.listed` what a new tab's document has loaded.
"""

from __future__ import annotations

from collections.abc import Iterator

from agentd.sources.cdp.folds import dialogs, downloads, navigation, page_events, sessions, tabs
from agentd.sources.cdp.folds.history import MAX_LATE, released
from agentd.sources.cdp.folds.visual import SAID, Visual
from agentd.sources.cdp.network import worker_gap
from agentd.sources.cdp.network.network import Network
from agentd.sources.cdp.state.capture_plan import CapturePlan
from agentd.sources.cdp.state.gaps import DOWNLOADS, REQUESTS, Blindness, gap
from agentd.sources.cdp.state.masking import Secrets, cover
from agentd.sources.cdp.state.state import (
    BrowserState,
    CdpObservation,
    Params,
    SessionState,
    remember,
)

ERROR_STATUS = 400
_AT_ONCE = ("request.", "message.", "auth.", "gap.")
"""What is told of a page that is not shown (yet): it went out to the site all the same."""


class Normaliser:
    """The state of one attachment to one browser. ``live``: somebody asks the browser what the
    folds need."""

    def __init__(self, binding: str, salt: str, asks: CapturePlan, *, live: bool = False) -> None:
        secrets = Secrets(salt, more=asks.mask)
        secrets.shown = asks.cookies
        self.browser = BrowserState(secrets, live=live, wanted=asks.kinds)
        self.network = Network(asks, live=live)
        self.visual = Visual(asks.visual, self.browser.secrets)
        self._binding = binding
        self._blindness = Blindness()

    def feed(self, session: str, method: str, params: Params) -> Iterator[CdpObservation]:
        """Fold one message of one session ("" is the browser's own, or the only page's)."""
        for seen in self._fold(session, method, params):
            if seen.kind in SAID:
                yield from self.visual.fold(seen)
                continue
            cover(seen.kind, seen.data, self.browser.secrets)
            if self._blindness.tells(seen):
                yield seen

    def settle(self) -> Iterator[CdpObservation]:
        """From here on what comes is news, not baseline."""
        yield from tabs.settled(self.browser)
        self.browser.settled = True

    def fenced(self, *, patient: bool = True) -> Iterator[CdpObservation]:
        """Every page has said what it had to say; ``patient``: one that has not answered had time
        to."""
        yield from filter(self._blindness.tells, self._fenced(patient))

    @property
    def unheard(self) -> bool:
        """Whether a new tab has not answered yet, and nothing was said of that."""
        arrivals = (state.arrival for state in self.browser.sessions.values())
        return any(one is not None and one.unheard for one in arrivals)

    def _fenced(self, patient: bool) -> Iterator[CdpObservation]:
        yield from self.network.overdue()
        for state in self.browser.sessions.values():
            yield from page_events.lost(state)
            if state.via and state.enabled:
                yield from worker_gap.emit_worker_gap(state)
            if state.arrival is not None and patient:
                yield from state.arrival.fenced()
        yield from tabs.counted(self.browser)

    def _fold(self, session: str, method: str, params: Params) -> Iterator[CdpObservation]:
        domain = method.partition(".")[0]
        if domain == "Target":
            yield from self._target(session, method, params)
            return
        if self.browser.live and session and session not in self.browser.sessions:
            return  # a reply that came after its session had gone
        state = self.browser.session_state(session)
        for seen in self._of_page(state, domain, method, params):
            waits = state.hidden and not seen.kind.startswith(_AT_ONCE)
            if (waits or state.history.pending) and len(state.late) < MAX_LATE:
                state.late.append(seen)
            elif not waits:
                yield from released(state)
                yield seen
            else:
                state.lost += 1

    def _of_page(
        self, state: SessionState, domain: str, method: str, params: Params
    ) -> Iterator[CdpObservation]:
        if domain == "Network":
            yield from self._network(state, method, params)
        elif method in page_events.HEARD:
            yield from page_events.fold(self.browser, state, self._binding, method, params)
        elif method == "Inspector.targetCrashed":
            state.crashed = True
            state.contexts.clear()
            yield from navigation.crashed(self.browser, state)
        elif method == "Inspector.targetReloadedAfterCrash":
            state.crashed = False
        elif domain == "Page":
            yield from self._arrives(state, method, params)
            for seen in navigation.fold(self.browser, state, method, params):
                yield self._with_error_status(seen)
                yield from self._handle_departure(seen)
            yield from page_events.drop_contexts(self.browser, state, method, params)
            yield from dialogs.fold(self.browser, state, method, params)
            yield from downloads.fold(self.browser, state, method, params)

    def _network(
        self, state: SessionState, method: str, params: Params
    ) -> Iterator[CdpObservation]:
        if method == "Network.loadingFailed":
            navigation.failed(self.browser, params)
        arrival = state.arrival
        if arrival is None:
            yield from self._exchange(state, method, params)
            return
        for message in arrival.message(self.browser, method, params):
            yield from self._exchange(state, *message)
        yield from self._missed(state)

    def _exchange(
        self, state: SessionState, method: str, params: Params
    ) -> Iterator[CdpObservation]:
        if method == "Network.requestWillBeSent" and params.get("loaderId") == params["requestId"]:
            remember(self.browser.loaders, params["requestId"], params.get("hasUserGesture", True))
        for seen in self.network.fold(self.browser, state, method, params):
            put_in = state.arrival.completed if state.arrival else ()
            if seen.kind == "request.finished" and seen.data.get("request") in put_in:
                seen.data["reconciled"] = True
            yield seen

    def _arrives(
        self, state: SessionState, method: str, params: Params
    ) -> Iterator[CdpObservation]:
        """What concerns a tab's first moments."""
        if method == "Page.windowOpen":
            self.browser.opening[state.tab] = params["url"]
        if state.arrival is None:
            return
        for message in sessions.arrives(self.browser, state, method, params):
            yield from self._exchange(state, *message)
        yield from self._missed(state)
        yield from state.arrival.answered()
        if state.arrival.over:
            state.arrival = None

    def _missed(self, state: SessionState) -> Iterator[CdpObservation]:
        arrival = state.arrival
        if arrival is not None and arrival.missed and not arrival.said:
            arrival.said = True
            yield from gap(REQUESTS, arrival.missed)

    def _target(self, session: str, method: str, params: Params) -> Iterator[CdpObservation]:
        if method == "Target.attachedToTarget":
            sessions.attached(self.browser, session, params["sessionId"], params["targetInfo"])
        elif method == "Target.detachedFromTarget":
            state = self.browser.sessions.pop(params["sessionId"], None)
            self.browser.pages.above.pop(params["sessionId"], None)
            if state is not None:
                yield from self._detached(state)
        else:
            yield from tabs.fold(self.browser, method, params)
            if method == "Target.targetInfoChanged":
                yield from sessions.handle_shown(self.browser, params["targetInfo"])

    def _detached(self, state: SessionState) -> Iterator[CdpObservation]:
        yield from released(state)
        yield from page_events.lost(state)
        yield from page_events.hidden_until_left(state, tuple(state.reopened))
        if state.arrival is not None:
            for message in state.arrival.close(self.browser):
                yield from self._exchange(state, *message)
            yield from self._missed(state)
            yield from state.arrival.answered(gone=True)
            known = self.browser.frames.get(state.root)
            if state.arrival.may_have_downloaded(known.url if known else ""):
                yield from gap(
                    DOWNLOADS, "a tab was gone before it could be heard what it was opened for"
                )
        yield from downloads.page_gone(self.browser, state)
        yield from self.network.session_gone(state)
        if not state.is_page and not state.via:
            yield from navigation.detach_frame(self.browser, state.root)

    def _with_error_status(self, seen: CdpObservation) -> CdpObservation:
        """A document that the server answered with an error says so: it stands at the address all
        the same."""
        if seen.kind != "page.navigated" or seen.data["same_document"]:
            return seen
        status = self.network.status_of(seen.data.get("loader", ""))
        return (
            seen
            if status is None or status < ERROR_STATUS
            else CdpObservation(seen.kind, {**seen.data, "status": status})
        )

    def _handle_departure(self, seen: CdpObservation) -> Iterator[CdpObservation]:
        if seen.kind == "frame.detached" or (
            seen.kind == "page.navigated" and not seen.data["same_document"]
        ):
            yield from self.network.document_gone(seen.data["frame"], seen.data.get("loader", ""))
