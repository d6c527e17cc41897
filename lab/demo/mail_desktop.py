"""`milestoned demo mail-desktop`: a right and a wrong run in Thunderbird, each on its desktop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from api.tasks.task_files import load_task_file
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_to_json
from lab.demo.desktop import start_desktop
from lab.demo.families import RUNS, FamilyRuns, family_task
from lab.demo.live_run import LiveRun, follow_agent
from lab.demo.parts import DemoService, start_daemon, start_mail_agent, start_mail_server
from lab.demo.processes import DemoProcesses
from lab.demo.show import DemoScreen

if TYPE_CHECKING:
    from milestoned_client import Episode


def run_mail_desktop(
    parts: DemoProcesses, work: Path, screen: DemoScreen, service: DemoService, out: Path
) -> FamilyRuns:
    """Run the right and the wrong run, each with its own desktop, mail server and episode, and
    write ``out/mail-desktop.RUN.mrec``. Raises `PartFailedError`."""
    from milestoned_client import RewardClient

    ruleset = compile_task(load_task_file(family_task("mail-desktop")))
    screen.line(screen.paint(ruleset.task.instruction, "bold"))
    screen.line(f"task {ruleset.task.id}, at most {ruleset.attainable:g}; Thunderbird, unseen")
    runs: dict[str, LiveRun] = {}
    episodes: dict[str, str] = {}
    with RewardClient(service.url, service.token) as client:
        task = client.register_task(task_to_json(ruleset.task))
        for kind in RUNS:
            screen.line()
            screen.line(screen.paint(f"the {kind} run", "bold"))
            episode = client.open(task, labels={"from": "demo", "run": kind})
            recording = out / f"mail-desktop.{kind}.mrec"
            folder = work / f"mail-desktop-{kind}"
            with DemoProcesses(folder / "logs") as own:
                runs[kind] = _run(own, folder, screen, service, episode, ruleset, kind, recording)
            episodes[kind] = episode.id
    return FamilyRuns(ruleset, runs, episodes)


def _run(
    parts: DemoProcesses,
    folder: Path,
    screen: DemoScreen,
    service: DemoService,
    episode: Episode,
    ruleset: Ruleset,
    kind: str,
    recording: Path,
) -> LiveRun:
    """Let the agent work in Thunderbird under a daemon that sees the desktop and what the mail
    server keeps."""
    home, kept, state = folder / "home", folder / "server" / "kept", folder / "daemon"
    port = start_mail_server(parts, folder / "server", kept)
    environ = start_desktop(parts, home)
    more = [
        *("--home", str(home), "--server-port", str(port), "--kept", str(kept)),
        *("--run", kind, "--control", str(state), "--episode", episode.id),
    ]
    agent = start_mail_agent(parts, environ, more, f"agent-{kind}")
    sources = ("--desktop", "--files", f"server={kept}")
    daemon = start_daemon(
        parts, state, service.url, episode.id, episode.token, sources, env=environ
    )
    return follow_agent(screen, service, episode, ruleset, (daemon, agent), recording)
