"""Custom elements that give themselves a role or a name by ElementInternals, which only the
browser's own accessibility tree has.

The page script says that it has such elements, which somebody clicked (page/own.js); here each is
looked up in that tree, and the script is told what stands there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from agentd.sources.cdp.attach.script import PageScript
from agentd.sources.cdp.transport.connection import CdpError, Connection, Params, Reply

SAID = '["own",'
_LABELS = frozenset(("aria-label", "aria-labelledby"))


class OwnSemantics:
    """``watch`` gets (session, reply) of every question that is under way."""

    def __init__(
        self, connection: Connection, script: PageScript, watch: Callable[[str, Reply], None]
    ) -> None:
        self._connection = connection
        self._slot = script.slot()
        self._binding = script.binding
        self._watch = watch
        self._batches = 0

    def handle(self, session: str, params: Params) -> None:
        """Look at one call of the binding: whether it says that there are such elements."""
        if params["name"] != self._binding or not params["payload"].startswith(SAID):
            return
        self._batches += 1
        group = f"milestoned-own-{self._batches}"
        take = {
            "contextId": params["executionContextId"],
            "expression": f"{self._slot}.takeOwn()",
            "silent": True,
            "objectGroup": group,
        }
        self._ask("Runtime.evaluate", take, session, partial(self._handle_elements, session))

    def _handle_elements(self, session: str, result: Params) -> None:
        """Ask for the elements in a list that the page's script handed out."""
        array = result["result"].get("objectId")
        if array is not None:
            about = {"objectId": array, "ownProperties": True}
            self._ask(
                "Runtime.getProperties", about, session, partial(self._handle_listed, session)
            )

    def _handle_listed(self, session: str, result: Params) -> None:
        """Look each element up in the browser's tree."""
        items = [one["value"]["objectId"] for one in result["result"] if one["name"].isdecimal()]
        for item in items:
            about = {"objectId": item, "fetchRelatives": False}
            on_reply = partial(self._handle_found, session, item)
            reply = self._ask("Accessibility.getPartialAXTree", about, session, on_reply)
            reply.add_done_callback(partial(self._handle_not_found, session, item))

    def _handle_found(self, session: str, item: str, result: Params) -> None:
        node = result["nodes"][0] if result["nodes"] else {}
        self._tell_script(
            session, item, node.get("role", {}).get("value"), is_named=_is_labelled(node)
        )

    def _handle_not_found(self, session: str, item: str, reply: Reply) -> None:
        """Tell the script that an element stands in the tree no more."""
        if not reply.cancelled() and isinstance(reply.exception(), CdpError):
            self._tell_script(session, item, None, is_named=False)

    def _tell_script(self, session: str, item: str, role: str | None, *, is_named: bool) -> None:
        answer = f"{self._slot}.answerOwn(this, role, named)"
        call = {
            "objectId": item,
            "functionDeclaration": f"function(role, named) {{ {answer} }}",
            "arguments": [{"value": role}, {"value": is_named}],
            "silent": True,
        }
        self._ask("Runtime.callFunctionOn", call, session, lambda result: None)
        self._connection.send("Runtime.releaseObject", {"objectId": item}, session)

    def _ask(
        self, method: str, params: Params, session: str, on_reply: Callable[[Params], None]
    ) -> Reply:
        reply = self._connection.send(method, params, session, on_reply)
        self._watch(session, reply)
        return reply


def _is_labelled(node: Params) -> bool:
    """Whether a node of the tree has a name that a label gives it, which internals may hold."""
    sources = node.get("name", {}).get("sources", ())
    return any(one.get("attribute") in _LABELS and "attributeValue" in one for one in sources)
