"""Tries the expressions of a task's script probes in a real Chromium, on an empty page, or on one
of the author's own (`milestoned task check`)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
from websockets.exceptions import ConnectionClosedError, WebSocketException
from websockets.version import version

from common.devtools_messages import decode_message
from common.scratch import scratch_folder
from detectors.matchers import url_matches
from detectors.model.kinds.limits import MAX_PROBE_BYTES
from detectors.task.language import ProbeSpec, ScriptSpec, Task
from detectors.task.script_calls import refusal, refused_calls

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--password-store=basic",
    "--remote-debugging-port=0",
)
TOTAL_S = 30.0
"""What the browser's start and all expressions may take together, in seconds."""
EVALUATE_MS = 500
DRAW_S = 3.0
"""How long expressions that throw are tried again on a page that has loaded: it may still draw what
they read."""
RETRY_S = 0.2
MAX_VALUE = 2_000
"""Characters of a value that are shown."""
MAX_ANSWER = 4 << 20
"""Bytes of a message of the browser's that is read: a probe's value has at most 64 KiB."""
TOO_BIG = 1009
"""The code with which a connection is closed whose message is too large."""
MAX_FOLDER = 48
"""Bytes of a folder's path in which the browser's sockets are made."""
_SHORT = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))


class NotTriedError(Exception):
    """Why no expression was tried."""


class _CallError(Exception):
    """Why the browser did not do what it was asked for, in its words."""


def script_probes(task: Task) -> list[tuple[str, str]]:
    """Path and expression of each script probe."""
    return [
        (_path(n, probe), probe.script.expression)
        for n, probe in enumerate(task.probes)
        if probe.script is not None
    ]


def _path(n: int, probe: ProbeSpec) -> str:
    return f"probes[{n}].script.expression (probe {probe.id})"


def doubtful_calls(probes: Sequence[tuple[str, str]]) -> list[str]:
    """What the text alone says: calls that Chromium is known to refuse, one sentence for each."""
    return [
        f"{path}: {name} may not be called, write {instead}"
        for path, expression in probes
        for name, instead in refused_calls(expression)
    ]


def try_expressions(probes: Sequence[tuple[str, str]], total_s: float = TOTAL_S) -> list[str]:
    """One sentence for each expression that is no JavaScript or is refused on an empty page; raises
    `NotTriedError`.

    What an empty page lacks ends an expression early, with a TypeError that says nothing: that is
    no problem here.
    """
    with _open_tab(total_s) as tab:
        return list(_problems(tab, probes))


class ProbeTrial(NamedTuple):
    """What came of a probe's expression on a page: ``problem``, or else ``answer``, its value as
    JSON. ``may_change``: the page may still draw what the expression reads."""

    path: str
    answer: str = ""
    problem: str = ""
    may_change: bool = False


def try_on_page(task: Task, address: str, total_s: float = TOTAL_S) -> Iterator[ProbeTrial]:
    """Yield what each script probe answers on the page at ``address``, as a daemon would have it
    asked: in a world of its own, refused if it would write. Raises `NotTriedError`, also where the
    page can't be loaded."""
    with _open_tab(total_s) as tab:
        tab.load(address)
        until = time.monotonic() + DRAW_S
        for n, probe in enumerate(task.probes):
            if probe.script is None:
                continue
            trial = _try_script(tab, _path(n, probe), probe.script, task.origin)
            while trial.may_change and time.monotonic() < until:
                time.sleep(RETRY_S)
                trial = _try_script(tab, _path(n, probe), probe.script, task.origin)
            yield trial


def _try_script(tab: _Tab, path: str, script: ScriptSpec, origin: str | None) -> ProbeTrial:
    """Evaluate a probe's expression once, where the tab shows an address that the probe names."""
    try:
        url = tab.find_url()
        if not url_matches(script.url, url, origin):
            return ProbeTrial(
                path, problem=f"it is not asked on {url}: see its url", may_change=True
            )
        reply = tab.evaluate(script.expression)
    except _CallError as error:
        return ProbeTrial(path, problem=f"the browser gave no answer: {error}", may_change=True)
    if "exceptionDetails" not in reply:
        return _trial_of(path, reply["result"])
    said = _thrown(reply)
    if _is_refused(said):
        return ProbeTrial(path, problem=refusal(script.expression))
    problem = f"the expression threw {said[:200]}"
    return ProbeTrial(path, problem=problem, may_change=not said.startswith("SyntaxError"))


