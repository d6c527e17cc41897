"""A JavaScript expression, evaluated beside the page where the page can't see it, and refused if it
would change anything: ``throwOnSideEffect`` is V8's own watch over that.

The conversation with the browser is one of its own, so that a slow answer holds up no event.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agentd.core.settings import BrowserLine
from agentd.core.source import SourceLostError
from agentd.sources.cdp.attach.isolated_world import Isolated, targets
from agentd.sources.cdp.transport.address import websocket_address
from agentd.sources.cdp.transport.connection import CdpError, Connection, Params
from agentd.sources.probes.answer import ProbeAnswer, ProbeFailedError
from detectors.matchers import url_matches
from detectors.task.script_calls import refusal

MAX_TABS = 8


class ProbeBrowser:
    """A conversation with the browser for all script probes, begun when it is needed and again when
    it is lost."""

    def __init__(
        self, endpoint: str | None, profile: Path | None, line: BrowserLine | None = None
    ) -> None:
        self._endpoint = endpoint
        self._profile = profile
        self._line = line
        self._scope = line.scope if line else None
        self._tab = Isolated(self._scope)
        self._turn = asyncio.Lock()
        self._live: tuple[Connection, asyncio.Task[None]] | None = None

    async def pages(self) -> list[Params]:
        """Every page that a tab shows, as the browser describes it; raises `SourceLostError`."""
        found = await targets(await self._connect(), "page", self._scope)
        return [one for one in found if not one.get("subtype")]  # none that is prerendered

    async def evaluate(self, target: str, expression: str, budget_s: float) -> Params:
        """The reply to ``Runtime.evaluate`` in this tab's main frame; raises `SourceLostError` or
        `CdpError`."""
        how = {
            "throwOnSideEffect": True,
            "timeout": budget_s * 1000,
            "silent": True,
            "includeCommandLineAPI": False,
        }
        return await self._tab.evaluate(await self._connect(), target, expression, **how)

    async def _connect(self) -> Connection:
        """Return the connection to the browser, a new one where the last is gone."""
        async with self._turn:
            if self._live is not None and not self._live[1].done():
                return self._live[0]
            await self.close()
            connection = await (self._line.open() if self._line else self._over_port())
            self._live = (
                connection,
                asyncio.create_task(connection.run(self._tab.handle), name="probes' browser"),
            )
            return connection

    async def _over_port(self) -> Connection:
        """Connect by the address or profile that the daemon was given. Raises `SourceLostError`."""
        if self._endpoint is None and self._profile is None:
            raise SourceLostError("the daemon was given no --cdp or --profile")
        return await Connection.open(await websocket_address(self._endpoint, self._profile))

    async def close(self) -> None:
        """End the conversation; the next question begins another."""
        live, self._live = self._live, None
        self._tab.clear()
        if live is not None:
            live[1].cancel()
            with contextlib.suppress(asyncio.CancelledError, SourceLostError):
                await live[1]
            await live[0].close()


class ScriptProbe:
    """What the expression is worth in the tab that shows the address; of several such tabs, all
    must agree."""

    def __init__(
        self, plan: Mapping[str, object], origin: str | None, browser: ProbeBrowser
    ) -> None:
        self._where = plan["url"]
        self._expression = str(plan["expression"])
        self._origin = origin
        self._browser = browser

    async def ask(self, budget_s: float) -> ProbeAnswer:
        """Evaluate the expression in each tab; raises `ProbeFailedError` with why that failed."""
        try:
            pages = await self._browser.pages()
            tabs = self._tabs_of(pages)
            asked = [self._browser.evaluate(tab, self._expression, budget_s) for tab in tabs]
            values = [_value(reply, self._expression) for reply in await asyncio.gather(*asked)]
        except (SourceLostError, CdpError) as error:
            raise ProbeFailedError(str(error)) from None
        if any(value != values[0] for value in values):
            raise ProbeFailedError(f"the {len(tabs)} tabs that show the address answer differently")
        return ProbeAnswer(values[0])

    def _tabs_of(self, pages: Iterable[Params]) -> list[str]:
        """The tabs that show the address, at least one; raises `ProbeFailedError`."""
        tabs = [
            page["targetId"]
            for page in pages
            if url_matches(self._where, page["url"], self._origin)
        ]
        if not tabs:
            raise ProbeFailedError("no tab shows the address")
        if len(tabs) > MAX_TABS:
            raise ProbeFailedError(
                f"{len(tabs)} tabs show the address; at most {MAX_TABS} are asked"
            )
        return tabs


def _value(reply: Params, expression: str) -> Any:
    """Return what an expression is worth. Raises `ProbeFailedError` where it threw, wrote, or is
    worth no JSON."""
    thrown = reply.get("exceptionDetails")
    if thrown is not None:
        described = thrown.get("exception", {}).get("description") or thrown.get("text", "an error")
        if "Possible side-effect in debug-evaluate" in described:
            raise ProbeFailedError(refusal(expression))
        raise ProbeFailedError(f"the expression threw {described.splitlines()[0][:200]}")
    result = reply["result"]
    if result["type"] in ("function", "symbol", "bigint"):
        raise ProbeFailedError(f"the expression is worth a {result['type']}, which is no JSON")
    # NaN and the infinities have no JSON: they are told as null, like undefined.
    return result.get("value")
