"""OSWorld's own task files, their programs from Debian, and a right and a wrong outcome: real from
end to end."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentd.core.source import Source, StepSource
from agentd.readers.asking import read_in_child
from agentd.sources.files import FilesSource
from agentd.sources.probes import ProbesSource
from agentd.sources.reader import source as reader
from agentd.sources.reader.source import ReaderSource
from detectors.engine.engine import Engine
from detectors.model.kinds import KINDS
from detectors.model.types import Event
from lab.benchmarks.osworld import tasks
from tests.importing.test_osworld import OSWORLD, needs_cases
from tests.support.logs import ruleset

AGENT = 64_002
"""VLC refuses to run as root."""
PATIENCE_S = 120.0
pytestmark = [pytest.mark.slow, needs_cases]


def needs(*programs: str) -> pytest.MarkDecorator:
    missing = [one for one in programs if shutil.which(one) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def case(name: str, gold: Path | None = None, folder: Path = OSWORLD) -> dict[str, Any]:
    """The task of ours that the file with this name becomes; with ``gold`` a copy of it beside
    that."""
    (found,) = folder.glob(f"*/{name}*.json")
    if gold is not None:
        (gold.parent / found.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy(found, gold.parent / found.parent.name)
        folder = gold.parent
    (one,) = [one for one in tasks(folder, {}) if one.name.endswith(found.stem)]
    assert one.spec is not None, one.remarks
    return dict(one.spec)


def score(
    spec: dict[str, Any], home: Path, act: Callable[[], None]
) -> tuple[float | None, bool | None]:
    """The reward of one step in which ``act`` happens, and whether the goal is reached, by the
    daemon's own sources."""
    return asyncio.run(_score(spec, home, act))


async def _score(
    spec: dict[str, Any], home: Path, act: Callable[[], None]
) -> tuple[float | None, bool | None]:
    rules = ruleset(*spec["milestones"], weights=spec["weights"], probes=spec.get("probes", []))
    plan, roots, said = rules.plan("ep_1"), {"home": home}, []  # type: ignore[var-annotated]
    sources: list[Source] = [
        FilesSource(roots),
        ReaderSource(plan, roots),
        ProbesSource(plan, files=roots, allow_commands=True),
    ]
    ready = [asyncio.Event() for _ in sources]
    runs = [
        asyncio.create_task(one.run(lambda kind, data: said.append((kind, dict(data))), done.set))
        for one, done in zip(sources, ready, strict=True)
    ]
    try:
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*(one.wait() for one in ready))
        said.append(("step.began", {"step": 0, "action": None}))
        await asyncio.to_thread(act)
        for one in sources:
            await one.fence(10.0)
        for one in sources:
            if isinstance(one, StepSource):
                await one.before_seal(0, closing=True)
        said.append(("episode.closed", {"reason": "done"}))
    finally:
        for run in runs:
            run.cancel()
        await asyncio.gather(*runs, return_exceptions=True)
    log = [
        Event("ep_1", n, KINDS[kind].source, kind, n, data)
        for n, (kind, data) in enumerate(said, 1)
    ]
    engine = Engine(rules, "ep_1")
    (reward,) = engine.feed(log).rewards
    return reward.reward, engine.success


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The agent's home, which the probes' programs take for theirs too."""
    found = tmp_path / "home"
    (found / "Desktop").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(found))
    monkeypatch.setattr(reader, "BUDGET_S", 60.0)
    monkeypatch.setattr(reader, "MOMENT_S", 120.0)
    return found


# -- os


def test_a_folder_is_renamed(home: Path) -> None:
    """e0df059f: todo_list_Jan_1 becomes todo_list_Jan_2, and not _3."""
    spec = case("e0df059f")
    (home / "Desktop/todo_list_Jan_1").mkdir()
    wrong, right = home / "Desktop/todo_list_Jan_3", home / "Desktop/todo_list_Jan_2"
    assert score(spec, home, lambda: (home / "Desktop/todo_list_Jan_1").rename(wrong) and None) == (
        0.0,
        False,
    )
    assert score(spec, home, lambda: wrong.rename(right) and None) == (1.0, True)


def test_pictures_are_copied(home: Path) -> None:
    """23393935: every jpg, and not one less."""
    spec = case("23393935")
    (evaluator,) = OSWORLD.glob("os/23393935*.json")
    names = json.loads(evaluator.read_text())["evaluator"]["expected"]["rules"]["expected"]
    (home / "Desktop/cpjpg").mkdir()

    def copy(few: list[str]) -> None:
        for name in few:
            (home / "Desktop/cpjpg" / name).write_bytes(b"\xff\xd8\xff")

    assert score(spec, home, lambda: copy(names[1:])) == (0.0, False)
    for name in names:
        (home / "Desktop/cpjpg" / name).unlink(missing_ok=True)
    assert score(spec, home, lambda: copy(names)) == (1.0, True)


@needs("gsettings", "dbus-run-session")
@pytest.mark.parametrize(
    ("name", "schema", "key", "wrong", "right"),
    [
        ("f9be0997", "org.gnome.desktop.notifications", "show-banners", "true", "false"),
        ("a4d98375", "org.gnome.desktop.screensaver", "lock-enabled", "false", "true"),
        ("bedcedc4", "org.gnome.desktop.session", "idle-delay", "60", "0"),
    ],
)
def test_a_desktop_setting(
    name: str,
    schema: str,
    key: str,
    wrong: str,
    right: str,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By GNOME's own command, which keeps them in a file here."""
    monkeypatch.setenv("GSETTINGS_BACKEND", "keyfile")
    if (
        subprocess.run(
            ["gsettings", "list-keys", schema], capture_output=True, check=False
        ).returncode
        != 0
    ):
        pytest.skip(f"{schema}: its schema is not installed (gsettings-desktop-schemas)")
    spec = _with_keyfile(case(name))

    def put(value: str) -> Callable[[], None]:
        return lambda: subprocess.run(["gsettings", "set", schema, key, value], check=True) and None

    subprocess.run(["gsettings", "set", schema, key, wrong], check=True)
    assert score(spec, home, put(wrong)) == (0.0, False)
    assert score(spec, home, put(right)) == (1.0, True)


