"""`python -m benchmarks.desktop.record OUT`: record a script that errs on desktop programs and plain
files under our daemon.

Every way of every scene is an episode of its own: right, near miss, wrong. ``OUT/episodes.jsonl``
has a line an episode, with the task whose rules score it and with what the folder and the answer
say of it after the episode (``success``). Its group is the program. Goes on where it was stopped. Programs that this
machine lacks are left out, by name.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import logging
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import structlog

from agentd.core.errors import AgentdError
from agentd.core.settings import RecordSettings
from agentd.run.record import record
from agentd.session.session import Session
from benchmarks.desktop import dialogs, editors, managers, scripts
from benchmarks.desktop.scene import Act, Deed, Scene
from tests.support.desktop import Desktop, missing

ROUNDS = 2
"""How often the right ways are recorded, each time with other names and texts."""
READY_S = 30.0
WINDOW_S = 12.0
"""Seconds until a program's window must be there."""
SHELL_S = 20.0
SIZE = 600
"""Characters of a command's output that the tool returns."""

FAILURES = (subprocess.SubprocessError, TimeoutError, OSError, AgentdError)
"""What leaves an episode out: a program that does not start."""
Make = Callable[[int, random.Random], Scene]


def makers() -> Iterator[tuple[str, str, Make]]:
    """Program, name, and what makes a scene of it, of every scene for which this machine has the
    program."""
    kinds: list[tuple[str, Callable[[str, int, random.Random], Scene]]] = []
    kinds += [(program, make) for program in editors.EDITORS for make in editors.KINDS]
    kinds += [(program, make) for program in dialogs.DIALOGS for make in dialogs.KINDS]
    kinds += [(program, make) for program in managers.MANAGERS for make in managers.KINDS]
    kinds += [(program, managers.calculating) for program in managers.CALCULATORS]
    for program, make in kinds:
        if shutil.which(program) is not None:
            yield program, make.__name__, _bound(make, program)
    for script in scripts.KINDS:
        yield "shell", script.__name__, script


def _bound(make: Callable[[str, int, random.Random], Scene], program: str) -> Make:
    return lambda seed, draw: make(program, seed, draw)


