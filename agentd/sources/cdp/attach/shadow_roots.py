"""Closed shadow roots: they don't show in the page, so the elements that may have one are looked at
from outside.

The page script says that it has suspects (page/opaque.js); here each is described by the browser,
which changes and follows nothing, and each is handed back to the script with whether it has a
closed root, and with that root itself where the script reports what stands in pages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from agentd.sources.cdp.attach.script import PageScript
from agentd.sources.cdp.transport.connection import Connection, Params, Reply

SAID = '["suspects",{}]'
_WATCHED = frozenset(("element.state_changed", "text.shown"))
"""The kinds that are reported of closed shadow roots, too."""


@dataclass
class _Batch:
    """Suspects that were handed over together. ``context``: their observer's script context;
    ``group``: their handles' name; ``items``: the handles of which the script is to hear yet."""

    context: int
    group: str
    items: set[str] = field(default_factory=set)


class Suspects:
    """``watch`` gets (session, reply) of every question that is under way."""

    def __init__(
        self, connection: Connection, script: PageScript, watch: Callable[[str, Reply], None]
    ) -> None:
        self._connection = connection
        self._slot = script.slot()
        self._binding = script.binding
        self._hands_in = not _WATCHED.isdisjoint(script.kinds)
        self._batches = 0
        self._watch = watch

    def handle(self, session: str, params: Params) -> None:
        """Look at one call of the binding: whether it says that there are suspects."""
        if params["name"] != self._binding or params["payload"] != SAID:
            return
        self._batches += 1
        batch = _Batch(params["executionContextId"], f"milestoned-suspects-{self._batches}")
        take = {"contextId": batch.context, "expression": f"{self._slot}.takeSuspects()"}
        self._ask(
            "Runtime.evaluate",
            take | {"silent": True, "objectGroup": batch.group},
            session,
            partial(self._handle_elements, batch),
        )

    def _handle_elements(self, batch: _Batch, session: str, result: Params) -> None:
        """Ask for the elements in a list that the page's script handed out."""
        array = result["result"].get("objectId")
        if array is not None:
            self._ask(
                "Runtime.getProperties",
                {"objectId": array, "ownProperties": True},
                session,
                partial(self._listed, batch),
            )

    def _listed(self, batch: _Batch, session: str, result: Params) -> None:
        """Ask of each element whether it has a closed shadow root."""
        batch.items.update(
            one["value"]["objectId"] for one in result["result"] if one["name"].isdecimal()
        )
        for item in sorted(batch.items):
            about = {"objectId": item, "depth": 0, "pierce": True}
            self._ask("DOM.describeNode", about, session, partial(self._described, batch, item))

    def _described(self, batch: _Batch, item: str, session: str, result: Params) -> None:
        """Judge an element that has no closed root; of one that has, ask for the root where the
        script may have it."""
        closed = [
            root
            for root in result["node"].get("shadowRoots", ())
            if root.get("shadowRootType") == "closed"
        ]
        if not closed or not self._hands_in:
            self._judge(batch, item, session, is_closed=bool(closed))
            return
        about = {
            "backendNodeId": closed[0]["backendNodeId"],
            "executionContextId": batch.context,
            "objectGroup": batch.group,
        }
        self._ask("DOM.resolveNode", about, session, partial(self._resolved, batch, item))

    def _resolved(self, batch: _Batch, item: str, session: str, result: Params) -> None:
        root = result["object"].get("objectId")
        self._judge(batch, item, session, is_closed=True, root=root)

    def _judge(
        self, batch: _Batch, item: str, session: str, *, is_closed: bool, root: str | None = None
    ) -> None:
        """Tell the script what an element has, with its root where it may have it; the last one
        ends the batch."""
        closed = "true" if is_closed else "false"
        call = {
            "objectId": item,
            "functionDeclaration": f"function(root) {{ {self._slot}.judge(this, {closed}, root) }}",
            "arguments": [] if root is None else [{"objectId": root}],
            "silent": True,
        }
        self._ask("Runtime.callFunctionOn", call, session, lambda session, result: None)
        batch.items.discard(item)
        if not batch.items:
            about = {"objectGroup": batch.group}
            self._connection.send("Runtime.releaseObjectGroup", about, session)

    def _ask(
        self, method: str, params: Params, session: str, on_reply: Callable[[str, Params], None]
    ) -> None:
        self._watch(
            session, self._connection.send(method, params, session, partial(on_reply, session))
        )
