"""Elements that the page's script hands to the daemon, to be asked of the browser.

The script keeps them in a list; a batch is what the list held when the daemon took it. Its handles
have one name in the browser, by which they are released together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from agentd.sources.cdp.transport.connection import Connection, Params, Reply

OnBatch = Callable[[str, "ElementBatch"], None]
"""(session, batch) of the elements that were taken."""


@dataclass
class ElementBatch:
    """Elements that were handed over together. ``context``: their observer's script context;
    ``group``: their handles' name; ``items``: the handles of which the script is to hear yet."""

    context: int
    group: str
    items: set[str] = field(default_factory=set)


class HandedElements:
    """Elements of one kind, which ``kind`` names. ``watch`` gets (session, reply) of every question
    that is under way."""

    def __init__(
        self, connection: Connection, kind: str, watch: Callable[[str, Reply], None]
    ) -> None:
        self._connection = connection
        self._kind = kind
        self._watch = watch
        self._batches = 0

    def take(self, session: str, context: int, expression: str, on_batch: OnBatch) -> None:
        """Take the list that ``expression`` answers with in a script context."""
        self._batches += 1
        batch = ElementBatch(context, f"milestoned-{self._kind}-{self._batches}")
        about = {"contextId": context, "expression": expression}
        self.ask(
            "Runtime.evaluate",
            about | {"silent": True, "objectGroup": batch.group},
            session,
            partial(self._handle_list, batch, on_batch, session),
        )

    def _handle_list(
        self, batch: ElementBatch, on_batch: OnBatch, session: str, result: Params
    ) -> None:
        array = result["result"].get("objectId")
        if array is not None:
            self.ask(
                "Runtime.getProperties",
                {"objectId": array, "ownProperties": True},
                session,
                partial(self._handle_items, batch, on_batch, session),
            )

    def _handle_items(
        self, batch: ElementBatch, on_batch: OnBatch, session: str, result: Params
    ) -> None:
        batch.items.update(
            one["value"]["objectId"] for one in result["result"] if one["name"].isdecimal()
        )
        on_batch(session, batch)

    def ask(
        self, method: str, params: Params, session: str, on_reply: Callable[[Params], None]
    ) -> Reply:
        """Ask the browser, and have the question watched."""
        reply = self._connection.send(method, params, session, on_reply)
        self._watch(session, reply)
        return reply

    def tell_script(
        self,
        session: str,
        batch: ElementBatch,
        item: str,
        function: str,
        arguments: Sequence[Params],
    ) -> None:
        """Call a function of the script's on an element, the last that is asked of it; the last
        element ends the batch."""
        call = {"objectId": item, "functionDeclaration": function, "arguments": arguments}
        self.ask("Runtime.callFunctionOn", call | {"silent": True}, session, lambda result: None)
        batch.items.discard(item)
        if not batch.items:
            about = {"objectGroup": batch.group}
            self._connection.send("Runtime.releaseObjectGroup", about, session)