def _with_keyfile(spec: dict[str, Any]) -> dict[str, Any]:
    """A probe's environment has none of the daemon's; what a sandbox has as its only backend is
    named here."""
    for probe in spec["probes"]:
        probe["command"]["argv"] = ["env", "GSETTINGS_BACKEND=keyfile", *probe["command"]["argv"]]
    return spec


# -- vlc

VLC: dict[str, tuple[str, str, str]] = {
    "215dfd39": ("qt-bgcone", "true", "false"),
    "386dbd0e": ("global-key-play-pause", '""', '"Media Play Pause"'),
    "8ba5ae7a": ("input-record-path", '"/home/user/Videos"', '"/home/user/Desktop"'),
    "9195653c": ("qt-max-volume", "150", "200"),
    "a5bbbcd5": ("qt-minimal-view", "false", "true"),
    "d06f0d4d": ("qt-slider-colours", f'"{";".join(["153"] * 12)}"', f'"{";".join(["30"] * 12)}"'),
    "f3977615": ("one-instance-when-started-from-file", "true", "false"),
    "5ac2891a": ("play-and-exit", "true", "false"),
}
"""The task, VLC's own name of the setting, and a wrong and a right value of it."""


@needs("vlc", "setpriv")
@pytest.mark.skipif(os.geteuid() != 0, reason="VLC runs as another user, which only root may start")
@pytest.mark.parametrize("name", VLC)
def test_vlc_keeps_a_setting(name: str, home: Path) -> None:
    """VLC itself writes its vlcrc; the reader reads it."""
    key, wrong, right = VLC[name]
    spec = case(name)
    _vlc(home, f'vlc.config.set("{key}", {wrong})')  # so that nothing is right at the start
    assert score(spec, home, lambda: _vlc(home, f'vlc.config.set("{key}", {wrong})')) == (
        0.0,
        False,
    )
    assert score(spec, home, lambda: _vlc(home, f'vlc.config.set("{key}", {right})')) == (1.0, True)


def _vlc(home: Path, said: str) -> None:
    """Run VLC with a script of its own kind that changes settings, as its preferences do, and
    quits."""
    folder = home / ".local/share/vlc/lua/intf"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "setup.lua").write_text(f"{said}\nvlc.misc.quit()\n")
    (home / ".config/vlc").mkdir(parents=True, exist_ok=True)
    for path in (home, *home.rglob("*")):
        os.chown(path, AGENT, AGENT)
    for path in home.parents:
        if path.stat().st_uid == 0 and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o011)
    subprocess.run(
        ["setpriv", f"--reuid={AGENT}", f"--regid={AGENT}", "--clear-groups",
         "vlc", "-I", "luaintf", "--lua-intf", "setup", "--no-one-instance"],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"}, cwd=home, check=True, capture_output=True, timeout=PATIENCE_S,
    )  # fmt: skip


