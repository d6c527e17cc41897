"""The sandbox's scripts, run: who is well to the daemon's probe, and when a Chromium that can't
live is given up."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

PARTS = Path(__file__).parents[2] / "deploy" / "sandbox"
STARTED = "echo >> {folder}/starts\n"
DIES_AT_ONCE = STARTED + "exit 1\n"
LIVES_THE_TENTH_TIME = STARTED + "[ $(wc -l < {folder}/starts) -lt 10 ] || exec sleep 60\n"
# As sandbox-reset does: it has the lock while Chromium ends.
IS_RESET_FIFTEEN_TIMES = (
    STARTED + "[ $(wc -l < {folder}/starts) -le 15 ] || exec sleep 60\n"
    "exec 9>{folder}/browser.lock; flock 9; sleep 0.1 & exit 0\n"
)


class Healthy(BaseHTTPRequestHandler):
    """A daemon's port."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Ill(Healthy):
    """Somebody else's port."""

    def do_GET(self) -> None:
        self.send_response(500)
        self.end_headers()


@contextmanager
def answering(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def silent() -> Iterator[int]:
    """Takes the call and says nothing, as a daemon does that hangs."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@contextmanager
def nobody() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    yield port


@pytest.mark.parametrize(
    ("who", "episode", "well"),
    [
        (lambda: answering(Healthy), "ep_1", True),
        (nobody, "ep_1", True),
        (lambda: answering(Ill), "ep_1.given-up", True),
        (lambda: answering(Ill), None, True),
        (lambda: answering(Ill), "ep_1", False),
        (silent, "ep_1", False),
    ],
    ids=[
        "answers",
        "was killed",
        "gave the episode up",
        "has none or waits for the service",
        "another's",
        "hangs",
    ],
)
def test_whether_a_daemon_is_well(
    tmp_path: Path, who: type, episode: str | None, well: bool
) -> None:
    with who() as port:
        folder = tmp_path / (episode or "ep_1")
        folder.mkdir()
        if episode is not None:
            (folder / "agentd.json").write_text(
                json.dumps({"port": port, "pid": 1, "episode": "ep_1"})
            )
        done = subprocess.run([PARTS / "alive", "agentd", tmp_path], timeout=60, check=False)
    assert (done.returncode == 0) is well


def part(folder: Path, name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A script of the sandbox, run with folders of the test's in place of the sandbox's own."""
    text = (PARTS / name).read_text()
    for place in ("/home/agent", "/var/lib/milestoned", "/run/milestoned"):
        text = text.replace(place, f"{folder}{place}")
    command = ["bash", "-c", text, name, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_without_a_copy_of_the_home_nothing_of_it_is_taken_away(tmp_path: Path) -> None:
    kept = tmp_path / "home" / "agent" / "notes.txt"
    kept.parent.mkdir(parents=True)
    kept.write_text("mine")
    done = part(tmp_path, "home", "restore", "desktop")
    assert (done.returncode, kept.read_text()) == (1, "mine")
    assert f"there is no copy {tmp_path}/var/lib/milestoned/desktop" in done.stderr


def test_no_process_is_ended_where_the_desktop_s_own_are_not_known(tmp_path: Path) -> None:
    done = part(tmp_path, "end")
    assert done.returncode == 1
    assert f"{tmp_path}/run/milestoned/parts is missing" in done.stderr


def browser(folder: Path, chromium: str) -> subprocess.Popen[str]:
    """The script with a stand-in for Chromium and a folder of the test's, and less of a breath."""
    (folder / "chromium").write_text("#!/bin/bash\n" + chromium.format(folder=folder))
    text = (
        (PARTS / "browser")
        .read_text()
        .replace("/run/milestoned", str(folder))
        .replace("sleep 0.5", "sleep 0.01")
    )
    (folder / "browser").write_text(text)
    for name in ("chromium", "browser"):
        (folder / name).chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    return subprocess.Popen(
        [folder / "browser"], env={"PATH": path}, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.slow
def test_a_chromium_that_can_not_live_is_given_up(tmp_path: Path) -> None:
    process = browser(tmp_path, DIES_AT_ONCE)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, len((tmp_path / "starts").read_text())) == (1, 10)
    assert "10 times in a row" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chromium", "starts"), [(LIVES_THE_TENTH_TIME, 10), (IS_RESET_FIFTEEN_TIMES, 16)]
)
def test_one_that_comes_to_live_or_is_reset_is_not(
    tmp_path: Path, chromium: str, starts: int
) -> None:
    process = browser(tmp_path, chromium)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.2 * starts + 2)
    assert len((tmp_path / "starts").read_text()) == starts
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 0
