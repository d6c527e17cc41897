"""Closed shadow roots: they don't show in the page, so the elements that may have one are looked at
from outside.

The page script says that it has suspects (page/opaque.js); here each is described by the browser,
which changes and follows nothing, and each is handed back to the script with whether it has a
closed root, and with that root itself where the script reports what stands in pages.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from agentd.sources.cdp.attach.handed_elements import ElementBatch, HandedElements
from agentd.sources.cdp.attach.script import PageScript
from agentd.sources.cdp.transport.connection import Connection, Params, Reply

SAID = '["suspects",{}]'
_WATCHED = frozenset(("element.state_changed", "text.shown"))
"""The kinds that are reported of closed shadow roots, too."""


class Suspects:
    """``watch`` gets (session, reply) of every question that is under way."""

    def __init__(
        self, connection: Connection, script: PageScript, watch: Callable[[str, Reply], None]
    ) -> None:
        self._handed = HandedElements(connection, "suspects", watch)
        self._slot = script.slot()
        self._binding = script.binding
        self._hands_in = not _WATCHED.isdisjoint(script.kinds)

    def handle(self, session: str, params: Params) -> None:
        """Look at one call of the binding: whether it says that there are suspects."""
        if params["name"] == self._binding and params["payload"] == SAID:
            expression = f"{self._slot}.takeSuspects()"
            context = params["executionContextId"]
            self._handed.take(session, context, expression, self._handle_batch)

    def _handle_batch(self, session: str, batch: ElementBatch) -> None:
        """Ask of each element whether it has a closed shadow root."""
        for item in sorted(batch.items):
            about = {"objectId": item, "depth": 0, "pierce": True}
            on_reply = partial(self._described, batch, item, session)
            self._handed.ask("DOM.describeNode", about, session, on_reply)

    def _described(self, batch: ElementBatch, item: str, session: str, result: Params) -> None:
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
        on_reply = partial(self._resolved, batch, item, session)
        self._handed.ask("DOM.resolveNode", about, session, on_reply)

    def _resolved(self, batch: ElementBatch, item: str, session: str, result: Params) -> None:
        root = result["object"].get("objectId")
        self._judge(batch, item, session, is_closed=True, root=root)

    def _judge(
        self,
        batch: ElementBatch,
        item: str,
        session: str,
        *,
        is_closed: bool,
        root: str | None = None,
    ) -> None:
        """Tell the script what an element has, with its root where it may have it."""
        closed = "true" if is_closed else "false"
        function = f"function(root) {{ {self._slot}.judge(this, {closed}, root) }}"
        arguments = [] if root is None else [{"objectId": root}]
        self._handed.tell_script(session, batch, item, function, arguments)
