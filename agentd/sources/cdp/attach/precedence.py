"""Whether a page's own listeners stand before the observer's: asked about a document whose
listeners were taken away.

The page script says that it was put back, or came late (page/standing.js). Then the browser is
asked which listeners the page's own world has on its window, which it cannot notice, and the script
is given the types of those that capture.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import orjson

from agentd.sources.cdp.attach.script import PageScript
from agentd.sources.cdp.transport.connection import Connection, Params, Reply

MESSAGE = '["reopened",{}]'
ANSWERED = "Page.precedenceKnown"
"""The message that the folds get: ``frameId``, ``preceded``."""
_GROUP = "milestoned-precedence"
# `this` alone is a name that no page can define anew.
WINDOW = "function() { return (function() { return this })() }"


class Precedence:
    """``watch`` gets (session, reply) of every question that is under way; ``feed`` (session,
    method, params)."""

    def __init__(
        self,
        connection: Connection,
        script: PageScript,
        watch: Callable[[str, Reply], None],
        feed: Callable[[str, str, Params], None],
    ) -> None:
        self._connection = connection
        self._slot = script.slot()
        self._binding = script.binding
        self._watch = watch
        self._feed = feed

    def handle(self, session: str, params: Params) -> None:
        """Look at one call of the binding: whether it says that a document was reopened."""
        if params["name"] == self._binding and params["payload"] == MESSAGE:
            context = params["executionContextId"]
            ask = {
                "contextId": context,
                "expression": "document",
                "silent": True,
                "objectGroup": _GROUP,
            }
            self._ask("Runtime.evaluate", ask, session, partial(self._handle_listeners, context))

    def _handle_listeners(self, context: int, session: str, result: Params) -> None:
        document = {"objectId": result["result"]["objectId"]}
        self._ask("DOM.describeNode", document, session, partial(self._described, context))

    def _described(self, context: int, session: str, result: Params) -> None:
        # Without a context named it is the page's own.
        node = {"backendNodeId": result["node"]["backendNodeId"], "objectGroup": _GROUP}
        self._ask("DOM.resolveNode", node, session, partial(self._resolved, context))

    def _resolved(self, context: int, session: str, result: Params) -> None:
        call = {
            "objectId": result["object"]["objectId"],
            "functionDeclaration": WINDOW,
            "objectGroup": _GROUP,
        }
        self._ask(
            "Runtime.callFunctionOn",
            call | {"silent": True},
            session,
            partial(self._entered, context),
        )

    def _entered(self, context: int, session: str, result: Params) -> None:
        window = {"objectId": result["result"]["objectId"]}
        self._ask("DOMDebugger.getEventListeners", window, session, partial(self._listed, context))

    def _listed(self, context: int, session: str, result: Params) -> None:
        """Answer the script which kinds of events the page listens to before it, by its
        listeners."""
        types = sorted({one["type"] for one in result["listeners"] if one["useCapture"]})
        answer = f"{self._slot}.answerStanding({orjson.dumps(types).decode()})"
        ask = {"contextId": context, "expression": answer, "silent": True, "returnByValue": True}
        self._ask("Runtime.evaluate", ask, session, partial(self._answered, context))
        self._connection.send("Runtime.releaseObjectGroup", {"objectGroup": _GROUP}, session)

    def _answered(self, context: int, session: str, result: Params) -> None:
        preceded = result["result"].get("value") is not False
        self._feed(session, ANSWERED, {"executionContextId": context, "preceded": preceded})

    def _ask(
        self, method: str, params: Params, session: str, on_reply: Callable[[str, Params], None]
    ) -> None:
        self._watch(
            session, self._connection.send(method, params, session, partial(on_reply, session))
        )
