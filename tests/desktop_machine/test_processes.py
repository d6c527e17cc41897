"""Processes: what starts and ends below a real shell, by the kernel's word and by looks at
/proc."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import psutil
import pytest

from agentd.core.source import FenceLateError, SourceLostError
from agentd.core.worker_thread import SourceThread
from agentd.masking import Masker
from agentd.sources.processes.connector import ANSWER_S, Connector, ProcessMessage
from agentd.sources.processes.fold import ProcessFold, bound_arguments, is_helper
from agentd.sources.processes.look import ProcessFacts, look
from agentd.sources.processes.source import ProcessesSource, _is_another, _ProcessWatch
from tests.desktop_machine.conftest import Shell
from tests.support.chromium import EXECUTABLE, needs_chromium
from tests.support.watching import Watch, running

LOOK = """
import sys
from agentd.sources.processes.look import look
facts = look(int(sys.argv[1]))
print(facts.name, facts.program)
"""
KERNEL, LOOKS = "the kernel tells", "looks at /proc"


def kernel_tells() -> bool:
    connector = Connector.open()
    if connector is not None:
        connector.close()
    return connector is not None


@pytest.fixture(params=[KERNEL, LOOKS])
def how(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Both ways of watching; the first where this machine's kernel allows it."""
    if request.param == KERNEL and not kernel_tells():
        pytest.skip("the kernel does not tell this process (CAP_NET_ADMIN is missing)")
    return {"ask_kernel": request.param == KERNEL}


async def test_a_program_is_started_and_ended(shell: Shell, how: dict[str, Any]) -> None:
    """With name, program, parent and arguments; the shell itself was there before."""
    async with running(Watch(ProcessesSource(str(shell.pid), {}, **how))) as watch:
        (before,) = watch.all("process.started")
        assert (before["pid"], before["name"], before["baseline"]) == (shell.pid, "sh", True)
        shell.run("sleep 1000 & sleeper=$!")
        started = await watch.one("process.started", name="sleep")
        assert (started["parent"], started["arguments"]) == (shell.pid, ["1000"])
        assert Path(started["program"]).name in ("sleep", "coreutils")
        assert "baseline" not in started
        shell.run("kill $sleeper; wait $sleeper")
        assert await watch.one("process.ended", pid=started["pid"]) == {
            "pid": started["pid"],
            "name": "sleep",
        }


async def test_what_ended_while_nobody_watched_is_told(shell: Shell, how: dict[str, Any]) -> None:
    """After a loss, and by a daemon that was started again, which reads the journal."""
    source = ProcessesSource(str(shell.pid), {}, **how)
    async with running(Watch(source)) as watch:
        shell.run("sleep 1000 & sleeper=$!")
        started = await watch.one("process.started", name="sleep")
    rows = [(seq, kind, data) for seq, (kind, data) in enumerate(watch.seen, 1)]
    await asyncio.to_thread(shell.finish, "kill $sleeper; wait $sleeper")
    again = ProcessesSource(str(shell.pid), {}, **how)
    again.recall(rows)
    for one in (source, again):
        async with running(Watch(one)) as watch:
            assert watch.all("process.ended") == [{"pid": started["pid"], "name": "sleep"}]
            assert [data["pid"] for data in watch.all("process.started")] == [shell.pid]


async def test_secrets_in_arguments_are_masked(shell: Shell, how: dict[str, Any]) -> None:
    """Before they are told."""
    secrets = "--password=geheim1 --token geheim2 https://ada:geheim3@host/ --pin 7263"
    async with running(Watch(ProcessesSource(str(shell.pid), {"mask": ["pin"]}, **how))) as watch:
        shell.run(f"sh -c 'sleep 1000; :' demo {secrets} &")
        started = await watch.one("process.started", name="sh", baseline=None)
        assert started["arguments"][2:] == [
            "demo", "--password=***", "--token", "***", "https://host/", "--pin", "***",
        ]  # fmt: skip
        assert started["masked"] == ["arguments"]
        await watch.one("process.started", name="sleep")
        assert "geheim" not in str(watch.seen)


