"""The browser source: one attachment at a time, told to the sink; raises SourceLostError when the
browser is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import structlog

from agentd.core.patience import DEFAULT_PATIENCE, Patience
from agentd.core.plan import EpisodePlan
from agentd.core.source import FenceLateError, Sink, SourceLostError
from agentd.sources.cdp.attach.attach import HEARD, SessionSetup
from agentd.sources.cdp.attach.script import PageScript, bundle
from agentd.sources.cdp.folds.normaliser import Normaliser
from agentd.sources.cdp.folds.page_trees import FrameAddress, PageTrees, unread_document
from agentd.sources.cdp.network import first_calls, outliving, script_requests
from agentd.sources.cdp.state.addresses import bound_address, bound_addresses
from agentd.sources.cdp.state.capture_plan import CapturePlan
from agentd.sources.cdp.state.gaps import PAGE_PARTS, gap
from agentd.sources.cdp.state.protocol import HistogramsReply
from agentd.sources.cdp.state.state import (
    BrowserState,
    CdpObservation,
    SessionState,
    remember,
)
from agentd.sources.cdp.transport.address import websocket_address
from agentd.sources.cdp.transport.connection import CdpError, Connection, Params, Reply
from detectors.model.kinds.looks import VisualTreeRecorded

Connect = Callable[[], Awaitable[Connection]]
"""Makes a new connection to the browser; raises SourceLostError where there is none."""

BASELINE_S = 3.0
"""How long the first look at what exists may take before the source counts as ready, in seconds."""

LATE_S = 2.0
"""How long a step's seal waits for a page that is busy, in seconds."""
PATIENT_S = 0.5
"""From so many seconds on a fence gives a new tab time to answer; a shorter one says nothing."""
TREE_S = 0.5
"""How long a seal waits for the trees of pages, in seconds; what is late is recorded as such."""
MAX_TREES = 16
"""Documents that are looked at, at the end of one step."""
MIN_ANSWER_S = 0.05
"""A wait that is too short to say of a page that it did not answer."""
REST_S = 0.06
"""As long as a page works off what it is behind with at once (page/slices.js), in seconds."""

log = structlog.get_logger(__name__)


