"""Custom elements that give themselves a role or a name by ElementInternals, which only the
browser's own accessibility tree has.

The page script says that it has such elements, which somebody clicked
(page/element_internals.js); here each is looked up in that tree, and the script is told what stands
there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from agentd.sources.cdp.attach.handed_elements import ElementBatch, HandedElements
from agentd.sources.cdp.attach.script import PageScript
from agentd.sources.cdp.transport.connection import CdpError, Connection, Params, Reply

SAID = '["event_held",'
_LABELS = frozenset(("aria-label", "aria-labelledby"))


class ElementInternals:
    """``watch`` gets (session, reply) of every question that is under way."""

    def __init__(
        self, connection: Connection, script: PageScript, watch: Callable[[str, Reply], None]
    ) -> None:
        self._handed = HandedElements(connection, "internals", watch)
        self._slot = script.slot()
        self._binding = script.binding

    def handle(self, session: str, params: Params) -> None:
        """Look at one call of the binding: whether it says that there are such elements."""
        if params["name"] == self._binding and params["payload"].startswith(SAID):
            expression = f"{self._slot}.takeHosts()"
            context = params["executionContextId"]
            self._handed.take(session, context, expression, self._handle_batch)

    def _handle_batch(self, session: str, batch: ElementBatch) -> None:
        """Look each element up in the browser's tree."""
        for item in sorted(batch.items):
            about = {"objectId": item, "fetchRelatives": False}
            on_reply = partial(self._handle_found, batch, item, session)
            reply = self._handed.ask("Accessibility.getPartialAXTree", about, session, on_reply)
            reply.add_done_callback(partial(self._handle_not_found, batch, item, session))

    def _handle_found(self, batch: ElementBatch, item: str, session: str, result: Params) -> None:
        node = result["nodes"][0] if result["nodes"] else {}
        role = node.get("role", {}).get("value")
        self._tell_script(batch, item, session, role, is_named=_is_labelled(node))

    def _handle_not_found(self, batch: ElementBatch, item: str, session: str, reply: Reply) -> None:
        """Tell the script that an element stands in the tree no more."""
        if not reply.cancelled() and isinstance(reply.exception(), CdpError):
            self._tell_script(batch, item, session, None, is_named=False)

    def _tell_script(
        self, batch: ElementBatch, item: str, session: str, role: str | None, *, is_named: bool
    ) -> None:
        answer = f"{self._slot}.answerHost(this, role, named)"
        function = f"function(role, named) {{ {answer} }}"
        arguments: list[Params] = [{"value": role}, {"value": is_named}]
        self._handed.tell_script(session, batch, item, function, arguments)


def _is_labelled(node: Params) -> bool:
    """Whether a node of the tree has a name that a label gives it, which internals may hold."""
    sources = node.get("name", {}).get("sources", ())
    return any(one.get("attribute") in _LABELS and "attributeValue" in one for one in sources)