def _trial_of(path: str, result: dict[str, Any]) -> ProbeTrial:
    """What a value is as JSON; one that is none, or that no daemon records, is a problem."""
    kind = result["type"]
    if kind in ("function", "symbol", "bigint"):
        return ProbeTrial(path, problem=f"the expression is worth a {kind}, which is no JSON")
    answer = orjson.dumps(result.get("value"))
    if len(answer) > MAX_PROBE_BYTES:
        problem = f"got a value of {len(answer)} bytes, expected at most {MAX_PROBE_BYTES}"
        return ProbeTrial(path, problem=problem)
    return ProbeTrial(path, answer.decode()[:MAX_VALUE])


def _thrown(reply: dict[str, Any]) -> str:
    """The first line of what an expression threw, or nothing."""
    thrown = reply.get("exceptionDetails", {}).get("exception", {})
    return str(thrown.get("description", "")).partition("\n")[0]


def _is_refused(said: str) -> bool:
    """Whether the browser refused an expression because it would have changed something."""
    return "Possible side-effect in debug-evaluate" in said


@contextmanager
def _open_tab(total_s: float) -> Iterator[_Tab]:
    """A tab of a browser of its own; both end with the block. Raises `NotTriedError`."""
    from websockets.sync.client import connect

    executable = next((found for name in NAMES if (found := shutil.which(name))), None)
    if executable is None:
        raise NotTriedError(f"none of {', '.join(NAMES)} is installed here")
    if int(version.partition(".")[0]) < 15:
        raise NotTriedError(f"websockets 15 or newer is needed, got {version}")
    deadline = time.monotonic() + total_s
    try:
        with (
            _browser(executable, deadline) as address,
            connect(
                address, proxy=None, compression=None, max_size=MAX_ANSWER, open_timeout=5
            ) as socket,
        ):
            yield _Tab(socket, deadline)
    except (OSError, TimeoutError, WebSocketException, _CallError) as error:
        raise NotTriedError(f"{executable}: {type(error).__name__} {error}") from None