class CdpSource:
    """Watches a browser over its DevTools port, as `Source` in agentd/core/source.py says.

    ``endpoint``: http://127.0.0.1:PORT; ``profile``: the browser's --user-data-dir (then a
    restarted browser is found on its new port); ``plan``: the episode's plan, of which ``hears``,
    ``also``, ``attributes``, ``mask``, ``text``, and what `CapturePlan` names. ``patience``
    multiplies the times that browser and pages have for an answer.
    """

    name = "cdp"

    def __init__(
        self,
        endpoint: str | None,
        profile: Path | None,
        plan: EpisodePlan,
        connect: Connect | None = None,
        patience: Patience = DEFAULT_PATIENCE,
    ) -> None:
        self._patience = patience
        self._connect = connect or partial(_over_websocket, endpoint, profile)
        self._plan = plan
        self._asks = CapturePlan.from_plan(plan)
        self._tabs: set[str] = set()
        self._frames: dict[str, str] = {}  # child frame -> its tab
        self._documents: dict[str, str] = {}  # loader -> from where it was loaded
        self._live: _AttachmentRun | None = None

    def recall(self, events: Iterable[tuple[int, str, Mapping[str, Any]]]) -> None:
        """Told before the first `run` what was reported before the daemon was restarted: tabs and
        frames may be gone since."""
        standing: dict[
            str, tuple[str, str]
        ] = {}  # frame -> its loader, and from where it was loaded
        for _, kind, data in events:
            if kind == "page.navigated":
                self._recall_document(standing, data)
            self._note_told(kind, data)
        for loader, address in standing.values():
            remember(self._documents, loader, address)

    def _note_told(self, kind: str, data: Mapping[str, Any]) -> None:
        """Keep which tabs and frames stand by what was told of them: of one that is gone when the
        browser is looked at anew, that is told."""
        if kind == "tab.opened":
            self._tabs.add(data["tab"])
        elif kind == "tab.closed":
            self._tabs.discard(data["tab"])
        elif kind == "page.navigated" and not data["main"]:
            remember(self._frames, data["frame"], data["tab"])
        elif kind == "frame.detached":
            self._frames.pop(data["frame"], None)

    def _recall_document(
        self, standing: dict[str, tuple[str, str]], data: Mapping[str, Any]
    ) -> None:
        """Note in ``standing`` the document that a frame has, and keep from where it was loaded
        where script gives it another address."""
        frame = data["frame"]
        if not data["same_document"]:
            loaded = data.get("document", data["url"])
            remember(standing, frame, (data.get("loader", ""), bound_address(loaded)))
        elif frame in standing:
            remember(self._documents, *standing[frame])

    async def run(self, sink: Sink, ready: Callable[[], None]) -> None:
        """Attach, report the baseline, call ``ready`` once, report until cancelled or the browser
        is lost."""
        bundle()  # a missing bundle is said before anything else

        def tell(kind: str, data: Mapping[str, Any]) -> None:
            self._note_told(kind, data)
            sink(kind, bound_addresses(kind, data))

        connection = await self._connect()
        script = PageScript.new(self._plan)
        fold = Normaliser(
            script.binding, script.salt, self._asks, live=True, documents=self._documents
        )
        live = self._live = _AttachmentRun(
            connection, script, self._asks, tell, self._patience, fold
        )
        reader = asyncio.create_task(connection.run(live.take))
        try:
            await self._attach(live, reader, tell)
            ready()
            await reader
        finally:
            self._live = None
            self._keep(live.normaliser.browser)
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
            await connection.close()

    async def fence(self, timeout_s: float) -> None:
        """Return once everything that happened before the call has reached the sink, or after the
        timeout. Raises `FenceLateError` where the browser itself has not answered by then: nobody
        knows what else it has to tell."""
        if self._live is not None and not await self._live.fence(timeout_s):
            raise FenceLateError

    async def before_seal(self, step: int | None, *, closing: bool) -> None:
        """Wait for pages that are busy, for what they would tell of the step; what takes too long
        is a gap."""
        if self._live is not None:
            await self._live.catch_up(self._patience.extend(LATE_S))
        if self._live is not None:
            await self._live.record_trees()
        if self._live is not None and closing:
            self._live.end()

    async def before_first_step(self) -> None:
        """Record what stands in the pages when the agent begins, where the task wants that."""
        if self._live is not None:
            await self._live.record_trees()

    def after_seal(self, step: int) -> None:
        """Do nothing: the browser reports by itself."""

    async def _attach(self, live: _AttachmentRun, reader: asyncio.Task[None], sink: Sink) -> None:
        """Attach to all that stands there, and report what ended while nobody watched. Raises
        `SourceLostError`."""
        live.ask_profile()
        live.count_requests()
        live.count_calls(fenced=True)
        beginning = asyncio.create_task(live.attachment.begin(self._patience.extend(BASELINE_S)))
        try:
            await asyncio.wait((beginning, reader), return_when=asyncio.FIRST_COMPLETED)
            if not beginning.done():
                reader.result()  # raises SourceLostError: the browser went away while we attached
            await beginning
        except CdpError as error:
            raise SourceLostError(f"the browser refused to be watched: {error}") from None
        finally:
            beginning.cancel()
            await asyncio.gather(beginning, return_exceptions=True)
        browser = live.normaliser.browser
        for tab in sorted(self._tabs - set(browser.tabs)):
            sink("tab.closed", {"tab": tab})
        for frame, tab in list(self._frames.items()):
            if tab in browser.tabs and frame not in browser.frames:
                sink("frame.detached", {"tab": tab, "frame": frame})
        live.settle()
        log.info("The browser is watched.", tabs=len(browser.tabs))

    def _keep(self, browser: BrowserState) -> None:
        """Keep from where each document was loaded, for the next time that it is looked for."""
        for frame in browser.frames.values():
            if frame.loader and frame.loader not in self._documents:
                remember(self._documents, frame.loader, bound_address(frame.url))


