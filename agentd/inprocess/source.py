"""The browser source over what a harness holds, which sees only while the harness gives its library
time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agentd.core.patience import Patience
from agentd.core.plan import EpisodePlan
from agentd.core.source import Sink
from agentd.inprocess.harness import Harness
from agentd.sources.cdp import CdpSource
from agentd.sources.cdp.transport.carrier import Inbox
from agentd.sources.cdp.transport.connection import Connection, Reply
from agentd.sources.cdp.transport.explicit_attach import ByHand
from agentd.sources.cdp.transport.tunnel import Tunnel

HEARD_S = 2.0
"""How long a seal waits for a harness that gives its library no time, in seconds."""
HELD_UP = (
    "the harness gave its browser library no time before a step was sealed; call pump(), or await"
    " something"
)


async def open_connection(harness: Harness) -> Connection:
    """A conversation with the browser over what the harness's library holds; raises
    `SourceLostError`."""
    inbox = Inbox()
    tunnel = Tunnel(await harness.carry(inbox), inbox)
    return Connection(ByHand(tunnel, harness.scope))


class InProcessSource(CdpSource):
    """As `CdpSource`. A seal that somebody else asks for while the harness is busy elsewhere would
    come before what its library has not read yet: then there is a gap on record instead of a step
    that looks empty."""

    def __init__(self, harness: Harness, plan: EpisodePlan, patience: Patience) -> None:
        super().__init__(None, None, plan, self._carried, patience)
        self._harness = harness
        self._connection: Connection | None = None
        self._sink: Sink | None = None
        self._held_up = False

    async def _carried(self) -> Connection:
        self._connection = await open_connection(self._harness)
        return self._connection

    async def run(self, sink: Sink, ready: Callable[[], None]) -> None:
        self._sink, self._held_up = sink, False
        await super().run(sink, ready)

    async def before_seal(self, step: int | None, *, closing: bool) -> None:
        """Wait until the library has handed over what it had when this was called, or record the
        gap."""
        assert self._sink is not None
        assert self._connection is not None
        reply = self._connection.send("Browser.getVersion")
        await asyncio.wait({reply}, timeout=self._patience.extend(HEARD_S))
        if not reply.done() and not self._held_up:
            self._held_up = True
            self._sink("gap.began", {"source": self.name, "reason": HELD_UP})
            reply.add_done_callback(self._heard_again)
        if reply.done():
            await super().before_seal(step, closing=closing)

    def after_seal(self, step: int) -> None:
        """Do nothing: what the source has to say is in the journal before the seal."""

    def _heard_again(self, reply: Reply) -> None:
        """End the gap that began when the harness held the connection up."""
        if self._held_up and not reply.cancelled() and reply.exception() is None:
            assert self._sink is not None
            self._sink("gap.ended", {"source": self.name})
        self._held_up = False
