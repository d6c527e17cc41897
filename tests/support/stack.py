"""Service and daemon as real processes on loopback, to be killed and started again in mid-episode.

``with Stack(tmp_path) as stack``: then ``stack.open(task)``, ``stack.watch(("--cdp",
browser.endpoint))``. Both sides are started by the same code as the demo's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from milestoned_client import ControlDir, Episode, Reward, RewardClient

from lab.demo.parts import DemoDaemon, DemoService, start_daemon, start_service, start_shop
from lab.demo.processes import DemoProcesses
from tests.support.ports import free_port
from tests.support.preloaded import launch

SEAL_S = 30.0
"""How long a reward may take on a busy machine."""
PATIENT = {"settle_ms": 10_000}
"""Settings of a task whose steps are all seen: in the second that is the default, a busy machine may not answer."""


class Stack:
    """One service, and one daemon for one episode at a time.

    ``database``: its address, where it is not SQLite in the service's folder. ``serve_with``,
    ``watch_with``: commands that run the service and the daemon, such as ``("env", "NAME=value")``.
    ``service``: one that runs already.
    """

    def __init__(
        self,
        folder: Path,
        database: str = "",
        serve_with: Sequence[str] = (),
        watch_with: Sequence[str] = (),
        service: DemoService | None = None,
    ) -> None:
        self.folder = folder
        self.front = ""
        """Where the service is reached, if not at its own address: a proxy in front of it."""
        self.states = folder
        """Where the daemons' state folders are."""
        self._database, self._serve_with, self._watch_with = database, serve_with, watch_with
        self._parts = DemoProcesses(folder / "logs", launch)
        self._clients: list[RewardClient] = []
        self._watching: tuple[Sequence[str], Sequence[Path]] = ((), ())
        self._service = service
        self._daemon: DemoDaemon | None = None
        self._episode: Episode | None = None

    def __enter__(self) -> Stack:
        self._parts.__enter__()
        try:
            if self._service is None:
                self.start_service()
        except BaseException:
            self._parts.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for client in self._clients:
            client.close()
        self._parts.__exit__(kind, error, trace)

    @property
    def service(self) -> DemoService:
        assert self._service is not None, "the service was not started"
        return self._service

    @property
    def daemon(self) -> DemoDaemon:
        assert self._daemon is not None, "watch() was not called"
        return self._daemon

    @property
    def episode(self) -> Episode:
        assert self._episode is not None, "open() was not called"
        return self._episode

    def start_service(self) -> DemoService:
        """Start the service; after a kill on the same port, over the same database."""
        port = urlsplit(self._service.url).port if self._service else None
        folder = self.folder / "service"
        self._service = start_service(
            self._parts, folder, port or free_port(), self._database, self._serve_with
        )
        return self._service

    def kill_service(self) -> None:
        """kill -9."""
        self.service.part.kill()

    @property
    def url(self) -> str:
        """The address that clients and the daemon are told."""
        return self.front or self.service.url

    def start_shop(self, invoice_after: int = 0, name: str = "shop") -> str:
        """The example shop; its access log is ``folder/NAME/access.jsonl``."""
        return start_shop(self._parts, self.folder / name, invoice_after)

    def connect(self, *, beside: bool = False) -> RewardClient:
        """A client with the operator's token; ``beside`` the daemon, its steps go straight to
        it."""
        control = ControlDir(self.state) if beside else None
        client = RewardClient(self.url, self.service.token, control=control)
        self._clients.append(client)
        return client

    @property
    def state(self) -> Path:
        """The daemon's state folder of the current episode."""
        return self.states / f"daemon-{self.episode.id}"

    def open(self, task: Mapping[str, Any] | str, **options: Any) -> Episode:
        """Register ``task`` and open an episode of it, whose steps go through the service."""
        client = self.connect()
        self._episode = client.open(client.register_task(task), **options)
        return self._episode

    def watch(self, browser: Sequence[str] = (), files: Sequence[Path] = ()) -> Episode:
        """Start the daemon on the opened episode, wait until it sees, and give a handle whose steps
        go to it."""
        self._watching = (browser, files)
        self.start_daemon()
        handle = self.connect(beside=True).episode(self.episode.id)
        handle.opened = self.episode.opened
        return handle

    def start_daemon(self) -> DemoDaemon:
        """Start the daemon; after a kill again on the same state folder."""
        browser, files = self._watching
        episode = self.episode
        self._daemon = start_daemon(
            self._parts,
            self.state,
            self.url,
            episode.id,
            episode.token,
            browser,
            files,
            self._watch_with,
        )
        return self._daemon

    def kill_daemon(self) -> None:
        """kill -9."""
        self.daemon.part.kill()

    def rewards(self, last_step: int) -> list[Reward]:
        """The final rewards of steps 0 to ``last_step``."""
        return [self.episode.reward(step, wait_s=SEAL_S) for step in range(last_step + 1)]


def gist(rewards: Sequence[Reward]) -> list[tuple[int, float | None, list[tuple[str, float, int]]]]:
    """What must be alike in two runs of one session: no numbers of events, no ids of episodes, no
    order within a step of what two sources saw."""
    return [
        (r.step, r.reward, sorted((m.id, m.worth, m.cause_step or 0) for m in r.milestones))
        for r in rewards
    ]


def chromium_preferences(profile: Path, downloads: Path) -> None:
    """Make Chromium save downloads in ``downloads`` without asking, as a user would set it up."""
    default = profile / "Default"
    default.mkdir(parents=True, exist_ok=True)
    downloads.mkdir(parents=True, exist_ok=True)
    settings = {
        "download": {"default_directory": os.fspath(downloads), "prompt_for_download": False}
    }
    (default / "Preferences").write_text(json.dumps(settings))
