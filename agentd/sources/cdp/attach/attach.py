"""Targets and sessions: attaches to every page and every frame in another process, and enables no
more than it hears.

Nothing here touches the page: no emulation, no focus, no dialog handling, no download behaviour,
and no `Runtime.enable`, which a page can notice. Without it a binding reaches only worlds that
exist when it is added, so it is added to each document's world as soon as the document is
committed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from agentd.core.source import SourceLostError
from agentd.sources.cdp.attach.element_internals import ElementInternals
from agentd.sources.cdp.attach.history_query import ANSWER, HistoryQuestion
from agentd.sources.cdp.attach.precedence import Precedence
from agentd.sources.cdp.attach.script import PageScript
from agentd.sources.cdp.attach.shadow_roots import Suspects
from agentd.sources.cdp.state.capture_plan import REPORTS, CapturePlan
from agentd.sources.cdp.state.replaced import Replacements
from agentd.sources.cdp.state.request_backfill import LISTING, is_outer
from agentd.sources.cdp.state.state import WORKERS, SessionState
from agentd.sources.cdp.state.targets import is_page
from agentd.sources.cdp.transport.connection import CdpError, Connection, Params, Reply

# A page is attached to from its tab: attached to directly, it would get no prerendering, which
# sites can tell.
_TABS = ("tab",)
_PAGES = ("page",)
# Whatever a task asks for: a service worker makes documents, and its requests show which.
_SERVICE = ("service_worker",)
_SHARED = ("shared_worker",)
_FRAMES = ("iframe",)
_NESTED = ("worker",)

HEARD = "Page.workersHeard"
"""Stands for the answers of all service workers, as documents of a page wait for them."""

Feed = Callable[[str, str, Params], None]


@dataclass(slots=True)
class _Young:
    """The main frame of a session that is new, the document in it, that one's script context, and
    whether it was complete when its list was last read."""

    frame: str
    loader: str = ""
    context: int = 0
    complete: bool = False


class SessionSetup:
    """Keeps every session of one connection set up. ``feed`` gets the replies that carry facts."""

    def __init__(
        self, connection: Connection, script: PageScript, *, asks: CapturePlan, feed: Feed
    ) -> None:
        self._connection = connection
        self._script = script
        self._asks = asks
        self._feed = feed
        tabs = (*_TABS, *_SERVICE)
        self._tabs = (*tabs, *_SHARED) if asks.workers else tabs
        self._frames = (*_FRAMES, *_NESTED) if asks.workers else _FRAMES
        self._initial = True
        self._coming: dict[Reply, str] = {}  # replies that carry facts -> their session
        self._of_workers: dict[Reply, str] = {}  # what documents wait for -> a worker's session
        self._left_out: set[str] = set()
        self._knocked: dict[str, Reply] = {}
        self._histories: dict[str, HistoryQuestion] = {}
        self._prepared: dict[str, str] = {}  # page that is prerendered -> its session
        # Sessions that came later, until their first document is complete.
        self._young: dict[str, _Young] = {}
        self._replacements = Replacements()
        self._suspects = Suspects(connection, script, self._watch)
        self._internals = ElementInternals(connection, script, self._watch)
        self._precedence = Precedence(connection, script, self._watch, feed)
        self._sources = {initial: script.source(initial=initial) for initial in (True, False)}
        self._handlers: dict[str, Callable[[str, Params], None]] = {
            "Target.attachedToTarget": self._handle_attached,
            "Target.detachedFromTarget": self._handle_detached,
            "Target.targetInfoChanged": self._handle_shown,
            "Page.frameNavigated": self._handle_navigated,
            "Page.navigatedWithinDocument": self._handle_navigated_within,
            "Page.lifecycleEvent": self._handle_lifecycle,
            "Runtime.bindingCalled": self._handle_binding_called,
            "Inspector.targetCrashed": self._handle_stopped,
        }

    async def begin(self, patience_s: float) -> None:
        """Attach to all that exists; returns when it has been told, or after ``patience_s``.

        A tab that stands in a dialog answers only after the dialog: nobody waits for it longer.
        """
        send = self._connection.send
        await send("Target.setDiscoverTargets", {"discover": True, "filter": [{"type": "page"}]})
        await send("Target.setAutoAttach", _auto_attach(self._tabs))
        deadline = asyncio.get_running_loop().time() + patience_s
        while self._coming and (left := deadline - asyncio.get_running_loop().time()) > 0:
            await asyncio.wait(
                tuple(self._coming), timeout=left, return_when=asyncio.FIRST_COMPLETED
            )
        self._initial = False

    def hears(self, session: str) -> bool:
        """Whether a session's messages count; those of the browser's own pages do not."""
        return session not in self._left_out

    def handle(self, session: str, method: str, params: Params) -> None:
        """Look at one message, after it has been told, for what has to be set up."""
        if self._replacements.is_replaced(session, method, params):
            self._bind(session, params["frameId"], params["loaderId"])
        if handler := self._handlers.get(method):
            handler(session, params)

    def _handle_attached(self, _parent: str, params: Params) -> None:
        self._attached(params["sessionId"], params["targetInfo"])

    def _handle_detached(self, _parent: str, params: Params) -> None:
        session = params["sessionId"]
        self._handle_stopped(session, params)
        self._knocked.pop(session, None)
        self._histories.pop(session, None)
        self._young.pop(session, None)
        self._prepared.pop(params.get("targetId", ""), None)

    def _handle_stopped(self, session: str, _params: Params) -> None:
        """Wait no longer for a worker that was stopped: the browser answers nothing for it."""
        for reply, worker in self._of_workers.items():
            if worker == session and not reply.done():
                reply.set_exception(CdpError("the worker was stopped"))

    def _handle_shown(self, _session: str, params: Params) -> None:
        """Note that a prerendered page is shown now, which moves its history."""
        if not params["targetInfo"].get("subtype"):
            self._moved(self._prepared.pop(params["targetInfo"]["targetId"], ""))

    def _handle_navigated(self, session: str, params: Params) -> None:
        """Prepare the frame's new document; what comes out of the cache has its frames listed
        anew."""
        self._bind(session, params["frame"]["id"], params["frame"].get("loaderId", ""))
        self._moved(session)
        if params.get("type") == "BackForwardCacheRestore":
            self._ask_tree(session)  # its frames come back without a word

    def _handle_navigated_within(self, session: str, _params: Params) -> None:
        self._moved(session)

    def _handle_lifecycle(self, session: str, params: Params) -> None:
        """List what a young page has loaded once its document says so."""
        young = self._young.get(session)
        if young is None or params.get("name") != "load":
            return
        if young.context and young.loader == params.get("loaderId"):
            self._ask_listing(session)

    def _handle_binding_called(self, session: str, params: Params) -> None:
        self._suspects.handle(session, params)
        self._internals.handle(session, params)
        self._precedence.handle(session, params)

    def fetch(self, session: str, command: str, number: str) -> None:
        """Ask by ``command`` for a body of the request ``number`` that was not sent along."""
        on_reply = partial(self._fetched, session, command, number)
        reply = self._connection.send(command, {"requestId": number}, session, on_reply)
        self._watch(session, reply)
        reply.add_done_callback(partial(self._not_fetched, session, command, number))

    def flush(self, session: str, state: SessionState) -> list[Reply]:
        """Make every document of the session tell what waits in it; also a round trip through its
        renderer."""
        if session in self._histories:
            self._histories[session].hurry()
        if session in self._young and self._young[session].context:
            self._ask_listing(session)
        send = self._connection.send
        flush = {"expression": self._script.flush(), "silent": True, "returnByValue": True}
        replies = [
            send("Runtime.evaluate", flush | {"contextId": one}, session) for one in state.contexts
        ]
        return replies or [send("Page.getFrameTree", {}, session)]

    def knock(self, session: str) -> list[Reply]:
        """A round trip through a worker and what else is under way there; nothing while it is too
        busy to answer."""
        before = self._knocked.get(session)
        if before is not None and not before.done():
            return []
        self._knocked[session] = self._connection.send("Runtime.getIsolateId", {}, session)
        return [self._knocked[session], *self.coming(session)]

    def coming(self, session: str) -> list[Reply]:
        """Replies under way in a session that carry facts about what has already happened."""
        return [reply for reply, one in self._coming.items() if one == session]

    def hear_workers(self, session: str, workers: Iterable[str], loaders: list[str]) -> None:
        """Have each of the service workers answer a question, so that what it has from the network
        for these documents of a page is heard, and then feed that."""
        asked = {self._connection.send("Runtime.getIsolateId", {}, one): one for one in workers}
        waited = set(asked)

        def on_end(reply: Reply) -> None:
            """Feed it after the last one; a worker that ended has nothing more to tell."""
            waited.discard(reply)
            is_over = reply.cancelled() or isinstance(reply.exception(), SourceLostError)
            if not waited and not is_over:
                self._feed(session, HEARD, {"loaders": loaders})

        for reply, worker in asked.items():
            self._of_workers[reply] = worker
            reply.add_done_callback(lambda done: self._of_workers.pop(done, None))
            reply.add_done_callback(on_end)
            self._watch(session, reply)
        if not waited:
            self._feed(session, HEARD, {"loaders": loaders})

    def _attached(self, session: str, info: Params) -> None:
        """Set a new session up as what it is: a tab, a page, a worker, or a page that nobody
        sees."""
        kind = info["type"]
        if kind == "tab":
            reply = self._connection.send("Target.setAutoAttach", _auto_attach(_PAGES), session)
            self._watch(session, reply)
        elif kind == "page" and not is_page(info):
            self._left_out.add(session)
            self._connection.send("Target.detachFromTarget", {"sessionId": session})
        elif kind in WORKERS:
            self._attached_worker(session, kind)
        else:
            self._attached_document(session, info)

    def _attached_document(self, session: str, info: Params) -> None:
        """Set a page, or a frame in a process of its own, up."""
        send = self._connection.send
        world = {
            "worldName": self._script.world,
            "source": self._sources[self._initial],
            "runImmediately": True,
        }
        # The network first: what is asked before is missed.
        send("Network.enable", self._asks.enabling(), session)
        if self._asks.guards:
            send(REPORTS, {"enable": True}, session)
        send("Page.enable", {}, session)
        send("Page.addScriptToEvaluateOnNewDocument", world, session)
        self._watch(session, send("Target.setAutoAttach", _auto_attach(self._frames), session))
        self._ask_tree(session)
        self._watch(session, send("Page.setLifecycleEventsEnabled", {"enabled": True}, session))
        if not self._initial:
            self._young[session] = _Young(info["targetId"])
        if info["type"] == "page":
            if info.get("subtype"):
                self._prepared[info["targetId"]] = session
            self._histories[session] = HistoryQuestion(
                partial(send, ANSWER, {}, session),
                partial(self._feed, session),
                partial(self._watch, session),
            )

    def _attached_worker(self, session: str, kind: str) -> None:
        """Listen to a worker's requests, and to workers that it starts itself."""
        # Its requests and nothing else: it is neither paused nor spoken to.
        send = self._connection.send
        on_reply = partial(self._feed, session, "Network.enable")
        self._watch(session, send("Network.enable", self._asks.enabling(), session, on_reply))
        if kind != "service_worker":
            send("Target.setAutoAttach", _auto_attach(_NESTED), session)

    def _ask_tree(self, session: str) -> None:
        """Ask for the frames of a page, and prepare the document of each."""

        def on_reply(result: Params) -> None:
            """Fold the frames, and prepare the document of each."""
            self._feed(session, "Page.getFrameTree", result)
            for frame in _frames(result["frameTree"]):
                self._bind(session, frame["id"], frame.get("loaderId", ""))

        self._watch(session, self._connection.send("Page.getFrameTree", {}, session, on_reply))

    def _moved(self, session: str) -> None:
        """Note that a page's history is another one, so that it is asked again."""
        if session in self._histories:
            self._histories[session].moved()

    def _ask_listing(self, session: str) -> None:
        """What the first document of a tab has loaded, with the tab's history; in a frame there is
        none."""
        young = self._young[session]
        loader = young.loader
        last = young.complete  # once more: an icon is asked for when all else is there
        past: dict[str, object] = {}
        if session in self._histories:
            self._connection.send(ANSWER, {}, session, past.update)

        def on_reply(result: Params) -> None:
            """Fold what the page has loaded, unless its document is another one by now."""
            listing = result.get("result", {}).get("value")
            # On a machine with a load of 40 a text came once; the next flush asks again.
            if isinstance(listing, dict) and young.loader == loader:
                told = {**past, "loaderId": loader, "listing": listing, "last": last}
                self._feed(session, "Page.listed", told)
                young.complete = listing["complete"]
                if last and is_outer(listing["url"]):
                    self._young.pop(session, None)

        listing = _quiet(young.context, LISTING)
        self._watch(session, self._connection.send("Runtime.evaluate", listing, session, on_reply))

    def _bind(self, session: str, frame: str, loader: str) -> None:
        """Give the frame's world the binding, and learn which context it is; the reply comes before
        any call."""
        script, send = self._script, self._connection.send
        self._replacements.commit(frame, loader)
        young = self._young.get(session)
        if young is not None and young.frame == frame:
            young.loader, young.context, young.complete = loader, 0, False

        def on_reply(result: Params) -> None:
            """Put the observer into the frame's own world, and list a young page's requests from
            there."""
            context = result["executionContextId"]
            made = {"frameId": frame, "executionContextId": context}
            self._feed(session, "Page.createIsolatedWorld", made)
            about = {"frameId": frame, "loaderId": loader}
            check = _quiet(context, script.flush())
            inject = partial(self._inject, session, context, about)
            self._watch(session, send("Runtime.evaluate", check, session, inject))
            if young is not None and young.frame == frame and young.loader == loader:
                young.context = context
                self._ask_listing(session)

        world = {"frameId": frame, "worldName": script.world}
        self._watch(session, send("Page.createIsolatedWorld", world, session, on_reply))
        binding = {"name": script.binding, "executionContextName": script.world}
        send("Runtime.addBinding", binding, session)

    def _inject(self, session: str, context: int, about: Params, result: Params) -> None:
        """Note that a document is observed; the first, empty one of a frame gets its script
        here."""
        self._feed(session, "Page.observed", about)
        # A frame's first, empty document gets no script by itself.
        if result.get("result", {}).get("value") is False:
            script = _quiet(context, self._sources[self._initial])
            self._watch(session, self._connection.send("Runtime.evaluate", script, session))

    def _watch(self, session: str, reply: Reply) -> None:
        self._coming[reply] = session
        reply.add_done_callback(lambda done: self._coming.pop(done, None))

    def _fetched(self, session: str, command: str, number: str, result: Params) -> None:
        self._feed(session, command, {**result, "requestId": number})

    def _not_fetched(self, session: str, command: str, number: str, reply: Reply) -> None:
        """Fold that a body can't be had, if the browser refused it."""
        if not reply.cancelled() and isinstance(reply.exception(), CdpError):
            self._feed(session, command, {"requestId": number})


def _auto_attach(wanted: Iterable[str]) -> dict[str, Any]:
    """Return the parameters that let the browser attach to targets of these kinds by itself."""
    kinds = [{"type": kind} for kind in wanted]
    return {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": True, "filter": kinds}


def _quiet(context: int, expression: str) -> dict[str, Any]:
    return {"contextId": context, "expression": expression, "silent": True, "returnByValue": True}


def _frames(tree: Params) -> Iterable[Params]:
    """Yield a frame and all frames in it, from the outermost in."""
    yield tree["frame"]
    for child in tree.get("childFrames", ()):
        yield from _frames(child)
