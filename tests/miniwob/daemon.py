"""The daemon, as its command runs it, in a thread: a process for each of hundreds of episodes would
be most of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from milestoned_client import Episode

from agentd.core.settings import RunSettings
from agentd.inprocess.thread import DaemonThread
from agentd.inprocess.watch import Watch
from agentd.run.daemon import Opened
from agentd.run.daemon import run as run_daemon

READY_S = 60.0


class _Elsewhere:
    """The harness talks to the browser over another connection: it need not be given turns."""

    def pump(self) -> bool:
        return False

    def leave(self) -> None:
        return None


def watch(episode: Episode, service: str, endpoint: str, folder: Path) -> Watch:
    """Watch the browser at ``endpoint`` for ``episode``; returns once every source sees."""
    settings = RunSettings(
        service=service,
        episode=episode.id,
        state=folder,
        cdp=endpoint,
        token_file=Path("(given)"),
    )

    async def work(stop: asyncio.Event, opened: Opened) -> None:
        await run_daemon(settings, episode.token, stop, opened)

    thread = DaemonThread(work, f"milestoned {episode.id}")
    thread.start()
    found = Watch(thread, folder, lambda: None, _Elsewhere())  # type: ignore[arg-type]  # what it uses of a harness
    found.wait_ready(READY_S)
    return found
