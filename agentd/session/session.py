"""One episode as the daemon runs it, with a service or without: its parts, started and stopped."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import structlog

from agentd.core.clock import boot_id
from agentd.core.disk_errors import room_in
from agentd.core.plan import EpisodePlan
from agentd.core.settings import DaemonSettings, RunSettings
from agentd.journal.journal import Journal
from agentd.journal.recorder import RETRY_S, Recorder
from agentd.session.control_port import ControlPort, Health, announce, control_token, make_app
from agentd.session.local_scoring import Edge, load_rules
from agentd.session.settling import StepSealer
from agentd.session.step_controller import Conductor
from agentd.session.step_state import Steps
from agentd.session.supervisor import Supervisor, sources_of, unwatched_sources
from detectors.model.kinds import asked_kinds, catalogue_fields

READY = "ready"
"""The file in the state folder that is there while every source sees; it holds the daemon's pid."""
PID = "agentd.pid"
"""The file in the state folder with the daemon's pid, from its first answer to its end."""
STEPS = "steps.socket"
"""The Unix socket in the state folder for `agentd mcp`, where the control port is none itself."""

log = structlog.get_logger(__name__)


class Session:
    """The parts of one episode; ``hears`` None in ``plan``: every kind disturbs a step's quiet."""

    def __init__(
        self, settings: DaemonSettings, state: Path, episode: str, plan: EpisodePlan
    ) -> None:
        plan = {**plan, "also": [*plan.get("also", ()), *settings.also]}
        self._state = state
        self._plan = plan
        with room_in(state):
            control = control_token(state)
        self.journal = Journal(state / "journal.sqlite3", episode, max_bytes=settings.journal_max)
        _, boot, _ = self.journal.clock_marks()
        self.may_lack = self.journal.last == 0 or not boot or boot != boot_id()
        """Whether the service may have more than the journal, as after a boot, or of a new one."""
        self.recorder = Recorder(self.journal)
        self.edge: Edge | None = None
        if isinstance(settings, RunSettings) and settings.edge is not None:
            self.edge = Edge(self.recorder, load_rules(settings.edge))
        self.steps = Steps()
        self._seen_step: int | None = None
        self.supervisor = Supervisor(
            sources_of(settings, plan),
            self.recorder,
            unwatched_sources(settings, plan),
            needed=plan.get("hears") is not None,
            asked=asked_kinds(plan),
            patience=settings.patience,
        )
        sealer = StepSealer(plan.get("hears"), plan["quiet_ms"], plan["settle_ms"])
        self.conductor = Conductor(self.recorder, self.steps, sealer, self.supervisor)
        self._readiness: asyncio.Task[None] | None = None
        app = make_app(self.conductor, control, Health(self.health, self.supervisor))
        where = settings.port if settings.socket is None else settings.socket
        self._port = ControlPort(
            app, control, where, settings.body_wait, self.conductor, (state / STEPS).absolute()
        )

    def resume(self) -> None:
        """Open the journal's episode, or take up where the process before ended: its steps, its
        gaps."""
        for seq, kind, data in sorted([*self.journal.rows("steps"), *self.journal.rows("journal")]):
            self.steps.note(seq, kind, data)
        self.steps.adopt(self._seen_step)
        self.recorder.closed = self.steps.closed
        if self.steps.closed:
            return
        if self.journal.last == 0:
            data = {
                "task": self._plan.get("task", ""),
                "digest": self._plan.get("digest", ""),
                "asked": asked_kinds(self._plan),
                **catalogue_fields(),
            }
            self.recorder.append("journal", "episode.opened", data)
        else:
            log.info(
                "Going on with an episode after a restart.",
                through=self.journal.last,
                step=self.steps.current,
            )
            self.supervisor.recall(self.journal.rows("journal"))
            self.supervisor.remind(self.journal.rows)

    def adopted(self, lacking: int, step: int | None) -> None:
        """Record that the journal lost its last events, as the shipper found.

        ``lacking``: how many events; ``step``: the last step that the service has seen.
        """
        self._seen_step = step
        reason = (
            f"the journal lost its last {lacking} events, which the service has; what followed them"
            " is unknown"
        )
        self.recorder.append(
            "journal", "events.dropped", {"source": "journal", "count": lacking, "reason": reason}
        )

    async def start(self) -> None:
        """Start sources and the control port, and say where it listens."""
        if not self.steps.closed:
            self.supervisor.start()
        await self.conductor.resume()
        (self._state / READY).unlink(missing_ok=True)  # of a process before that was killed
        self._port.start()
        self.recorder.flush()
        with room_in(self._state):
            (self._state / PID).write_text(f"{os.getpid()}\n")
            announce(self._state, self._port.where, self.journal.episode, self._port.beside)
        self._readiness = asyncio.create_task(self._keep_ready_file(), name="ready")
        log.info("Listening for the harness.", address=self._port.address, state=str(self._state))

    async def _keep_ready_file(self) -> None:
        """Let a file say whether all sources see, for who can't ask; try again where the disk
        refuses."""
        file = self._state / READY
        is_shown = False
        while True:
            changed = self.supervisor.changed
            ready = self.supervisor.ready
            if ready == is_shown:
                await changed.wait()
            elif self._show_ready(file, ready):
                is_shown = ready
            else:
                await asyncio.sleep(RETRY_S)

    def _show_ready(self, file: Path, ready: bool) -> bool:
        """Make or remove the file. False where the disk refuses it."""
        if not ready:
            file.unlink(missing_ok=True)
            log.warning("Not every source sees any more.", waiting=self.supervisor.awaited)
            return True
        try:
            file.write_text(f"{os.getpid()}\n")
        except OSError as error:
            file.unlink(missing_ok=True)
            log.warning(
                "The file that says that every source sees can't be written.", why=error.strerror
            )
            return False
        log.info("Every source sees: the first step can begin.", ready=str(file))
        return True

    def health(self) -> dict[str, object]:
        """Return what /healthz answers to who knows the token."""
        return {
            "episode": self.journal.episode,
            "through": self.journal.last,
            "shipped": self.journal.acknowledged,
            "step": self.steps.current,
            "sources": self.supervisor.states,
        }

    async def stop_sources(self) -> None:
        """Stop all sources, and put what they reported on disk."""
        await self.supervisor.stop()
        self.recorder.flush()

    async def stop(self) -> None:
        """Stop the sources, close the port and the journal."""
        if self._readiness is not None:
            self._readiness.cancel()
        await self.supervisor.stop()
        await self._port.stop()
        for name in (READY, "agentd.json", PID):
            (self._state / name).unlink(missing_ok=True)
        self.recorder.close()
