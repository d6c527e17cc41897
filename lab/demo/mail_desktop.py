"""One run of `milestoned demo mail-desktop`: Thunderbird on a desktop of its own, with a mail
server of ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from detectors.task.ruleset import Ruleset
from lab.demo.desktop import start_desktop
from lab.demo.live_run import LiveRun, follow_agent
from lab.demo.parts import DemoService, start_daemon, start_mail_agent, start_mail_server
from lab.demo.processes import DemoProcesses
from lab.demo.show import DemoScreen

if TYPE_CHECKING:
    from milestoned_client import Episode


def run_mail_agent(
    parts: DemoProcesses,
    folder: Path,
    screen: DemoScreen,
    service: DemoService,
    episode: Episode,
    ruleset: Ruleset,
    kind: str,
    recording: Path,
) -> LiveRun:
    """Let the agent do its ``kind`` of run ("right" or "wrong") in Thunderbird under a daemon that
    sees the desktop and what the mail server keeps; ``folder`` is made for all of it, the episode
    goes to the file ``recording``. Raises `PartFailedError`."""
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
