"""One raw message in, observations out: the folds together, without I/O, so recordings can be run
through them.

Replies that carry facts come in as messages named after their command (`Page.getFrameTree`,
`Page.createIsolatedWorld`, `Page.getNavigationHistory`, `Network.enable`,
`Network.getRequestPostData`, `Network.getResponseBody`); `Page.observed` is the first answer of a
document's observer, `Page.listed` what a new tab's document has loaded, `Page.workersHeard` that
every service worker has answered since the documents ``loaders`` were committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, cast

from agentd.sources.cdp.folds import (
    copies,
    dialogs,
    downloads,
    navigation,
    page_events,
    sessions,
    tabs,
)
from agentd.sources.cdp.folds.history import MAX_LATE, release_late, release_waiting
from agentd.sources.cdp.folds.visual import SAID, Visual
from agentd.sources.cdp.network import worker_gap
from agentd.sources.cdp.network.network import Network
from agentd.sources.cdp.state.addresses import bound_address
from agentd.sources.cdp.state.capture_plan import CapturePlan
from agentd.sources.cdp.state.gaps import DOWNLOADS, REQUESTS, Blindness, gap
from agentd.sources.cdp.state.masking import Secrets, cover
from agentd.sources.cdp.state.protocol import (
    AttachedToTarget,
    BindingCalled,
    FrameNavigated,
    HistogramsReply,
    OfFrame,
    OfSession,
    OfTargetInfo,
    WindowOpen,
    WorkersHeard,
)
from agentd.sources.cdp.state.replaced import Replacements
from agentd.sources.cdp.state.request_backfill import Arrival
from agentd.sources.cdp.state.state import (
    BrowserState,
    CdpObservation,
    Handler,
    Params,
    SessionState,
    remember,
)

ERROR_STATUS = 400
_AT_ONCE = ("request.", "message.", "auth.", "gap.")
"""What is told of a page that is not shown (yet): it went out to the site all the same."""


TargetHandler = Callable[[BrowserState, str, Any], Iterable[CdpObservation]]
"""Takes one message about targets, with the session that it came from."""


class Normaliser:
    """The state of one attachment to one browser: a table from its messages to handlers, which
    return what is seen in one. ``live``: somebody asks the browser what the folds need;
    ``documents``: those of an earlier attachment, as in `BrowserState`, to go on with."""

    def __init__(
        self,
        binding: str,
        salt: str,
        plan: CapturePlan,
        *,
        live: bool = False,
        documents: dict[str, str] | None = None,
    ) -> None:
        self.browser = BrowserState(
            Secrets(salt, more=plan.mask, shown=plan.cookies),
            live=live,
            wanted=plan.kinds,
            documents={} if documents is None else documents,
            guards=live and plan.guards,
        )
        self.network = Network(plan, live=live)
        self.visual = Visual(plan.visual, self.browser.secrets)
        self._binding = binding
        self._replacements = Replacements()
        self._blindness = Blindness()
        self._unasked: list[str] = []  # unproven documents of which workers are still to be asked
        self._target_handlers: dict[str, TargetHandler] = {
            "Target.attachedToTarget": self._handle_attached,
            "Target.detachedFromTarget": self._handle_detached,
            "Target.targetCreated": self._handle_created,
            "Target.targetInfoChanged": self._handle_info_changed,
            "Target.targetDestroyed": tabs.handle_destroyed,
            "Target.targetCrashed": tabs.handle_crashed,
        }
        self._handlers: dict[str, Handler] = {
            **page_events.HANDLERS,
            **dialogs.HANDLERS,
            **downloads.HANDLERS,
            **{
                method: partial(self._handle_navigation, handler)
                for method, handler in navigation.HANDLERS.items()
            },
            "Page.frameNavigated": self._handle_frame_navigated,
            "Page.frameDetached": partial(self._handle_left, navigation.handle_detached),
            "Page.windowOpen": self._handle_window_open,
            "Page.workersHeard": self._handle_workers_heard,
            "Runtime.bindingCalled": self._handle_binding_called,
            "Inspector.targetCrashed": self._handle_crashed,
            "Inspector.targetReloadedAfterCrash": self._handle_reloaded,
        }

    def feed(self, session: str, method: str, params: Params) -> Iterator[CdpObservation]:
        """Fold one message of one session ("" is the browser's own, or the only page's)."""
        for event in self._fold(session, method, params):
            if event.kind in SAID:
                yield from self.visual.fold(event)
                continue
            cover(event.kind, event.data, self.browser.secrets)
            if self._blindness.tells(event):
                yield event
        yield from self._release_titles()

    def _release_titles(self, *, all_: bool = False) -> Iterator[CdpObservation]:
        """Report the titles whose document is there now; with ``all_`` the others too."""
        for event in tabs.release_titles(self.browser, all_=all_):
            cover(event.kind, event.data, self.browser.secrets)
            if self._blindness.tells(event):
                yield event

    def settle(self) -> Iterator[CdpObservation]:
        """From here on what comes is news, not baseline."""
        yield from self._release_titles(all_=True)
        yield from tabs.settle_baseline(self.browser)
        self.browser.settled = True

    def fenced(self, *, patient: bool = True) -> Iterator[CdpObservation]:
        """Every page has said what it had to say; ``patient``: one that has not answered had time
        to. While a document waits for service workers, so does what may come after it."""
        yield from filter(self._blindness.tells, self._fenced(patient))
        yield from self._release_titles(all_=not self.is_unproven)

    def settle_counts(self, *kinds: str) -> Iterator[CdpObservation]:
        """Report, of these types of requests or of all, those that the browser counted and no page
        reported."""
        yield from filter(self._blindness.tells, self.network.outliving.settle(*kinds))
        if not kinds:
            yield from filter(self._blindness.tells, self.network.script_requests.settle())

    def compare_script_requests(
        self, kept: HistogramsReply, looked_up: HistogramsReply, mark: int
    ) -> None:
        """Compare the browser's counts of what scripts send, asked for at ``mark``."""
        counts = self.network.script_requests
        counts.compare(kept, looked_up, mark)
        browser = self.browser
        browser.counts_kept = "histograms" in kept
        browser.counts_calls = counts.is_exact and browser.profiles == {browser.own_profile}

    def compare_first_calls(
        self, reply: HistogramsReply, *, fenced: bool
    ) -> Iterator[CdpObservation]:
        """Report calls of pages that the browser counted and that reported no request."""
        called = self.network.compare_calls(self.browser, reply, fenced=fenced)
        yield from filter(self._blindness.tells, called)

    @property
    def unheard(self) -> bool:
        """Whether a new tab has not answered yet, and nothing was said of that."""
        arrivals = (state.arrival for state in self.browser.sessions.values())
        return any(arrival is not None and arrival.unheard for arrival in arrivals)

    @property
    def is_unproven(self) -> bool:
        """Whether a document waits for what service workers have from the network."""
        return any(state.unproven for state in self.browser.sessions.values())

    def _fenced(self, patient: bool) -> Iterator[CdpObservation]:
        """Give up waiting for what should have come by now, and report what that leaves unknown."""
        if not self.is_unproven:
            yield from self.network.overdue()
        for state in self.browser.sessions.values():
            yield from page_events.lost(state)
            if state.via and state.enabled:
                yield from worker_gap.emit_worker_gap(state)
            if state.arrival is not None and patient:
                yield from state.arrival.fenced()
        yield from tabs.count_active_tabs(self.browser)

    def _fold(self, session: str, method: str, params: Params) -> Iterable[CdpObservation]:
        """Hand a message to what handles its domain; a reply of a session that is gone tells
        nothing."""
        if method.startswith("Target."):
            target_handler = self._target_handlers.get(method)
            return () if target_handler is None else target_handler(self.browser, session, params)
        if self.browser.live and session and session not in self.browser.sessions:
            return ()  # a reply that came after its session had gone
        state = self.browser.session_state(session)
        if method.startswith("Network."):
            return self._release_in_order(state, self._handle_network(state, method, params))
        return self._release_in_order(state, self._handle_page(session, state, method, params))

    def _handle_page(
        self, session: str, state: SessionState, method: str, params: Params
    ) -> Iterator[CdpObservation]:
        """A message of a page, a frame or a worker that is not about the network."""
        if state.arrival is not None and method in sessions.ARRIVAL_HANDLERS:
            yield from self._handle_arrival(state, state.arrival, method, params)
        known = self.browser.frames.get(str(params.get("frameId")))
        loader = known.loader if known is not None else ""
        if self._replacements.is_replaced(session, method, params, loader):
            message = cast("OfFrame", params)
            handle_replaced = navigation.handle_replaced
            yield from self._handle_left(handle_replaced, self.browser, state, message)
        handler = self._handlers.get(method)
        if handler is not None:
            yield from handler(self.browser, state, params)

    # -- the network, and a tab's first moments

    def _handle_network(
        self, state: SessionState, method: str, params: Params
    ) -> Iterator[CdpObservation]:
        """Fold a message about requests; in a young page those before it are filled in first."""
        if method == "Network.loadingFailed":
            navigation.note_failure(self.browser, params)
        arrival = state.arrival
        if arrival is None:
            yield from self._exchange(state, method, params)
            return
        for message in arrival.message(self.browser, method, params):
            yield from self._exchange(state, *message)
        yield from _report_missed(arrival)

    def _exchange(
        self, state: SessionState, method: str, params: Params
    ) -> Iterator[CdpObservation]:
        """Fold one message of a request, and mark the answer of one that was filled in."""
        if method == "Network.requestWillBeSent" and params.get("loaderId") == params["requestId"]:
            remember(self.browser.loaders, params["requestId"], params.get("hasUserGesture", True))
        if method == "Network.responseReceived" and params.get("loaderId") == params["requestId"]:
            copies.note_answer(self.browser, params)
        for event in self.network.fold(self.browser, state, method, params):
            completed = state.arrival.completed if state.arrival else ()
            if event.kind == "request.finished" and event.data.get("request") in completed:
                event.data["backfilled"] = True
            yield event

    def _handle_arrival(
        self, state: SessionState, arrival: Arrival, method: str, params: Params
    ) -> Iterator[CdpObservation]:
        """What a message says of a tab's first moments."""
        handler = sessions.ARRIVAL_HANDLERS[method]
        for message in handler(self.browser, state, arrival, params):
            yield from self._exchange(state, *message)
        yield from _report_missed(arrival)
        yield from arrival.answered()
        if arrival.over:
            state.arrival = None

    # -- targets

    def _handle_attached(
        self, browser: BrowserState, parent: str, params: AttachedToTarget
    ) -> Iterable[CdpObservation]:
        """Note a session and its place; a service worker may answer requests from now on."""
        sessions.record_attachment(browser, parent, params["sessionId"], params["targetInfo"])
        if params["targetInfo"]["type"] == "service_worker":
            self.network.note_served(browser)
        return ()

    def _handle_info_changed(
        self, browser: BrowserState, parent: str, params: OfTargetInfo
    ) -> Iterator[CdpObservation]:
        yield from tabs.handle_info(browser, parent, params)
        yield from sessions.handle_shown(browser, params["targetInfo"])
        yield from copies.handle_listed(browser, params["targetInfo"])

    def _handle_created(
        self, browser: BrowserState, parent: str, params: OfTargetInfo
    ) -> Iterator[CdpObservation]:
        yield from tabs.handle_info(browser, parent, params)
        yield from copies.handle_listed(browser, params["targetInfo"])

    def _handle_detached(
        self, browser: BrowserState, _parent: str, params: OfSession
    ) -> Iterator[CdpObservation]:
        """Forget a session, and report what ends with it: held events, requests, downloads, its
        frame."""
        state = browser.sessions.pop(params["sessionId"], None)
        browser.pages.above.pop(params["sessionId"], None)
        if state is None:
            return
        yield from page_events.release_held_events(state)
        yield from self._prove_documents(state, list(state.unproven), is_heard=False)
        yield from release_waiting(state)
        yield from page_events.lost(state)
        yield from page_events.hidden_until_left(state, tuple(state.reopened))
        if state.arrival is not None:
            yield from self._close_arrival(state, state.arrival)
        yield from downloads.page_gone(browser, state)
        yield from self.network.session_gone(state)
        if not state.is_page and not state.via:
            yield from navigation.detach_frame(browser, state.root)

    def _close_arrival(self, state: SessionState, arrival: Arrival) -> Iterator[CdpObservation]:
        """The tab is gone in its first moments."""
        for message in arrival.close(self.browser):
            yield from self._exchange(state, *message)
        yield from _report_missed(arrival)
        yield from arrival.answered(gone=True)
        known = self.browser.frames.get(state.root)
        if arrival.may_have_downloaded(known.url if known else ""):
            yield from gap(
                DOWNLOADS, "a tab was gone before it could be heard what it was opened for"
            )

    # -- pages

    def _handle_window_open(
        self, browser: BrowserState, state: SessionState, params: WindowOpen
    ) -> Iterable[CdpObservation]:
        browser.opening[state.tab] = params["url"]
        return ()

    def _handle_binding_called(
        self, browser: BrowserState, state: SessionState, params: BindingCalled
    ) -> Iterable[CdpObservation]:
        """Fold what the page's script says by its own binding; others are the page's."""
        if params["name"] != self._binding:
            return ()
        return page_events.handle_call(browser, state, params)

    def _handle_crashed(
        self, browser: BrowserState, state: SessionState, _params: Params
    ) -> Iterator[CdpObservation]:
        state.crashed = True
        state.contexts.clear()
        yield from self.network.session_crashed(state)
        yield from navigation.record_crash(browser, state)

    def _handle_reloaded(
        self, _browser: BrowserState, state: SessionState, _params: Params
    ) -> Iterable[CdpObservation]:
        state.crashed = False
        return ()

    def _handle_frame_navigated(
        self, browser: BrowserState, state: SessionState, params: FrameNavigated
    ) -> Iterator[CdpObservation]:
        handler = navigation.handle_navigated
        yield from page_events.release_held_events(state, params["frame"]["id"])
        self._replacements.commit(params["frame"]["id"], params["frame"].get("loaderId", ""))
        yield from self._handle_navigation(handler, browser, state, params)
        yield from page_events.drop_contexts(browser, state, params["frame"]["id"])

    def _handle_left(
        self, handler: Handler, browser: BrowserState, state: SessionState, params: OfFrame
    ) -> Iterator[CdpObservation]:
        """Handle a message after which a frame's document is gone, and its contexts with it."""
        yield from page_events.release_held_events(state, params["frameId"])
        yield from self._handle_navigation(handler, browser, state, params)
        yield from page_events.drop_contexts(browser, state, params["frameId"])

    def _handle_navigation(
        self, handler: Handler, browser: BrowserState, state: SessionState, params: Any
    ) -> Iterator[CdpObservation]:
        """What ``handler`` sees in a message about frames, and what of the network ends with a
        document."""
        for event in handler(browser, state, params):
            if event.kind == "frame.detached":
                yield event
                yield from self.network.document_gone(event.data["frame"], "")
            elif event.kind == "page.navigated" and not event.data["same_document"]:
                loader = event.data.get("loader", "")
                self._note_error_status(event, loader)
                if self.browser.live and self.network.is_unproven(loader):
                    self._await_workers(state, event, loader)
                else:
                    self._note_maker(event, loader)
                yield event
                yield from self.network.document_gone(event.data["frame"], loader)
            else:
                yield event

    def _note_error_status(self, event: CdpObservation, loader: str) -> None:
        """A document that the server answered with an error says so: it stands at the address all
        the same, and so does what is put in its place. Into the event itself, as its way through
        the history may be put in later."""
        frame = self.browser.frames[event.data["frame"]]
        status = self.network.status_of(loader)
        if status is not None and status >= ERROR_STATUS:
            frame.status = status
        if frame.status:
            event.data["status"] = frame.status

    def _await_workers(self, state: SessionState, event: CdpObservation, loader: str) -> None:
        """Hold a document back until what workers have from the network is heard; till then it is
        not known whose it is, also to an attachment that comes after this one."""
        event.data["document"] = ""
        remember(self.browser.documents, loader, "")
        state.unproven[loader] = event
        self._unasked.append(loader)

    def take_unasked(self) -> list[str]:
        """The documents of the session last fed that wait for an answer of each service worker,
        since this was last called."""
        unasked, self._unasked = self._unasked, []
        return unasked

    def _handle_workers_heard(
        self, _browser: BrowserState, state: SessionState, params: WorkersHeard
    ) -> Iterator[CdpObservation]:
        """Whatever workers had from the network for these documents has been heard by now, or is
        not waited for any more."""
        is_heard = not params.get("is_given_up", False)
        return self._prove_documents(state, params["loaders"], is_heard=is_heard)

    def _prove_documents(
        self, state: SessionState, loaders: Iterable[str], *, is_heard: bool
    ) -> Iterator[CdpObservation]:
        """Say of these documents of a page who made them, and report what waited for that."""
        for loader in loaders:
            event = state.unproven.pop(loader, None)
            if event is not None:
                del event.data["document"]
                remember(self.browser.documents, loader, bound_address(event.data["url"]))
                self._note_maker(event, loader, is_heard=is_heard)
        yield from release_late(state)

    def _note_maker(self, event: CdpObservation, loader: str, *, is_heard: bool = True) -> None:
        """A document that a service worker made up was not loaded from its address."""
        maker = self.network.maker_of(loader, is_heard=is_heard)
        if maker is not None:
            remember(self.browser.documents, loader, bound_address(maker))
            event.data["document"] = maker

    def _release_in_order(
        self, state: SessionState, events: Iterable[CdpObservation]
    ) -> Iterator[CdpObservation]:
        """Hold back what is seen in a page that is not shown (yet), or of which it is not known yet
        which way through its history it went, or who made its document; report the rest, after what
        was held back."""
        for event in events:
            if state.hidden and event.kind.startswith(_AT_ONCE):
                yield event
            elif (state.hidden or state.holds_back) and len(state.late) < MAX_LATE:
                state.late.append(event)
            elif state.hidden:
                state.lost += 1
            else:
                yield from self._prove_documents(state, list(state.unproven), is_heard=False)
                yield from release_waiting(state)
                yield event


def _report_missed(arrival: Arrival) -> Iterator[CdpObservation]:
    """A gap, once, where a tab's first moments hold requests of which nothing is known."""
    if arrival.missed and not arrival.said:
        arrival.said = True
        yield from gap(REQUESTS, arrival.missed)
