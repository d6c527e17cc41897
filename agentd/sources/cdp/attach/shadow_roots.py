"""Closed shadow roots: they don't show in the page, so the elements that may have one are looked at
from outside.

The page script says that it has suspects (page/opaque.js); here each is described by the browser,
which changes and follows nothing, and each is handed back to the script with whether it has a
closed root.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from agentd.sources.cdp.attach.script import PageScript
from agentd.sources.cdp.transport.connection import Connection, Params, Reply

SAID = '["suspects",{}]'
_GROUP = "milestoned-suspects"


class Suspects:
    """``watch`` gets (session, reply) of every question that is under way."""

    def __init__(
        self, connection: Connection, script: PageScript, watch: Callable[[str, Reply], None]
    ) -> None:
        self._connection = connection
        self._slot = script.slot()
        self._binding = script.binding
        self._watch = watch

    def handle(self, session: str, params: Params) -> None:
        """Look at one call of the binding: whether it says that there are suspects."""
        if params["name"] != self._binding or params["payload"] != SAID:
            return
        take = {
            "contextId": params["executionContextId"],
            "expression": f"{self._slot}.takeSuspects()",
        }
        self._ask(
            "Runtime.evaluate",
            take | {"silent": True, "objectGroup": _GROUP},
            session,
            self._handle_elements,
        )

    def _handle_elements(self, session: str, result: Params) -> None:
        array = result["result"].get("objectId")
        if array is not None:
            self._ask(
                "Runtime.getProperties",
                {"objectId": array, "ownProperties": True},
                session,
                self._listed,
            )

    def _listed(self, session: str, result: Params) -> None:
        items = [one["value"]["objectId"] for one in result["result"] if one["name"].isdecimal()]
        for item in items:
            about = {"objectId": item, "depth": 0, "pierce": True}
            last = item == items[-1]
            self._ask("DOM.describeNode", about, session, partial(self._described, item, last))

    def _described(self, item: str, last: bool, session: str, result: Params) -> None:
        closed = any(
            root.get("shadowRootType") == "closed" for root in result["node"].get("shadowRoots", ())
        )
        judge = f"function() {{ {self._slot}.judge(this, {'true' if closed else 'false'}) }}"
        call = {"objectId": item, "functionDeclaration": judge, "silent": True}
        self._ask("Runtime.callFunctionOn", call, session, lambda session, result: None)
        if last:
            self._connection.send("Runtime.releaseObjectGroup", {"objectGroup": _GROUP}, session)

    def _ask(
        self, method: str, params: Params, session: str, on_reply: Callable[[str, Params], None]
    ) -> None:
        self._watch(
            session, self._connection.send(method, params, session, partial(on_reply, session))
        )
