"""The agent as one user, daemon and service as another: who is scored reads and ends nothing of who
scores.

Every folder above is open to all, so that what holds are the modes of the files themselves and the
kernel's rules on other users' processes.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.chromium import Chromium, needs_chromium
from tests.support.stack import Stack

KEEPER, AGENT = 64_001, 64_002
"""Unprivileged numbers that nobody has: daemon and service, and the agent."""
SEEN_S = 30.0
ROOT = Path(__file__).resolve().parents[2]
NOTE = {"id": "note", "when": {"file_created": {"name": "note.txt"}}}
pytestmark = [
    pytest.mark.browser,
    needs_chromium,
    pytest.mark.skipif(
        os.geteuid() != 0, reason="two users: only root may start programs of others"
    ),
    pytest.mark.skipif(shutil.which("setpriv") is None, reason="two users: setpriv is missing"),
]

SPY = """
import json, os, pathlib, signal, sys, urllib.request, urllib.error

def tried(what):
    try:
        return {"done": str(what())[:80]}
    except urllib.error.HTTPError as error:
        return {"refused": error.code}
    except OSError as error:
        return {"refused": type(error).__name__}

def post(url, token):
    headers = {"content-type": "application/json", **({"authorization": f"Bearer {token}"} if token else {})}
    return urllib.request.urlopen(urllib.request.Request(url, b"{}", headers, method="POST"), timeout=60).status

given = json.load(sys.stdin)
found = {}
for path in given["files"]:
    found["read " + path] = tried(lambda: open(path, "rb").read(16))
    found["write " + path] = tried(lambda: open(path, "ab").write(b"x"))
for folder in given["folders"]:
    found["put into " + folder] = tried(lambda: pathlib.Path(folder, "of-the-agent").write_text("x"))
for pid in given["pids"]:
    for name in ("environ", "mem", "maps", "fd/0"):
        found[f"{name} of {pid}"] = tried(lambda: open(f"/proc/{pid}/{name}", "rb").read(16))
    found[f"stop {pid}"] = tried(lambda: os.kill(pid, signal.SIGSTOP))
    found[f"end {pid}"] = tried(lambda: os.kill(pid, signal.SIGKILL))
for url in given["urls"]:
    for token in (None, "guessed"):
        found[f"post {url} {token}"] = tried(lambda: post(url, token))
json.dump({"uid": os.getuid(), "found": found}, sys.stdout)
"""

OPEN_TAB = (
    "import sys, urllib.request as u; u.urlopen(u.Request(sys.argv[1], method='PUT'),"
    " timeout=60).read()"
)


def as_user(user: int, *command: str) -> list[str]:
    """The command, run by ``user`` with no privileges at all."""
    return [
        "setpriv",
        f"--reuid={user}",
        f"--regid={user}",
        "--clear-groups",
        "--inh-caps=-all",
        *command,
    ]


def run(user: int, code: str, *arguments: str, said: Any = None) -> str:
    """What Debian's Python prints for ``code``, run by ``user``."""
    command = as_user(user, "/usr/bin/python3", "-c", code, *arguments)
    return subprocess.run(
        command,
        input=json.dumps(said),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd="/",
    ).stdout


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may enter, unlike pytest's own."""
    found = Path(tempfile.mkdtemp(prefix="milestoned-two-users-"))
    found.chmod(0o755)
    yield found
    shutil.rmtree(found)


@pytest.fixture
def stack(folder: Path) -> Iterator[Stack]:
    """Service and daemon as the keeper."""
    runs = subprocess.run(
        as_user(KEEPER, sys.executable, "-c", "import httpx"), check=False, cwd="/"
    )
    if runs.returncode != 0:
        pytest.skip(f"two users: no other user may run {sys.executable}")
    for name in ("service", "daemons"):
        (folder / name).mkdir(mode=0o755)
    # What root made for them becomes theirs, then they are started.
    give = f'chown -R {KEEPER}:{KEEPER} "$0" && exec {" ".join(as_user(KEEPER))} "$@"'
    serve, watch = [("sh", "-c", give, str(folder / name)) for name in ("service", "daemons")]
    with Stack(folder, serve_with=serve, watch_with=watch) as running:
        running.states = folder / "daemons"
        yield running


