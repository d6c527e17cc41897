"""One run of a scripted agent under a daemon, followed to its close: the sandbox, the steps as they
are sealed, the recording."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from detectors.task.ruleset import Ruleset
from lab.demo.check import Compared, compare
from lab.demo.parts import DemoDaemon, DemoService, has_printed, start_agent, start_daemon
from lab.demo.processes import DemoProcess, DemoProcesses
from lab.demo.session import DemoFollower, StepRows
from lab.demo.show import DemoScreen, columns

if TYPE_CHECKING:
    from milestoned_client import Closing, Episode

MAX_SESSION_S = 100.0
"""A session takes about ten seconds; beyond this something hangs."""


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """Which scripted agent works: of which example, on which site, in which browser. ``more``: what
    it is told beside that; ``name``: of its log and its folders."""

    example: str
    site: str
    chromium: str
    headed: bool
    more: Sequence[str] = ()
    name: str = "agent"


@dataclass(frozen=True, slots=True)
class LiveRun:
    """How a run ended: its closing, its recording, and what replaying that gave."""

    closing: Closing
    recording: Path
    same: Compared


def run_agent(
    parts: DemoProcesses,
    work: Path,
    screen: DemoScreen,
    service: DemoService,
    episode: Episode,
    ruleset: Ruleset,
    command: AgentCommand,
    recording: Path,
) -> LiveRun:
    """Let the agent work in ``episode`` under a daemon, show each step as it is sealed, and write
    ``recording``. Raises `PartFailedError`."""
    beside = _start_beside(parts, work, service, episode, command)
    return follow_agent(screen, service, episode, ruleset, beside, recording)


def follow_agent(
    screen: DemoScreen,
    service: DemoService,
    episode: Episode,
    ruleset: Ruleset,
    beside: tuple[DemoDaemon, DemoProcess],
    recording: Path,
) -> LiveRun:
    """Let an agent that is ready work beside its daemon, as `run_agent` does."""
    daemon, agent = beside
    rows = StepRows(screen, columns(ruleset.components))
    follower = DemoFollower(episode, rows.show)
    follower.start()
    agent.say("go")
    closing = _until_closed(follower, episode, service.part, daemon.part, agent)
    episode.recording(recording)
    given = _rewards(episode, closing)
    return LiveRun(closing, recording, compare(recording, ruleset, given))


def _rewards(episode: Episode, closing: Closing) -> Mapping[int, bytes]:
    """Return the body of each step's reward, the closing step's among them."""
    return {step: episode.reward(step).body for step in range((closing.last_step or 0) + 1)}


def _start_beside(
    parts: DemoProcesses,
    work: Path,
    service: DemoService,
    episode: Episode,
    command: AgentCommand,
) -> tuple[DemoDaemon, DemoProcess]:
    """The sandbox: a browser in the agent's hands, and the daemon that watches it."""
    beside = work / "sandbox"
    state = work / "daemon"
    more = ("--control", str(state), "--episode", episode.id, *command.more)
    agent = start_agent(
        parts,
        beside,
        command.site,
        command.chromium,
        example=command.example,
        headed=command.headed,
        more=more,
        name=command.name,
    )
    browser = ("--profile", str(beside / "profile"))
    daemon = start_daemon(
        parts, state, service.url, episode.id, episode.token, browser, (beside / "downloads",)
    )
    return daemon, agent


def _until_closed(follower: DemoFollower, episode: Episode, *others: DemoProcess) -> Closing:
    """Let the agent work, close the episode when it is done, and wait until all is shown."""
    *watching, agent = others
    until = time.monotonic() + MAX_SESSION_S

    def is_done() -> bool | None:
        _check(follower, watching)
        return has_printed(agent, "done")

    agent.wait_until("its script was done", is_done, MAX_SESSION_S)
    closing = episode.close("done", wait_s=max(1.0, until - time.monotonic()))
    follower.join(max(1.0, until - time.monotonic()))
    if closing.status != "closed" or follower.is_alive():
        raise watching[-1].failed("did not close the episode in time")
    agent.say("end")
    if agent.wait_end(30.0) != 0:
        raise agent.failed(f"ended with {agent.process.returncode}")
    return closing


def _check(follower: DemoFollower, watching: Sequence[DemoProcess]) -> None:
    """Raises `PartFailedError` if the service, the daemon or the stream between has failed."""
    for part in watching:
        if not part.running:
            raise part.failed(f"ended early, with {part.process.returncode}")
    if follower.failed is not None:
        raise watching[0].failed(f"broke its stream: {follower.failed}")
