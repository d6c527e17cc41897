"""A child, a display and programs that do not do what they should: what is not heard is on
record."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agentd.core.patience import Patience
from agentd.sources.ax import child, source
from agentd.sources.ax.source import AxSource
from tests.desktop.watching import watching
from tests.support.desktop import Desktop, needs
from tests.support.display import Display, needs_display
from tests.support.watching import Watch, running

SAYS = """\
import json, sys, time

def say(line):
    print(line, flush=True)

say('{"t":"node","id":":1/root","bus":":1","role":"application","name":"app","parent":"","index":0,"states":[]}')
say('{"t":"app","bus":":1","id":":1/root","toolkit":"gtk","version":"3","pid":0}')
say('{"t":"ready"}')
"""
ANSWERS = """
for line in sys.stdin:
    command = json.loads(line)
    if command["c"] == "fence":
        say(json.dumps({"t": "fence", "n": command["n"]}))
"""
UNSEEN = {"source": "ax", "part": "widget.activated"}
BAD = Path(__file__).with_name("odd_program.py")


@asynccontextmanager
async def hearing(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    patience: int = 1,
    **environ: str,
) -> AsyncIterator[Watch[AxSource]]:
    """A source whose child is a script that says what it likes."""
    file = folder / "child"
    file.write_text(f"#!{sys.executable}\n{SAYS}{script}")
    file.chmod(0o755)
    monkeypatch.setattr(child, "PYTHON", str(file))
    environ = {"PATH": os.environ["PATH"], **environ}
    ax = AxSource({"hears": None}, environ, patience=Patience(patience))
    async with running(Watch(ax)) as watch:
        yield watch


LINES = {
    "no number": """say('{"t":"read","id":":1/root","states":[],"value":NaN}')""",
    "longer than a line may be": """say('{"t":"node","name":"' + "x" * 5_000_000 + '"}')""",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
async def test_a_line_that_can_t_be_read_is_a_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """What comes after it is heard."""
    after = """\nsay('{"t":"notice","app":"app","title":"still here","body":""}')"""
    async with hearing(tmp_path, monkeypatch, line + after + ANSWERS) as watch:
        await watch.one("notification.shown", title="still here")
        assert {data["source"] for data in watch.all("events.dropped")} == {"ax"}


@pytest.mark.parametrize("closing", [False, True], ids=["seal", "close"])
@pytest.mark.parametrize(
    ("script", "lost"), [("\ntime.sleep(60)", 1), (ANSWERS, 0)], ids=["silent", "answers"]
)
async def test_a_child_that_does_not_answer_is_a_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, lost: int, closing: bool
) -> None:
    """No step is sealed as if nothing had happened, nor the episode closed."""
    monkeypatch.setattr(source, "SEAL_S", 0.3 if lost else 20.0)
    async with hearing(tmp_path, monkeypatch, script) as watch:
        await watch.source.before_seal(0, closing=closing)
        assert [data["count"] for data in watch.all("events.dropped", source="ax")] == [1] * lost


@pytest.mark.parametrize(("patience", "lost"), [(1, 1), (20, 0)])
async def test_a_child_that_answers_late_is_a_loss_without_patience(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience: int, lost: int
) -> None:
    late = ANSWERS.replace("    command", "    time.sleep(1.5)\n    command", 1)
    async with hearing(tmp_path, monkeypatch, late, patience=patience) as watch:
        await watch.source.before_seal(0, closing=False)
        assert len(watch.all("events.dropped", source="ax")) == lost


@pytest.mark.parametrize(
    "environ", [{}, {"DISPLAY": ":4711"}], ids=["no display", "no such display"]
)
async def test_presses_that_nobody_hears_are_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]
) -> None:
    """Only of what is inferred from them."""
    async with hearing(tmp_path, monkeypatch, ANSWERS, 1, **environ) as watch:
        assert (await watch.one("gap.began"))["part"] == UNSEEN["part"]
        await watch.one("alarm.raised", **UNSEEN)


@needs_display
async def test_a_display_that_goes_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gap from its end until presses are heard again."""
    with Display() as first:
        name = first.name
        async with hearing(tmp_path, monkeypatch, ANSWERS, DISPLAY=name) as watch:
            await watch.source.fence(20)
            assert not watch.all("gap.began")
            await asyncio.to_thread(first.__exit__, None, None, None)
            await watch.one("gap.began", **UNSEEN)
            again = await asyncio.create_subprocess_exec(
                "Xvfb", name, "-nolisten", "tcp", stderr=subprocess.DEVNULL
            )
            try:
                await watch.one("gap.ended", **UNSEEN)
                await watch.one("alarm.ended", **UNSEEN)
            finally:
                again.terminate()
                await again.wait()


@needs("mousepad")
@pytest.mark.parametrize("how", ["children", "name", "states"])
async def test_a_program_that_answers_in_another_form(own_desktop: Desktop, how: str) -> None:
    """The others are heard as before, by the same child."""
    async with watching(own_desktop) as watch:
        note = own_desktop.folder / "note.txt"
        note.write_text("")
        own_desktop.start("mousepad", "--disable-server", note)
        await watch.window("note.txt")
        own_desktop.start("/usr/bin/python3", BAD, how)
        await watch.one("app.appeared", app="odd")
        told: list[dict[str, Any]] = []
        while len(told) < 3:
            await watch.type(f"{len(told)}")
            await watch.until(lambda: len(watch.texts(role="text")) > len(told))  # noqa: B023
            told = watch.all("widget.text_changed", role="text")
        assert (watch.lives, watch.lost) == (1, [])


@needs("mousepad")
async def test_a_child_that_fails_is_a_gap(
    own_desktop: Desktop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not live on, deaf: an order that it does not understand ends it, and says why."""
    async with watching(own_desktop) as watch:
        live = watch.source._live
        assert live is not None
        live._child.say({"c": "read"})
        await watch.until(lambda: watch.lives == 2)
        assert watch.lost == ["the accessibility child failed: KeyError: 'ids'"]