def owner(pid: int) -> int:
    """Whose process that is."""
    return os.stat(f"/proc/{pid}").st_uid


def test_the_agent_reads_and_ends_nothing_and_drives_its_browser(
    stack: Stack, folder: Path
) -> None:
    shop = stack.start_shop()
    task = {
        "id": "two/users",
        "version": "1",
        "instruction": "Look at the lamp.",
        "origin": shop,
        "milestones": [{"id": "lamp", "when": {"url_reached": {"url": "/products/lamp"}}}],
    }
    stack.open(task)
    with Chromium(user=AGENT) as browser:
        assert (owner(browser.pid), owner(stack.service.part.pid)) == (AGENT, KEEPER)
        episode = stack.watch(("--cdp", browser.endpoint))
        assert owner(stack.daemon.part.pid) == KEEPER
        secrets = kept_by(folder)
        assert {path.name for path in secrets} >= {
            "milestoned.db", "secret", "admin.token", "append.token", "control.token", "journal.sqlite3"
        }  # fmt: skip
        said = json.loads(run(AGENT, SPY, said=_what_to_try(stack, secrets)))
        assert said["uid"] == AGENT
        assert {what: came for what, came in said["found"].items() if "done" in came} == {}
        assert {came["refused"] for came in said["found"].values()} == {"PermissionError", 401}
        _tells_nobody(stack, folder)
        episode.step({"look": "at the lamp"})
        run(AGENT, OPEN_TAB, f"{browser.endpoint}/json/new?{shop}products/lamp")
        reward = _sealed(episode)
        assert [milestone.id for milestone in reward.milestones] == ["lamp"]


ASKED = "the text that is asked for"
WRITE = """
import os, pathlib, sys
os.umask(0o022)
exec(sys.argv[1], {"here": pathlib.Path(sys.argv[2]), "os": os})
"""
SEEN = 'here.joinpath("readable.txt").write_text("done")'
UNREADABLE = 'os.close(os.open(here / "private.txt", os.O_CREAT | os.O_WRONLY, 0o600)); ' \
    f'here.joinpath("private.txt").write_text({ASKED!r})'  # fmt: skip
LOCKED = (
    'here.joinpath("locked").mkdir(mode=0o700);'
    ' here.joinpath("locked/forbidden.txt").write_text("x")'
)
AFTERWARDS = 'here.joinpath("other.txt").write_text("nobody asked for it")'
OPENED = 'here.joinpath("locked").chmod(0o755); here.joinpath("private.txt").chmod(0o644)'


def test_what_the_agent_s_files_keep_from_the_daemon_s_user_is_null_and_not_0(
    stack: Stack, folder: Path
) -> None:
    """Root may read everything, so that only two users show what a mode hides."""
    files = folder / "files"
    files.mkdir(mode=0o755)
    os.chown(files, AGENT, AGENT)
    stack.open(
        {
            "id": "two/users-files",
            "version": "1",
            "instruction": "Write what is asked for and nothing that is forbidden.",
            "settings": {"settle_ms": 10_000},
            "milestones": [
                {"id": "readable", "when": {"file_created": {"name": "readable.txt"}}},
                {
                    "id": "text",
                    "when": {
                        "file_matches": {
                            "name": "private.txt",
                            "sha256": hashlib.sha256(ASKED.encode()).hexdigest(),
                        }
                    },
                },
                {
                    "id": "forbidden",
                    "penalty": 0.5,
                    "when": {"file_created": {"name": "forbidden.txt"}},
                },
            ],
        }
    )
    episode = stack.watch(files=[files])
    assert owner(stack.daemon.part.pid) == KEEPER
    rewards = []
    for step, code in enumerate((SEEN, UNREADABLE, LOCKED, OPENED, AFTERWARDS)):
        episode.step({"run": code}, step=step)
        run(AGENT, WRITE, code, str(files))
        episode.end_step(step)
        rewards.append(episode.reward(step, wait_s=30))
    readable, *hidden, opened, afterwards = rewards
    assert [one.id for one in readable.milestones] == ["readable"]
    for one in hidden:
        assert (one.status, one.mask) == ("unobserved", True), one
        assert one.reason
    # Until the end of the step in which the modes were opened nothing is known, but for the penalty
    # that is seen now.
    assert (opened.reward, [one.id for one in opened.milestones if one.worth]) == (
        -0.5,
        ["forbidden"],
    ), opened
    assert opened.reason
    assert (afterwards.status, afterwards.reward) == ("sealed", 0), afterwards