async def _over_websocket(endpoint: str | None, profile: Path | None) -> Connection:
    return await Connection.open(await websocket_address(endpoint, profile))


class _AttachmentRun:
    """One attachment: raw messages go to the normaliser, then to the attachment, and what they say
    to the sink."""

    def __init__(
        self,
        connection: Connection,
        script: PageScript,
        asks: CapturePlan,
        sink: Sink,
        patience: Patience,
        normaliser: Normaliser,
    ) -> None:
        self._patience = patience
        self.normaliser = normaliser
        self.attachment = SessionSetup(connection, script, asks=asks, feed=self._feed)
        self._connection = connection
        self._trees = PageTrees(asks.tree_bytes, self.normaliser.browser.secrets)
        self._script = script
        self._counts = asks.workers
        self._sink = sink
        self._waits: dict[str, list[Reply]] = {}  # session -> what a fence waits for in it
        # Sessions that did not answer at a seal, and have said nothing since.
        self._stuck: set[str] = set()
        self._late: dict[str, tuple[str, ...]] = {}  # session -> what it has not told all of
        self._silent: set[str] = set()  # those of them that did not answer at all

    def take(self, session: str, method: str, params: Params) -> None:
        """Fold one message from the browser and set up what it asks for."""
        if not self.attachment.hears(session):
            return
        self._stuck.discard(session)
        self._feed(session, method, params)
        self.attachment.handle(session, method, params)
        if method == outliving.LEAVES:
            self.count_requests()
        elif method == outliving.LEFT and "parentId" not in params["frame"]:
            self.count_requests(outliving.OF_SCRIPTS)
            self.count_calls()
        if method in first_calls.LEAVES:
            self.normaliser.network.note_left()
        if method == "Page.javascriptDialogOpening":
            # The page stands still now: whoever waits for its answer is let go.
            for wait in self._waits.pop(session, ()):
                wait.cancel()

    def settle(self) -> None:
        """From here on what comes is news, not baseline."""
        for seen in self.normaliser.settle():
            self._tell(seen)

    async def fence(self, timeout_s: float) -> bool:
        """Return once all that happened before has reached the sink, or after the timeout; whether
        the browser answered.

        What a page is late with is a gap of the page's parts after `catch_up`. A document that
        waits for a late service worker is reported by then, too. Requests of a late worker are not
        lost: they go by the browser's process and are reported, and counted there, however busy the
        worker is (tests/cdp/test_writes.py).
        """
        browser = self._connection.send("Browser.getVersion")
        waiting = [
            browser,
            *self.count_requests(),
            *self.count_calls(fenced=True),
        ]
        flushes: dict[Reply, str] = {}
        for session, state in self.normaliser.browser.sessions.items():
            if not session or state.dialog is not None or state.crashed:
                continue
            flushed: list[Reply] = []
            if state.via:
                replies = self.attachment.knock(session)
            else:
                flushed = self.attachment.flush(session, state)
                replies = [*flushed, *self.attachment.coming(session)]
            waits = [asyncio.shield(reply) for reply in replies]
            if state.contexts:
                flushes |= dict.fromkeys(waits[: len(flushed)], session)
            self._waits.setdefault(session, []).extend(waits)
            waiting.extend(waits)
        done, late = await asyncio.wait(waiting, timeout=timeout_s)
        for wait in late:
            wait.cancel()  # or it would hold a failure that nobody asks for
        await asyncio.gather(*done, return_exceptions=True)  # a target that went away is no fault
        self._waits.clear()
        self._note_late(flushes, late)
        for seen in () if late else self.normaliser.settle_counts():
            self._tell(seen)
        for seen in self.normaliser.fenced(patient=timeout_s >= self._patience.extend(PATIENT_S)):
            self._tell(seen)
        return browser not in late

    def _wait_no_longer(self) -> None:
        """Report what waits for service workers: whose a document is stays unknown."""
        for session, state in list(self.normaliser.browser.sessions.items()):
            if state.unproven:
                given_up = {"loaders": list(state.unproven), "is_given_up": True}
                self._feed(session, HEARD, given_up)

    def ask_profile(self) -> None:
        """Learn which browser context is the browser's own."""

        def on_reply(result: Params) -> None:
            self.normaliser.browser.own_profile = result.get("defaultBrowserContextId", "")

        if self._counts:
            self._connection.send("Target.getBrowserContexts", {}, "", on_reply)

    def count_requests(self, *settled: str) -> list[Reply]:
        """Have the browser count its requests, where a rule hears of them. ``settled``: types of
        which all reports are in by then."""
        if not self._counts:
            return []
        network, send = self.normaliser.network, self._connection.send
        mark, scripts_mark = network.outliving.mark(), network.script_requests.mark()
        kept: HistogramsReply = {}

        def on_kept(result: Params) -> None:
            """Compare the browser's own counts with what was seen, and report what nobody saw."""
            kept.update(cast(HistogramsReply, result))
            network.outliving.compare(kept, mark)
            for seen in self.normaliser.settle_counts(*settled) if settled else ():
                self._tell(seen)

        def on_looked_up(result: Params) -> None:
            reply = cast(HistogramsReply, result)
            self.normaliser.compare_script_requests(kept, reply, scripts_mark)

        return [
            send(outliving.COMMAND, outliving.QUERY, "", on_kept),
            send(script_requests.COMMAND, script_requests.QUERY, "", on_looked_up),
        ]

    def count_calls(self, *, fenced: bool = False) -> list[Reply]:
        """Have the browser count the pages that called `fetch` or XMLHttpRequest, where a rule
        hears requests."""
        if not self._counts:
            return []

        def on_reply(result: Params) -> None:
            """Compare the browser's own counts of first calls, and report what nobody saw."""
            reply = cast(HistogramsReply, result)
            for seen in self.normaliser.compare_first_calls(reply, fenced=fenced):
                self._tell(seen)

        return [self._connection.send(first_calls.COMMAND, first_calls.QUERY, on_reply=on_reply)]

    def _note_late(self, flushes: Mapping[Reply, str], late: Collection[Reply]) -> None:
        """Whose documents did not answer, or have more to tell. What stood still at the last seal
        and has said nothing since (a tab that the browser froze) did nothing in between."""
        self._silent = {session for wait, session in flushes.items() if wait in late}
        self._stuck &= self._silent
        self._late = {}
        for wait, session in flushes.items():
            parts = PAGE_PARTS if wait in late else _behind(wait)
            if parts and session not in self._stuck:
                self._late[session] = tuple(dict.fromkeys((*self._late.get(session, ()), *parts)))

    @property
    def _awaits_more(self) -> bool:
        """Whether a page, a new tab or a service worker has not told all that it has to."""
        return bool(self._late) or self.normaliser.unheard or self.normaliser.is_unproven

    async def catch_up(self, timeout_s: float) -> None:
        """Fence again until no page and no service worker is late, or for so long; what is not told
        then is a gap."""
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout_s
        while self._awaits_more:
            left = until - loop.time()
            if left <= self._patience.extend(MIN_ANSWER_S):
                break
            if self._late and not self._silent & set(self._late):
                await asyncio.sleep(REST_S)  # what is behind has the page's time only in pieces
            await self.fence(left)
        is_given_up = self.normaliser.is_unproven
        self._wait_no_longer()
        parts = dict.fromkeys(part for of in self._late.values() for part in of)
        for seen in gap(parts, "a page was too busy to tell all before the step was sealed"):
            self._tell(seen)
        for seen in self.normaliser.settle_counts():
            self._tell(seen)
        self._stuck |= self._silent
        self._late = {}
        if self.normaliser.unheard or is_given_up:
            for seen in self.normaliser.fenced():
                self._tell(seen)

    async def record_trees(self) -> None:
        """Record every document that is shown as a tree, within `TREE_S`; nothing where the task
        does not want it."""
        if not self._trees.max_bytes:
            return
        asked: dict[Reply, FrameAddress] = {}
        self._trees.begin()
        for session, state in self.normaliser.browser.sessions.items():
            if not session or state.via or state.hidden:
                continue
            root = FrameAddress(state.tab, state.root, state.is_page)
            blocked = _why_blocked(state)
            if blocked is not None:
                self._tell_tree(unread_document(root, blocked))
                continue
            for context, frame in list(state.contexts.items())[: MAX_TREES - len(asked)]:
                where = FrameAddress(state.tab, frame, state.is_page and frame == state.root)
                asked[self._ask_tree(session, context)] = where
        if asked:
            await asyncio.wait(asked, timeout=self._patience.extend(TREE_S))
        for reply, where in sorted(asked.items(), key=lambda item: not item[1].main):
            self._tell_tree(self._tree_of(reply, where))

    def _ask_tree(self, session: str, context: int) -> Reply:
        expression = self._script.take_tree(self._trees.max_bytes)
        params = {"contextId": context, "expression": expression, "silent": True}
        reply = self._connection.send(
            "Runtime.evaluate", {**params, "returnByValue": True}, session
        )
        self._waits.setdefault(session, []).append(reply)  # a dialog lets go of it
        return reply

    def _tree_of(self, reply: Reply, where: FrameAddress) -> VisualTreeRecorded:
        """Return a document's tree, or that it could not be read, and why."""
        if not reply.done() or reply.cancelled():
            reply.cancel()
            return unread_document(where, "the page did not answer in time")
        if reply.exception() is not None:
            return unread_document(where, "the document is gone")
        return self._trees.record(where, reply.result().get("result", {}).get("value"))

    def _tell_tree(self, data: VisualTreeRecorded) -> None:
        self._sink("visual.tree_recorded", data)

    def end(self) -> None:
        """Nobody waits for the answers that are still to come."""
        for seen in self.normaliser.network.unanswered():
            self._tell(seen)

    def _feed(self, session: str, method: str, params: Params) -> None:
        """Fold a message, report what comes of it, and fetch bodies that it calls for."""
        for seen in self.normaliser.feed(session, method, params):
            self._tell(seen)
        sessions = self.normaliser.browser.sessions
        unasked = self.normaliser.take_unasked()
        if unasked:
            self.attachment.hear_workers(session, _running_workers(sessions), unasked)
        missing = self.normaliser.network.take_missing()
        if not missing:
            return
        names = {id(state): name for name, state in sessions.items()}
        for body in missing:
            if id(body.session) in names:  # or its session is gone
                self.attachment.fetch(names[id(body.session)], body.command, body.number)

    def _tell(self, seen: CdpObservation) -> None:
        self._sink(seen.kind, seen.data)


def _running_workers(sessions: Mapping[str, SessionState]) -> list[str]:
    """The sessions of service workers that can answer: the browser keeps one that it stopped."""
    return [
        name
        for name, state in sessions.items()
        if state.via == "service_worker" and not state.crashed
    ]


def _why_blocked(state: SessionState) -> str | None:
    """Return why a page can't be read now; None: it can."""
    if state.crashed:
        return "the page crashed"
    return None if state.dialog is None else "a dialog is open"


def _behind(wait: Reply) -> Sequence[str]:
    """The kinds of which a document said, answering a flush, that it has more to tell."""
    if wait.cancelled() or wait.exception() is not None:
        return ()
    kinds = wait.result().get("result", {}).get("value")
    if not isinstance(kinds, list):
        return ()
    return [kind for kind in kinds if isinstance(kind, str)]


__all__ = ["CdpSource", "SourceLostError"]