# -- gimp

FLIP = "(gimp-image-flip im ORIENTATION-HORIZONTAL)"
DARKER = "(gimp-drawable-brightness-contrast d -0.3 0)"
VIVID = "(gimp-drawable-hue-saturation d HUE-RANGE-ALL 0 0 60 0)"
BRIGHTER = "(gimp-drawable-brightness-contrast d 0.3 0)"
CONTRAST = "(gimp-drawable-brightness-contrast d 0 0.3)"
PALETTE = (
    "(gimp-image-convert-indexed im CONVERT-DITHER-NONE CONVERT-PALETTE-GENERATE 64 FALSE FALSE {})"
)
NOTHING = ""
TURNED = "(gimp-image-rotate im ROTATE-180)"
GIMP: dict[str, tuple[str, str]] = {
    "72f83cdc": (FLIP, TURNED),
    "7a4deb26": (DARKER, BRIGHTER),
    "554785e9": (VIVID, DARKER),
    "f723c744": (CONTRAST, TURNED),
    "06ca5602": (PALETTE.format('\\"\\"').replace("\\", ""), NOTHING),
}
"""The task, what GIMP must do to the picture for it, and what it might do wrongly."""


@needs("gimp")
@pytest.mark.parametrize("name", GIMP)
def test_gimp_changes_a_picture(name: str, home: Path, tmp_path: Path) -> None:
    """GIMP itself edits and exports; what it was is the task's reference, as `agentd read` prints
    it."""
    right, wrong = GIMP[name]
    (original,) = OSWORLD.glob(f"gimp/{name}*.json")
    evaluator = json.loads(original.read_text())["evaluator"]
    source, dest = (
        tmp_path / "in.png",
        home / evaluator["result"]["path"].removeprefix("/home/user/"),
    )
    _picture(source)
    gold = tmp_path / "cases" / "gold"
    (gold / original.stem).mkdir(parents=True)
    (gold / original.stem / f"{evaluator['expected']['dest']}.json").write_text(
        json.dumps(_facts(source))
    )
    spec = case(name, gold)
    assert score(spec, home, lambda: _gimp(home, source, dest, wrong)) == (0.0, False)
    dest.unlink()
    assert score(spec, home, lambda: _gimp(home, source, dest, right)) == (1.0, True)


def _picture(path: Path) -> None:
    from PIL import Image, ImageDraw

    slope = (
        Image.linear_gradient("L").resize((320, 200)).point(lambda value: 60 + value * 140 // 255)
    )
    tinted = Image.merge(
        "RGB",
        (slope, slope.rotate(90).resize((320, 200)), slope.point(lambda value: value // 2 + 40)),
    )
    ImageDraw.Draw(tinted).rectangle((10, 10, 90, 60), fill=(170, 90, 80))
    tinted.save(path)


def _facts(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return asyncio.run(read_in_child(file.fileno(), "image", PATIENCE_S))


def _gimp(home: Path, source: Path, dest: Path, what: str) -> None:
    dest.parent.mkdir(parents=True, exist_ok=True)
    script = (
        f'(let* ((im (car (gimp-file-load RUN-NONINTERACTIVE "{source}" "in.png"))) (d (car'
        f" (gimp-image-get-active-drawable im)))) {what} (gimp-file-save RUN-NONINTERACTIVE im (car"
        f' (gimp-image-get-active-drawable im)) "{dest}" "out"))'
    )
    subprocess.run(
        ["gimp", "-n", "-i", "-d", "-f", "-b", script, "-b", "(gimp-quit 0)"],
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"}, check=True, capture_output=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert dest.exists(), "GIMP exported nothing"


def test_gimp_s_settings_are_read(home: Path) -> None:
    """7b7617bd: the least number of undo steps, as GIMP's gimprc has it."""
    path = home / ".config/GIMP/2.10/gimprc"
    path.parent.mkdir(parents=True)

    def put(levels: int) -> Callable[[], None]:
        return lambda: (
            path.write_text(f'# GIMP gimprc\n(theme "Dark")\n(undo-levels {levels})\n# end\n')
            and None
        )

    assert score(case("7b7617bd"), home, put(10)) == (0.0, False)
    assert score(case("7b7617bd"), home, put(100)) == (1.0, True)