class _Tab:
    """A tab that shows an empty page, and is talked to until the deadline."""

    def __init__(self, socket: ClientConnection, deadline: float) -> None:
        self._socket, self._deadline = socket, deadline
        self._session: str | None = None
        self._documents: set[str] = set()  # loaders of those that the tab has shown
        self._is_loaded = False
        self._frame: str | None = None
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]

    def load(self, address: str) -> None:
        """Load a page and wait for it. Raises `NotTriedError`."""
        self._call("Page.enable")
        try:
            reply = self._call("Page.navigate", url=address)
        except _CallError:
            raise NotTriedError(f"{address}: this is no address") from None
        if "errorText" in reply:
            raise NotTriedError(f"{address}: {reply['errorText']}")
        try:
            while not self._is_loaded or reply["loaderId"] not in self._documents:
                self._receive()
        except TimeoutError:
            raise NotTriedError(f"{address}: the page did not load in time") from None
        self._frame = reply["frameId"]

    def find_url(self) -> str:
        """The address that the tab shows now."""
        history = self._call("Page.getNavigationHistory")
        return str(history["entries"][history["currentIndex"]]["url"])

    def evaluate(self, expression: str) -> dict[str, Any]:
        """The reply to the evaluation of an expression that may not change anything. Raises
        `_CallError` for one that takes too long or whose value can't be told, and `NotTriedError`
        for a value that is too large: the tab is gone then."""
        how = {"throwOnSideEffect": True, "timeout": EVALUATE_MS, "silent": True}
        try:
            return self._call(
                "Runtime.evaluate", expression=expression, **how, **self._make_world()
            )
        except ConnectionClosedError as error:
            if error.sent is None or error.sent.code != TOO_BIG:
                raise
            raise NotTriedError(
                f"{expression[:80]}: got a value of more than {MAX_ANSWER >> 20} MiB"
            ) from None

    def _make_world(self) -> dict[str, object]:
        """Where an expression is evaluated, and how its value is told: of a page that was loaded in
        a world of its own, of the document that it shows now."""
        if self._frame is None:
            return {}
        world = self._call(
            "Page.createIsolatedWorld", frameId=self._frame, worldName="milestoned check"
        )
        return {"contextId": world["executionContextId"], "returnByValue": True}

    def _call(self, method: str, **params: object) -> dict[str, Any]:
        """Send a command, and wait for its own answer. Raises `_CallError`."""
        message: dict[str, object] = {"id": 1, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        self._socket.send(orjson.dumps(message).decode())
        while True:
            reply = self._receive()
            if reply.get("id") == 1:
                if "error" in reply:
                    raise _CallError(reply["error"]["message"])
                result: dict[str, Any] = reply["result"]
                return result

    def _receive(self) -> dict[str, Any]:
        """Wait for the next message; note what it says of the tab's document."""
        wait_s = max(0.0, self._deadline - time.monotonic())
        message = decode_message(self._socket.recv(timeout=wait_s))
        frame = message.get("params", {}).get("frame", {})
        if message.get("method") == "Page.frameNavigated" and "parentId" not in frame:
            self._documents.add(frame["loaderId"])
            self._is_loaded = False
        elif message.get("method") == "Page.loadEventFired":
            self._is_loaded = True
        return message


_TIED = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""
"""Becomes the program that its further arguments say, which the kernel kills (PR_SET_PDEATHSIG)
with the process that its first one names."""


@contextmanager
def _browser(executable: str, deadline: float) -> Iterator[str]:
    """The address of a browser of its own, with a profile that goes with it."""
    sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()
    with scratch_folder("milestoned-check-", _short_folder()) as profile:
        browser = [executable, *FLAGS, *sandbox, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _TIED, str(os.getpid()), *browser],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, "TMPDIR": str(profile)},
        )
        try:
            yield _address(process, profile / "DevToolsActivePort", deadline)
        finally:
            with suppress(ProcessLookupError):  # it may have ended by itself
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _short_folder() -> Path:
    """Where temporary files may be whose sockets' paths stay within the 107 bytes of the system:
    the browser ends at once with a longer one. Raises `NotTriedError`."""
    usual = Path(tempfile.gettempdir())
    for folder in (usual, *_SHORT):
        is_short = len(os.fsencode(folder)) <= MAX_FOLDER
        if is_short and folder.is_dir() and os.access(folder, os.W_OK | os.X_OK):
            return folder
    raise NotTriedError(
        f"TMPDIR {usual}: {len(os.fsencode(usual))} bytes, expected at most {MAX_FOLDER}: the"
        " browser's socket is made below it"
    )


def _address(process: subprocess.Popen[bytes], port_file: Path, deadline: float) -> str:
    """Return the browser's address once it says so. Raises `NotTriedError` where it ends, or is too
    late."""
    while time.monotonic() < deadline:
        lines = port_file.read_text().split() if port_file.exists() else []
        if len(lines) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        if process.poll() is not None:
            raise NotTriedError(f"the browser ended with {process.returncode}")
        time.sleep(0.02)
    raise NotTriedError("the browser did not start in time")


def _problems(tab: _Tab, probes: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield a problem for each probe's expression that is no JavaScript, or that would write."""
    for path, expression in probes:
        try:
            said = _thrown(tab.evaluate(expression))
        except _CallError:  # on the page it is meant for it may end
            continue
        if _is_refused(said):
            yield f"{path}: {refusal(expression)}"
        elif said.startswith("SyntaxError"):
            yield f"{path}: wanted a JavaScript expression, got {said}"