async def test_a_process_that_becomes_another_program(shell: Shell, how: dict[str, Any]) -> None:
    """The same pid is told again, and its end once, under the last name."""
    async with running(Watch(ProcessesSource(str(shell.pid), {}, **how))) as watch:
        shell.run("mkfifo go; sh -c 'read -r go <go; exec sleep 1000' &")
        first = await watch.one("process.started", name="sh", baseline=None)
        shell.run("echo >go")
        second = await watch.one("process.started", name="sleep", pid=first["pid"])
        shell.run(f"kill {second['pid']}")
        assert (await watch.one("process.ended", pid=first["pid"]))["name"] == "sleep"
        assert len(watch.all("process.ended", pid=first["pid"])) == 1


async def test_a_shell_that_splits_starts_no_program(shell: Shell, how: dict[str, Any]) -> None:
    """A subshell is the same program twice: no news. What it starts is."""
    async with running(Watch(ProcessesSource(str(shell.pid), {}, **how))) as watch:
        shell.run("mkfifo gate; (read -r go <gate; sleep 1000; :) &")
        shell.finish(":")
        await watch.fence()
        shell.run("echo >gate")
        await watch.one("process.started", name="sleep")
        assert not watch.all("process.started", name="sh", baseline=None)


async def test_a_look_that_takes_too_long_is_late(
    shell: Shell, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not over: else a step would be sealed of which nobody knows what was started in it."""
    may_look, is_held_up = threading.Event(), threading.Event()
    may_look.set()

    def look_when_allowed(pid: int) -> ProcessFacts | None:
        while not may_look.wait(0.01):
            is_held_up.set()
        return look(pid)

    monkeypatch.setattr("agentd.sources.processes.source.look", look_when_allowed)
    source = ProcessesSource(str(shell.pid), {}, **how)
    async with running(Watch(source)) as watch:
        may_look.clear()
        try:
            shell.finish("sleep 1000 &")
            # The shell may be done before its child has become another program.
            assert await asyncio.to_thread(is_held_up.wait, 60)
            with pytest.raises(FenceLateError):
                await source.fence(0.05)
        finally:
            may_look.set()
        await source.fence(60.0)
        await watch.one("process.started", name="sleep")


async def test_processes_that_live_shortly(shell: Shell) -> None:
    """The kernel tells of every one, even where nothing of it could be read any more."""
    if not kernel_tells():
        pytest.skip("the kernel does not tell this process (CAP_NET_ADMIN is missing)")
    async with running(Watch(ProcessesSource(str(shell.pid), {}))) as watch:
        shell.finish("for n in 1 2 3 4 5 6 7 8 9 10; do env true; done")
        await watch.fence()
        started = [data["pid"] for data in watch.all("process.started", baseline=None)]
        assert len(set(started)) == 10
        assert {data["pid"] for data in watch.all("process.ended")} >= set(started)
        assert not watch.all("alarm.raised")


async def test_where_the_kernel_does_not_tell_it_is_said(shell: Shell) -> None:
    """Somebody who reads the log knows that a short process may be missing."""
    async with running(Watch(ProcessesSource(str(shell.pid), {}, ask_kernel=False))) as watch:
        (alarm,) = watch.all("alarm.raised")
        assert "may be missed" in alarm["reason"]


async def test_the_daemon_itself_is_left_out(shell: Shell, how: dict[str, Any]) -> None:
    """Neither it nor what it starts is told, also where all are watched."""
    async with running(Watch(ProcessesSource("all", {}, **how))) as watch:
        assert watch.all("process.started", pid=shell.pid, baseline=True)
        assert not watch.all("process.started", pid=os.getpid())
        ours = await asyncio.create_subprocess_exec("sleep", "1000")
        try:
            shell.run("sleep 1001 &")
            await watch.one("process.started", name="sleep", parent=shell.pid)
            await watch.fence()
            assert not watch.all("process.started", pid=ours.pid)
        finally:
            ours.kill()
            await ours.wait()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
async def test_one_users_processes(shell: Shell, how: dict[str, Any]) -> None:
    """Those of others are not told."""
    async with running(Watch(ProcessesSource("nobody", {}, **how))) as watch:
        shell.run("sleep 1000 &\nsetpriv --reuid=nobody sleep 1001 &")
        started = await watch.one("process.started", user="nobody")
        assert started["arguments"][-1] == "1001"
        await watch.fence()
        assert {data["user"] for data in watch.all("process.started")} == {"nobody"}


async def test_a_process_that_does_not_run_can_t_be_watched() -> None:
    """The source is lost, and says of what."""
    done = await asyncio.create_subprocess_exec("true")
    await done.wait()
    with pytest.raises(SourceLostError, match=f"--processes {done.pid}: no such process"):
        async with running(Watch(ProcessesSource(str(done.pid), {}))):
            pass


def command_lines(pid: int) -> list[list[str]]:
    """Of all that comes from a process and did not end meanwhile."""
    lines = []
    for child in psutil.Process(pid).children(True):
        with contextlib.suppress(psutil.Error):
            lines.append(child.cmdline())
    return lines


@pytest.mark.browser
@needs_chromium
async def test_a_browsers_helpers_are_folded(shell: Shell, how: dict[str, Any]) -> None:
    """Of a dozen processes the main one is told."""
    async with running(Watch(ProcessesSource(str(shell.pid), {}, **how))) as watch:
        shell.run(
            f"{EXECUTABLE} --no-sandbox --headless=new --user-data-dir=$PWD/profile"
            " --remote-debugging-port=0 --disable-crashpad-for-testing about:blank >/dev/null"
            " 2>&1 &"
        )
        await asyncio.to_thread(shell.wait_for, "profile/DevToolsActivePort")
        main = await watch.one("process.started", name="chromium")
        while not any("--type=renderer" in line for line in command_lines(main["pid"])):
            await watch.fence()
        told = [
            data
            for data in watch.all("process.started")
            if "--type=" in " ".join(data.get("arguments", ()))
        ]
        assert not told
        shell.run(f"kill {main['pid']}")
        await watch.one("process.ended", pid=main["pid"])


HELPERS = {
    "a renderer": (True, "chromium", ["--type=renderer", "--lang=en"]),
    "a zygote": (True, "chrome", ["--no-zygote-sandbox", "--type=zygote"]),
    "a crash handler": (True, "chrome_crashpad", ["--monitor-self"]),
    "Firefox's content": (True, "firefox", ["-contentproc", "-childID", "1"]),
    "WebKit's network": (True, "WebKitNetworkPr", ["7", "14"]),
    "the browser": (False, "chromium", ["--no-sandbox", "about:blank"]),
    "a file of that name": (False, "xdg-open", ["/tmp/notes--type=renderer.txt"]),
    "find by type": (False, "find", ["-type", "f"]),
    "a program with a type": (False, "convert", ["--typeface=serif"]),
}


@pytest.mark.parametrize(("helper", "name", "arguments"), HELPERS.values(), ids=HELPERS)
def test_what_a_helper_is(helper: bool, name: str, arguments: list[str]) -> None:
    """Below a process of the same program."""
    assert (
        is_helper(
            ProcessFacts(2, 1, 0.0, name, tuple(arguments)), ProcessFacts(1, 0, 0.0, name, ())
        )
        is helper
    )


COMMANDS = {
    "git": ("/usr/bin/git", "config", "--type=bool", "core.bare", "true"),
    "docker": ("/usr/bin/docker", "inspect", "--type=container", "box"),
    "rm": ("/usr/bin/rm", "-rf", "home", "--type=renderer"),
    "Firefox's word": ("/usr/bin/rm", "-rf", "home", "-contentproc"),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_helpers_words_make_no_helper(command: tuple[str, ...]) -> None:
    """Any program may be given them: by a shell that was told, by one that was not, below a
    browser."""
    program, *arguments = command
    name = Path(program).name
    for above in (
        ProcessFacts(50, 1, 0.0, "bash", (), "/usr/bin/bash"),
        ProcessFacts(50, 1, 0.0, "chromium", (), "/usr/bin/chromium"),
    ):
        fold = ProcessFold("all", 2, list)
        fold.ran(50, above)
        assert [
            one.kind
            for one in fold.ran(60, ProcessFacts(60, 50, 1.0, name, tuple(arguments), program))
        ] == ["process.started"]
    fold = ProcessFold("all", 2, list)
    assert [
        one.kind for one in fold.ran(60, ProcessFacts(60, 50, 1.0, name, tuple(arguments), program))
    ] == ["process.started"]


def test_a_browsers_helpers_have_helpers() -> None:
    """A zygote's renderers; by the program's name where its path may not be read."""
    fold = ProcessFold("all", 2, list)
    assert len(fold.ran(50, ProcessFacts(50, 1, 0.0, "chrome", (), "/opt/chrome"))) == 1
    assert (
        fold.ran(51, ProcessFacts(51, 50, 0.0, "chrome", ("--type=zygote",), "/opt/chrome")) == []
    )
    assert fold.ran(52, ProcessFacts(52, 51, 0.0, "chrome", ("--type=renderer",))) == []


PROFILE, ISOLATED = "-profile", ("-contentproc", "-isForBrowser", "-prefsHandle", "0:38213")
CHROME, SANDBOX = "/opt/google/chrome/chrome", "/opt/google/chrome/chrome-sandbox"
UNREAD: dict[str, tuple[bool, list[tuple[str, tuple[str, ...], str | None]]]] = {
    "Firefox's content": (True, [("firefox", (), None), ("Isolated Web Co", ISOLATED, None)]),
    "Firefox under its thread's name": (True, [("GeckoMain", (PROFILE, "p"), None), ("Web Content", ISOLATED, None)]),
    "Firefox's fork server's": (True, [("firefox-esr", (), None), ("forkserver", ("-contentproc",), None),
        ("Isolated Web Co", ISOLATED, None)]),
    "Google Chrome by its wrapper": (True, [("chrome", ("http://a/",), None),
        ("chrome", ("--type=utility", "--lang=en"), None)]),
    "one that lets nobody read": (True, [("chrome", (), CHROME), ("chrome", ("--type=renderer",), None)]),
    "the sandbox's zygote": (True, [("chrome", (), CHROME), ("chrome-sandbox", (CHROME, "--type=zygote"), SANDBOX),
        ("chrome", ("--type=zygote",), CHROME)]),
    "the sandbox's zygote, unread": (True, [("chrome", (), None), ("chrome-sandbox", (CHROME, "--type=zygote"), None),
        ("chrome", ("--type=zygote",), None), ("chrome", ("--type=renderer",), None)]),
    "a name like its parent's": (False, [("docker", (), None), ("docker", ("inspect", "--type=container"), None)]),
    "a Chromium's word below a shell": (False, [("bash", (), None), ("rm", ("-rf", "--type=renderer"), None)]),
    "another word below the sandbox": (False, [("chrome-sandbox", (), SANDBOX),
        ("git", ("config", "--type=bool"), "/usr/bin/git")]),
    "Firefox's word below a shell": (False, [("bash", (), None), ("Web Content", ISOLATED, None)]),
    "Firefox's word, but not first": (False, [("firefox", (), None), ("rm", ("-rf", "-contentproc"), None)]),
    "what Firefox opens": (False, [("firefox", (), None), ("evince", ("/tmp/a.pdf",), None)]),
    "Firefox's word below Firefox, read": (False, [("firefox", (), "/usr/lib/firefox/firefox"),
        ("rm", ("-contentproc", "home"), "/usr/bin/rm")]),
}  # fmt: skip


@pytest.mark.parametrize(("helper", "family"), UNREAD.values(), ids=UNREAD)
def test_what_a_helper_is_where_programs_may_not_be_read(
    helper: bool, family: list[tuple[str, tuple[str, ...], str | None]]
) -> None:
    """A daemon of another user knows names and arguments; each row is a line of descent, judged by
    its last."""
    fold = ProcessFold("all", 2, list)
    for pid, (name, arguments, program) in enumerate(family, 50):
        said = fold.ran(pid, ProcessFacts(pid, pid - 1, 0.0, name, arguments, program))
    assert [one.kind for one in said] == ([] if helper else ["process.started"])


ANOTHER: dict[str, tuple[bool, tuple[Any, ...], tuple[Any, ...]]] = {
    "a script that becomes a browser": (
        True,
        ("google-chrome", ("/usr/bin/google-chrome",)),
        ("chrome", ()),
    ),
    "it renames itself": (False, ("firefox", ("http://a/",)), ("GeckoMain", ("http://a/",))),
    "it rewrites its arguments": (False, ("sshd", ("-D",)), ("sshd", ("ada [priv]",))),
    "another program": (True, ("sh", ("-c", "x"), "/bin/sh"), ("sh", ("-c", "x"), "/bin/bash")),
    "the same under another name": (False, ("sh", (), "/bin/sh"), ("x", ("y",), "/bin/sh")),
}


@pytest.mark.parametrize(("another", "before", "after"), ANOTHER.values(), ids=ANOTHER)
def test_whether_another_program_runs(
    another: bool, before: tuple[Any, ...], after: tuple[Any, ...]
) -> None:
    """In a process that was told long ago; by its name and arguments where its program may not be
    read."""
    assert (
        _is_another(ProcessFacts(9, 1, 0.0, *before), ProcessFacts(9, 1, 0.0, *after), told=True)
        is another
    )


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_a_program_that_may_not_be_read_is_not_guessed(tmp_path: Path) -> None:
    """What stands first in a command line its writer chose."""
    feigned = tmp_path / "feigned"
    feigned.symlink_to("/bin/true")
    tmp_path.chmod(0o755)
    theirs = ["setpriv", "--reuid=nobody", "bash", "-c", f"exec -a {feigned} sleep 1000"]
    with subprocess.Popen(theirs) as process:
        try:
            while (facts := look(process.pid)) is None or facts.name != "sleep":
                pass
            assert facts.program is not None
            assert Path(facts.program).name in ("sleep", "coreutils")
            powers = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
            told = subprocess.run(
                [*powers, sys.executable, "-c", LOOK, str(process.pid)],
                capture_output=True,
                text=True,
            )
            assert told.stdout.split() == ["sleep", "None"], told.stderr
        finally:
            process.kill()


async def test_a_clock_that_is_set_starts_no_process(
    shell: Shell, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The boot's time, which psutil adds to a process's start, moves with the wall clock: nothing
    else happened."""
    async with running(Watch(ProcessesSource(str(shell.pid), {}, **how))) as watch:
        shell.run("sleep 1000 &")
        await watch.one("process.started", name="sleep")
        before = len(watch.seen)
        boot = psutil._pslinux.boot_time
        monkeypatch.setattr(psutil._pslinux, "boot_time", lambda: boot() + 3600)
        await watch.fence()
        await watch.fence()
        assert watch.seen[before:] == []


def test_what_the_kernel_told_and_nobody_read_is_a_loss() -> None:
    """Processes that lived shortly are among it: the step was not seen."""

    class Overrun:
        def read(self) -> list[ProcessMessage]:
            return [ProcessMessage("overrun")]

    class Ear:
        stopping = False

        def __init__(self) -> None:
            self.said: list[str] = []

        def tell(self, kind: str, data: Mapping[str, Any]) -> None:
            self.said.append(f"{kind} {data['source']}" if kind == "events.dropped" else kind)

    watch, ear = _ProcessWatch(str(os.getpid()), Masker(), ANSWER_S), Ear()
    watch._connector = cast(Connector, Overrun())
    watch.look(cast(SourceThread, ear))
    assert ear.said == ["events.dropped processes"]


def test_long_command_lines_are_cut() -> None:
    """Many arguments, a long one, many long ones; a short line is whole."""
    assert bound_arguments(["a", "b"]) == (["a", "b"], False)
    assert bound_arguments(["x" * 600]) == (["x" * 500], True)
    assert bound_arguments(["x"] * 100) == (["x"] * 64, True)
    kept, cut = bound_arguments(["x" * 500] * 9)
    assert (sum(map(len, kept)), cut) == (4000, True)
