"""When probes are asked: at the start, at the ends of steps before the seal, at the close; each
within its budget.

A probe that can't be answered is told as failed, and as a gap of what leans on it until it answers
again; nothing else waits for it or goes blind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import structlog

from agentd.core.plan import EpisodePlan
from agentd.core.settings import BrowserLine
from agentd.core.source import Sink
from agentd.masking import Masker
from agentd.sources.probes.answer import ProbeAnswer, ProbeFailedError, answer_fields
from agentd.sources.probes.command import CommandProbe
from agentd.sources.probes.file import FileProbe
from agentd.sources.probes.get import GetProbe
from agentd.sources.probes.script import ProbeBrowser, ScriptProbe
from detectors.model.kinds.harness import Moment, ProbeAnswered, ProbeFailed

AGAIN_S = 1.0
"""How often what could not be answered at the start is asked again until the first step ends,
in seconds."""

log = structlog.get_logger(__name__)


class ProbeClient(Protocol):
    """One way of asking; raises `ProbeFailedError`, and may be cancelled when its budget is
    spent."""

    async def ask(self, budget_s: float) -> ProbeAnswer: ...


class _Probe(NamedTuple):
    id: str
    when: tuple[str, ...]
    budget_s: float
    asks: ProbeClient


class ProbesSource:
    """``plan["probes"]`` says what is asked; the rest what the daemon was given to ask it with."""

    name = "probe"

    def __init__(
        self,
        plan: EpisodePlan,
        *,
        cdp: str | None = None,
        profile: Path | None = None,
        files: Mapping[str, Path] | None = None,
        allow_commands: bool = False,
        line: BrowserLine | None = None,
    ) -> None:
        origin = plan.get("origin")
        self._browser = ProbeBrowser(cdp, profile, line)
        make: dict[str, Callable[[Mapping[str, object]], ProbeClient]] = {
            "get": lambda spec: GetProbe(spec, origin),
            "file": lambda spec: FileProbe(spec, files or {}),
            "command": lambda spec: CommandProbe(spec, allow_commands),
            "script": lambda spec: ScriptProbe(spec, origin, self._browser),
        }
        self._probes = [
            _Probe(
                id=spec["id"],
                when=tuple(spec["when"]),
                budget_s=spec["budget_ms"] / 1000,
                asks=make[spec["kind"]](spec),
            )
            for spec in plan.get("probes", ())
        ]
        self._masker = Masker(plan.get("mask", ()))
        self._sink: Sink | None = None
        self._blind: set[str] = set()
        self._turn = asyncio.Lock()
        self._asked_at: int | None = None
        self._stepped = asyncio.Event()

    async def run(self, sink: Sink, ready: Callable[[], None]) -> None:
        """Ask what is so at the start; then wait to be asked at the ends of steps."""
        self._blind.clear()
        self._sink = sink
        try:
            await self._ask(self._probes, "start", None)
            ready()
            await self._try_again()
            await asyncio.Event().wait()
        finally:
            self._sink = None
            await self._browser.close()

    async def fence(self, timeout_s: float) -> None:
        """Nothing: a probe sees nothing by itself."""

    async def before_seal(self, step: int | None, *, closing: bool) -> None:
        """Ask what this moment is for; the seal waits, at most for the longest budget of those."""
        self._stepped.set()
        due = [probe for probe in self._probes if self._due(probe, step, closing=closing)]
        self._asked_at = step
        await self._ask(due, "close" if closing else "step", step)

    def after_seal(self, step: int) -> None:
        """Do nothing: probes are asked before the seal."""

    def _due(self, probe: _Probe, step: int | None, *, closing: bool) -> bool:
        """Whether a probe is to be asked at the end of a step, or at the close."""
        if not closing:
            return "step" in probe.when
        # A step that the close ends was asked about by nobody yet.
        return "close" in probe.when or ("step" in probe.when and step != self._asked_at)

    async def _try_again(self) -> None:
        """A page that the harness opens after the daemon's start has a baseline too; a seal is not
        kept waiting."""
        stepped = asyncio.create_task(self._stepped.wait())
        try:
            while self._blind and not stepped.done():
                retry = asyncio.create_task(self._retry())
                try:
                    await asyncio.wait({stepped, retry}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    retry.cancel()
                    await asyncio.gather(retry, return_exceptions=True)
        finally:
            stepped.cancel()

    async def _retry(self) -> None:
        """Ask again, a little later, the probes that have no answer."""
        await asyncio.sleep(AGAIN_S)
        failed = [probe for probe in self._probes if probe.id in self._blind]
        await self._ask(failed, "start", None, again=True)

    async def _ask(
        self, probes: Sequence[_Probe], when: Moment, step: int | None, *, again: bool = False
    ) -> None:
        """All at once, and told in the order in which the task declares them."""
        async with self._turn:
            answers = await asyncio.gather(*map(self._answer, probes))
            for probe, (ms, answer) in zip(probes, answers, strict=True):
                if not (again and isinstance(answer, str)):  # that it fails is told
                    self._tell(probe.id, when, step, ms, answer)

    async def _answer(self, probe: _Probe) -> tuple[int, ProbeAnswer | str]:
        """How long it took in ms, and the answer or why there is none."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        answer: ProbeAnswer | str
        try:
            async with asyncio.timeout(probe.budget_s):
                answer = await probe.asks.ask(probe.budget_s)
        except TimeoutError:
            answer = f"no answer within {probe.budget_s * 1000:g} ms"
        except ProbeFailedError as error:
            answer = str(error)[:500]
        return round((loop.time() - began) * 1000), answer

    def _tell(
        self, name: str, when: Moment, step: int | None, ms: int, answer: ProbeAnswer | str
    ) -> None:
        """Report a probe's answer, or that it failed; a failure is a gap until it answers again."""
        if self._sink is None:
            return
        if isinstance(answer, str):
            reason = self._masker.mask_text(answer)
            if name not in self._blind:
                self._blind.add(name)
                self._sink("gap.began", {"source": self.name, "part": name, "reason": reason})
            failed: ProbeFailed = {"probe": name, "when": when, "reason": reason, "ms": ms}
            if step is not None:
                failed["step"] = step
            self._sink("probe.failed", failed)
            log.warning("A probe was not answered.", probe=name, when=when, why=reason)
            return
        kept = answer_fields(answer, self._masker)
        answered: ProbeAnswered = {
            "probe": name,
            "when": when,
            "value": kept["value"],
            "ms": ms,
        }
        if step is not None:
            answered["step"] = step
        if "cut" in kept:
            answered["cut"] = kept["cut"]
        if when == "start":
            answered["baseline"] = True
        self._sink("probe.answered", answered)
        if name in self._blind:
            self._blind.discard(name)
            self._sink("gap.ended", {"source": self.name, "part": name})