def main(argv: list[str]) -> int:
    """Record what is missing in OUT; prints a line an episode."""
    parser = argparse.ArgumentParser(
        "benchmarks.desktop.record", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("programs", nargs="*", help="only these programs")
    parser.add_argument("--seed", type=int, default=1, help="first seed of names and texts (1)")
    given = parser.parse_args(argv)
    if lacking := missing():
        print(f"missing: {', '.join(lacking)}", file=sys.stderr)
        return 2
    given.out.mkdir(parents=True, exist_ok=True)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    with Desktop() as desktop:
        os.environ |= desktop.environ
        recorder = Recorder(desktop, given.out)
        for program, name, make in makers():
            if not given.programs or program in given.programs:
                recorder.record(f"{program}-{name}", make, given.seed)
    return 0


class Recorder:
    """Records the episodes of scenes that the index lacks, on one desktop."""

    def __init__(self, desktop: Desktop, out: Path) -> None:
        self._desktop, self._out = desktop, out
        self._index = out / "episodes.jsonl"

    def record(self, name: str, make: Make, first: int) -> None:
        """Record each way of one scene; right ones `ROUNDS` times."""
        known = {line["id"] for line in lines(self._index)}
        for way in make(first, random.Random(0)).ways:
            for seed in range(first, first + (ROUNDS if way.startswith("right") else 1)):
                episode = f"{name}-{way}-{seed}"
                if episode not in known:
                    draw = random.Random(hashlib.sha256(episode.encode()).digest())
                    self._try(episode, make(seed, draw), way)

    def _try(self, episode: str, scene: Scene, way: str) -> None:
        began = time.monotonic()
        before = self._desktop.running()
        try:
            succeeded = asyncio.run(self._episode(episode, scene, way))
        except FAILURES as error:
            print(f"{episode}: {type(error).__name__}: {str(error)[:160]!r}", flush=True)
            return
        finally:
            self._desktop.end(self._desktop.running() - before)
        took = time.monotonic() - began
        print(f"{episode}: {'succeeded' if succeeded else 'failed'}, {took:.1f} s", flush=True)
        line = {
            "id": episode, "file": f"{episode}.mrec", "group": scene.program, "way": way,
            "success": succeeded, "task": scene.task,
        }  # fmt: skip
        with self._index.open("a") as index:
            index.write(json.dumps(line, ensure_ascii=False) + "\n")

    async def _episode(self, episode: str, scene: Scene, way: str) -> bool:
        """Record one way; whether folder and answer are as the task asks."""
        folder = self._desktop.folder / "home"
        shutil.rmtree(folder, ignore_errors=True)
        for path, text in scene.before.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        folder.mkdir(exist_ok=True)
        asked = self._out / "task.json"
        asked.write_text(json.dumps(scene.task))
        settings = RecordSettings(
            out=self._out / f"{episode}.mrec", force=True, task=asked, steps="port",
            files=(("home", folder),), desktop=bool(scene.command),
            clipboard=frozenset({"clipboard"}) if scene.command else None,
        )  # fmt: skip
        opened: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
        recording = asyncio.create_task(record(settings, asyncio.Event(), opened.set_result))
        try:
            both: tuple[asyncio.Future[Any], ...] = (recording, opened)
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if not opened.done():
                await recording
            return await _Hand(self._desktop, folder, opened.result()).play(scene, way)
        finally:
            if opened.done():
                await opened.result().conductor.close("done")
            await recording


class _Hand:
    """Does what a way says, step by step, by keyboard and shell alone."""

    def __init__(self, desktop: Desktop, folder: Path, session: Session) -> None:
        self._desktop, self._folder, self._session = desktop, folder, session
        self._answer = ""
        self._calls = 0

    async def play(self, scene: Scene, way: str) -> bool:
        """Start the program, do the acts, close."""
        conductor = self._session.conductor
        async with asyncio.timeout(READY_S):
            await self._session.supervisor.all_ready()
        if scene.command:
            self._desktop.start("env", f"--chdir={self._folder}", *scene.command)
            await asyncio.to_thread(self._wait_window, scene.title)
        for act in scene.ways[way]:
            step = await conductor.begin(None, _action(act))
            for deed in act.deeds:
                await self._do(deed)
            await conductor.end()
            if step.step is not None:
                await conductor.wait_sealed(step.step)
        await conductor.close("done")
        return scene.succeeded(self._folder, self._answer)

    def _wait_window(self, title: str) -> None:
        deadline = time.monotonic() + WINDOW_S
        while time.monotonic() < deadline:
            with suppress(subprocess.SubprocessError):
                found = self._desktop.do("search", "--onlyvisible", "--name", title).splitlines()
                if found:
                    self._desktop.do("windowactivate", "--sync", found[-1])
                    return
            time.sleep(0.2)
        raise TimeoutError(f"no window {title!r}; there are {self._desktop.titles()}")

    async def _do(self, deed: Deed) -> None:
        match deed.verb:
            case "keys":
                await asyncio.to_thread(self._desktop.keys, *deed.what.split())
            case "type":
                await asyncio.to_thread(self._desktop.type, deed.what)
            case "answer":
                self._answer = deed.what
                await self._session.conductor.say("agent.answered", {"text": deed.what})
            case _:
                await self._call(deed.what)

    async def _call(self, command: str) -> None:
        """Run a command in the folder, reported as a call of a tool."""
        self._calls += 1
        call, say = f"c{self._calls}", self._session.conductor.say
        said = {"call": call, "tool": "shell", "arguments": {"command": command}}
        await say("agent.tool_called", said)
        run = await asyncio.to_thread(
            subprocess.run, ["bash", "-c", command], cwd=self._folder, check=False,
            capture_output=True, text=True, timeout=SHELL_S, env=self._desktop.environ,
        )  # fmt: skip
        returned = {"call": call, "ok": run.returncode == 0, "result": run.stdout[:SIZE]}
        if run.returncode:
            returned["error"] = run.stderr[:SIZE]
        await say("agent.tool_returned", returned)


def _action(act: Act) -> dict[str, str]:
    """What the harness says of a step; a typed text by itself, as agents say it."""
    typed = [deed.what for deed in act.deeds if deed.verb == "type"]
    return {"act": act.said} | ({"text": typed[0]} if typed else {})


def lines(index: Path) -> list[dict[str, str]]:
    """The lines of an index; none where there is none yet."""
    return [json.loads(line) for line in index.read_text().splitlines()] if index.exists() else []


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
