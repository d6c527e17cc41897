"""Which documents listen to being left, and so may send a request that no session reports.

The browser is asked for the listeners that the page's own world has on its window and its document,
which a page cannot notice. It is asked as a document comes, has loaded, calls `fetch` or
XMLHttpRequest, and at each fence: while a document is being left, the browser hands no question to
it any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from agentd.sources.cdp.attach.precedence import WINDOW
from agentd.sources.cdp.transport.connection import Connection, Params, Reply

ANSWERED = "Page.leaveListened"
"""The message that the folds get of a document that listens: ``frameId``, ``loaderId``."""
TYPES = frozenset({"pagehide", "unload", "visibilitychange", "pageswap"})
"""Events that a document is sent as it is left, after its session has gone over to the next one.
What it does at `beforeunload` is reported."""
_GROUP = "milestoned-leaving"


@dataclass(slots=True)
class _Watched:
    """A document that is asked about, and its window and itself as objects of the page's own
    world."""

    about: Params
    objects: tuple[str, ...] = ()
    waits: int = 0  # for so many answers


class LeaveListeners:
    """``watch`` gets (session, reply) of every question that is under way; ``feed`` (session,
    method, params)."""

    def __init__(
        self,
        connection: Connection,
        watch: Callable[[str, Reply], None],
        feed: Callable[[str, str, Params], None],
    ) -> None:
        self._connection = connection
        self._watch = watch
        self._feed = feed
        self._documents: dict[str, dict[str, _Watched]] = {}  # session → frame → its document

    def begin(self, session: str, context: int, about: Params) -> None:
        """Look at a document that has come; ``about``: its ``frameId`` and ``loaderId``."""
        document = _Watched(about)
        self._documents.setdefault(session, {})[about["frameId"]] = document
        ask = {"contextId": context, "expression": "document", "silent": True}
        self._ask("Runtime.evaluate", ask, session, partial(self._handle_inner, document))

    def ask_again(self, session: str) -> None:
        """Look at the documents of a session once more."""
        for document in self._documents.get(session, {}).values():
            self._ask_listeners(document, session)

    def end_session(self, session: str) -> None:
        """The session is gone, with its documents."""
        self._documents.pop(session, None)

    def end_frame(self, session: str, frame: str) -> None:
        """The frame is gone, or belongs to another session."""
        self._documents.get(session, {}).pop(frame, None)

    def _handle_inner(self, document: _Watched, session: str, result: Params) -> None:
        inner = {"objectId": result["result"]["objectId"]}
        self._ask("DOM.describeNode", inner, session, partial(self._handle_node, document))

    def _handle_node(self, document: _Watched, session: str, result: Params) -> None:
        # Without a context named it is the page's own.
        node = {"backendNodeId": result["node"]["backendNodeId"], "objectGroup": _GROUP}
        self._ask("DOM.resolveNode", node, session, partial(self._handle_outer, document))

    def _handle_outer(self, document: _Watched, session: str, result: Params) -> None:
        outer = result["object"]["objectId"]
        call = {"objectId": outer, "functionDeclaration": WINDOW, "objectGroup": _GROUP}
        on_reply = partial(self._handle_window, document, outer)
        self._ask("Runtime.callFunctionOn", call | {"silent": True}, session, on_reply)

    def _handle_window(self, document: _Watched, outer: str, session: str, result: Params) -> None:
        document.objects = (outer, result["result"]["objectId"])
        self._ask_listeners(document, session)

    def _ask_listeners(self, document: _Watched, session: str) -> None:
        if document.waits:
            return
        document.waits = len(document.objects)
        for item in document.objects:
            on_reply = partial(self._handle_listeners, document)
            self._ask("DOMDebugger.getEventListeners", {"objectId": item}, session, on_reply)

    def _handle_listeners(self, document: _Watched, session: str, result: Params) -> None:
        document.waits -= 1
        if any(one["type"] in TYPES for one in result["listeners"]):
            document.objects = ()  # it is known now
            self._feed(session, ANSWERED, document.about)

    def _ask(
        self, method: str, params: Params, session: str, on_reply: Callable[[str, Params], None]
    ) -> None:
        self._watch(
            session, self._connection.send(method, params, session, partial(on_reply, session))
        )
