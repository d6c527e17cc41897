"""The daemon's open channel: the service streams commands, and each is journalled exactly once.

Every event that a command makes carries its number, so after a restart the journal itself says
which command came last. A command that cannot apply any more is passed over with a word in the log:
the service has checked its form, and the order of steps is decided here.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import httpx
import orjson
import structlog

from agentd.core.backoff import Backoff
from agentd.core.wire_limits import UnfitError
from agentd.session.step_controller import Conductor, NotKeptError
from agentd.session.step_state import StepError
from agentd.uplink.http import Service, words
from agentd.uplink.uploader import Shipper
from detectors.model.optional_values import pick_keys

FIRST_LINE_S = 5.0
"""How long the stream's first line may take, in seconds, which the service sends at once: a proxy
that keeps answers until they are whole would keep each command as long as the stream lasts."""
WAIT_MS = 30_000
"""How long the service is asked to wait for the next command, where its stream does not come."""
SILENCE_S = 60.0
"""How long the service may say nothing, in seconds, before it is asked again. By default it ends
its answer after half of that."""
SAYINGS = {
    "agent.answered": ("text",),
    "agent.evidence_submitted": ("criterion", "events", "pictures"),
    "agent.tool_called": ("call", "tool", "arguments"),
    "agent.tool_returned": ("call", "ok", "result", "error"),
}

log = structlog.get_logger(__name__)


class CommandStream:
    """Follows ``/commands/stream`` until cancelled or closed; token errors pass through."""

    def __init__(self, service: Service, conductor: Conductor, shipper: Shipper) -> None:
        self._service = service
        self._conductor = conductor
        self._shipper = shipper
        self._after = conductor.steps.command
        self._backoff = Backoff()
        self._is_held_back = False
        """Whether something on the way passes an answer on once it is whole alone."""

    async def run(self) -> None:
        """Take commands until the episode is closed."""
        while not self._conductor.closed.is_set():
            try:
                if self._is_held_back:
                    await self._ask()
                else:
                    await self._follow()
            except (
                httpx.TransportError,
                httpx.HTTPStatusError,
                orjson.JSONDecodeError,
                KeyError,
                TypeError,
            ) as error:
                log.debug("The channel is down; opening it again.", why=words(error))
                self._is_held_back = False  # perhaps it was down then, too
                await self._backoff.wait()

    async def _follow(self) -> None:
        """Take commands for as long as the service streams them."""
        lines = self._service.stream_lines(
            "/commands/stream", timeout_s=SILENCE_S, after=self._after
        )
        async with aclosing(lines):
            try:
                async with asyncio.timeout(FIRST_LINE_S):
                    line = await anext(lines)
            except StopAsyncIteration:
                raise httpx.RemoteProtocolError("the answer ended without a line") from None
            except TimeoutError:
                log.info("The service's stream does not come through; asking for each command.")
                self._is_held_back = True
                return
            await self._take(orjson.loads(line))
            async for line in lines:
                await self._take(orjson.loads(line))
                if self._conductor.closed.is_set():
                    return

    async def _ask(self) -> None:
        """Wait for the next commands, and take them."""
        response = await self._service.get(
            "/commands",
            timeout_s=SILENCE_S,
            after=self._after,
            wait_ms=WAIT_MS,
            followed=int(self._shipper.is_followed),
        )
        response.raise_for_status()
        await self._take(orjson.loads(response.content))

    async def _take(self, told: dict[str, Any]) -> None:
        """Apply the commands of one line that are new, and note that somebody follows."""
        commands: list[dict[str, Any]] = told["commands"]
        self._backoff.reset()
        if told.get("followed") is True:
            self._shipper.follow()
        for command in commands:
            if command["command"] <= self._after:
                continue
            await self._keep_trying(command)
            self._after = command["command"]

    async def _keep_trying(self, command: dict[str, Any]) -> None:
        """Apply a command; wait as long as the journal has no room, and pass over one that can't
        apply any more."""
        backoff = Backoff()
        while True:
            try:
                await self._apply(command["command"], command["kind"], command.get("data") or {})
            except NotKeptError as error:
                log.error(
                    "A command waits for room in the journal.",
                    command=command["command"],
                    why=str(error),
                )
                if self._conductor.steps.command >= command["command"]:
                    return  # numbered already: it goes to the disk with the next event that does
                await backoff.wait()
            except (StepError, UnfitError, KeyError, TypeError) as error:
                log.warning(
                    "A command cannot apply any more; it is passed over.",
                    command=command,
                    why=str(error),
                )
                return
            else:
                return

    async def _apply(self, number: int, kind: str, data: dict[str, Any]) -> None:
        """Do what a command says: begin, end or close, or record what the service reports."""
        conductor = self._conductor
        if kind == "step.began":
            if data.get("settle") is True:
                with self._shipper.ship_seal_with_begin():
                    await conductor.advance(data.get("step"), data.get("action"), number)
            else:
                await conductor.begin(data.get("step"), data.get("action"), number)
        elif kind == "step.ended":
            await conductor.end(data.get("step"), number)
        elif kind == "episode.close":
            reason = str(data.get("reason") or "closed by the service")
            await conductor.close(reason, truncated=data.get("truncated") is True)
        elif kind in SAYINGS:
            fields = pick_keys(data, SAYINGS[kind])
            await conductor.say(kind, fields, number)
            self._shipper.ship_at_once()
        else:
            log.warning(
                "The service sent a command that this daemon does not know.",
                command=number,
                kind=kind,
            )
