"""BrowserGym's MiniWoB in Chromium under our Gymnasium wrapper, each episode watched by a daemon
over the browser's port. BrowserGym's own Playwright drives; its browsers are looked for where
PLAYWRIGHT_BROWSERS_PATH says."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

import gymnasium
import httpx
import playwright
from milestoned_client import ControlDir
from milestoned_client.adapters.gymnasium import RewardServiceWrapper

from tests.support.ports import free_port
from tests.trainers.harness.say import URL, say

PATIENCE_S = 60.0


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_about: Any) -> None:
        """Say nothing: what this process says is read."""


@contextmanager
def pages() -> Iterator[str]:
    """MiniWoB's own pages."""
    where = str(files("miniwob") / "html")
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=where))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/miniwob/"
    server.shutdown()


def browser(folder: Path, *flags: str) -> Path:
    """A command that starts the machine's Chromium with ``flags`` before Playwright's own."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "chrome"
    script.write_text(f'#!/bin/sh\nexec {os.environ["CHROMIUM"]} {" ".join(flags)} "$@"\n')
    script.chmod(0o755)
    return script


def found_by_playwright(folder: Path) -> None:
    """Put the machine's Chromium where Playwright looks for the one that it would download."""
    listed = json.loads(
        (Path(playwright.__file__).parent / "driver/package/browsers.json").read_text()
    )
    revision = next(one["revision"] for one in listed["browsers"] if one["name"] == "chromium")
    browser(folder / f"chromium-{revision}" / "chrome-linux")
    os.environ["PLAYWRIGHT_BROWSERS_PATH"] = str(folder)


class Watching:
    """A `watch` hook: `agentd run` on the browser's port."""

    def __init__(self, folder: Path, port: int, processes: ExitStack) -> None:
        self._folder, self._port, self._processes = folder, port, processes

    def __call__(self, episode: Any) -> ControlDir:
        state = self._folder / episode.id
        state.mkdir()
        token = state / "append.token"
        token.touch(0o600)
        token.write_text(episode.token)
        command = [
            os.environ["DAEMON_PYTHON"],
            "-m",
            "agentd.cli.main",
            "run",
            "--service",
            URL,
            "--episode",
            episode.id,
        ]
        command += [
            "--token-file",
            str(token),
            "--state",
            str(state),
            "--cdp",
            f"http://127.0.0.1:{self._port}",
        ]
        daemon = subprocess.Popen(
            command, stdout=(state / "log").open("wb"), stderr=subprocess.STDOUT
        )
        self._processes.callback(daemon.wait, 30)
        self._processes.callback(daemon.terminate)
        until = time.monotonic() + PATIENCE_S
        while not ready(state):
            if daemon.poll() is not None or time.monotonic() > until:
                raise RuntimeError((state / "log").read_text()[-3000:])
            time.sleep(0.1)
        return ControlDir(state)


def ready(state: Path) -> bool:
    """Whether the daemon sees."""
    try:
        at, token = ControlDir(state).locate()
        answer = httpx.get(f"{at}/healthz", headers={"authorization": f"Bearer {token}"}, timeout=5)
    except Exception:  # noqa: BLE001  # not yet
        return False
    return answer.is_success and all(how == "ready" for how in answer.json()["sources"].values())


def played(env: Any, right: bool) -> dict[str, Any]:
    """One episode of click-test: the button, or beside it."""
    observation, _ = env.reset(seed=3)
    tree = json.dumps(observation["axtree_object"])
    at = tree.index('"value": "Click Me!"')
    bid = tree.index('"browsergym_id": "', at) + len('"browsergym_id": "')
    button = tree[bid : tree.index('"', bid)]
    _, reward, over, cut, told = env.step(f"click({button!r})" if right else "noop()")
    kept = (
        "env_reward",
        "reward_components",
        "milestones",
        "success",
        "mask_sample",
        "failure_reason",
    )
    return {"reward": reward, "over": over, "cut": cut, **{name: told[name] for name in kept}}


def main() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name, pages() as address, ExitStack() as processes:
        folder, port = Path(name), free_port()
        found_by_playwright(folder / "browsers")
        os.environ["MINIWOB_URL"] = address
        import browsergym.miniwob  # noqa: F401  # registers its environments, and wants the address

        chrome = browser(folder / "own", f"--remote-debugging-port={port}")
        own = gymnasium.make(
            "browsergym/miniwob.click-test",
            pw_chromium_kwargs={"executable_path": str(chrome)},
            headless=True,
        )
        env = RewardServiceWrapper(
            own, "miniwob/click-test", watch=Watching(folder, port, processes)
        )
        try:
            return [played(env, right) for right in (True, False)]
        finally:
            env.close()


if __name__ == "__main__":
    found = main()
    say(result=found)
    sys.stdout.flush()
    os._exit(0)  # BrowserGym's Playwright has no end but the process's