CALL = """
import json, socket, sys
caller = socket.socket(socket.AF_UNIX)
caller.settimeout(60)
try:
    caller.connect(sys.argv[1])
    caller.send(b"GET /healthz HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n")
    print(json.dumps(caller.recv(12).decode()))
except OSError as error:
    print(json.dumps(type(error).__name__))
"""


def test_the_agent_can_not_even_connect_to_a_control_socket(stack: Stack, folder: Path) -> None:
    """The port on loopback is everybody's to connect to; the socket is its owner's, in a folder
    that all may enter."""
    keeper = folder / "daemons"
    os.chown(keeper, KEEPER, KEEPER)
    seen = folder / "seen"
    seen.mkdir(mode=0o755)
    episode = stack.open(
        {"id": "two/socket", "version": "1", "instruction": "-", "milestones": [NOTE]}
    )
    token, socket = keeper / "append.token", keeper / "control.sock"
    token.write_text(episode.token)
    os.chown(token, KEEPER, KEEPER)
    command = [
        sys.executable,
        "-m",
        "agentd",
        "run",
        "--detach",
        "--service",
        stack.url,
        "--episode",
        episode.id,
    ]
    command += ["--token-file", str(token), "--state", str(keeper / "state"), "--files", str(seen)]
    ran = subprocess.run(
        [*as_user(KEEPER, *command), "--socket", str(socket)],
        capture_output=True, text=True, timeout=120, check=False, cwd=ROOT,
    )  # fmt: skip
    assert ran.returncode == 0, ran
    pid = int((keeper / "state" / "agentd.pid").read_text())
    try:
        assert owner(pid) == KEEPER
        assert json.loads(run(AGENT, CALL, str(socket))) == "PermissionError"
        assert json.loads(run(KEEPER, CALL, str(socket))) == "HTTP/1.1 200"
        assert not [
            one
            for one in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()
            if _listens(one, pid)
        ]
    finally:
        os.kill(pid, signal.SIGTERM)


def _listens(line: str, pid: int) -> bool:
    """Whether a line of /proc/net/tcp is a listening socket of that process."""
    columns = line.split()
    held = {os.readlink(one) for one in Path(f"/proc/{pid}/fd").iterdir()}
    return columns[3] == "0A" and f"socket:[{columns[9]}]" in held


def kept_by(folder: Path) -> list[Path]:
    """Every file of the keeper's."""
    return sorted(
        path for path in folder.rglob("*") if path.is_file() and path.stat().st_uid == KEEPER
    )


def _what_to_try(stack: Stack, secrets: list[Path]) -> dict[str, Any]:
    port = json.loads((stack.state / "agentd.json").read_text())["port"]
    of = f"{stack.url}/v1/episodes/{stack.episode.id}"
    return {
        "files": [str(path) for path in secrets],
        "folders": sorted({str(path.parent) for path in secrets}),
        "pids": [stack.daemon.part.pid, stack.service.part.pid],
        "urls": (
            [f"http://127.0.0.1:{port}/v1/{what}" for what in ("steps", "close", "answers")]
            + [f"{of}/events", f"{of}:close", f"{stack.url}/v1/tasks"]
        ),
    }


def _tells_nobody(stack: Stack, folder: Path) -> None:
    """No token stands in a command line, which every user may read."""
    held = [path.read_text().strip() for path in folder.rglob("*.token")] + [stack.episode.token]
    for part in (stack.daemon.part, stack.service.part):
        told = Path(f"/proc/{part.pid}/cmdline").read_bytes().decode()
        assert not any(token in told for token in held)


def _sealed(episode: Any) -> Any:
    """The first step's reward, once the daemon saw the page."""
    until = time.monotonic() + SEEN_S
    while not any(
        "/products/lamp" in event.data["url"] for event in episode.events(kind="page.navigated")
    ):
        assert time.monotonic() < until, "the daemon saw no page"
        time.sleep(0.05)
    episode.end_step()
    return episode.reward(0, wait_s=30)
