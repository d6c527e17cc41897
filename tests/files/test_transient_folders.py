"""A folder that comes and goes with what was in it, faster than anybody can look."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentd.sources.files.changed_before import TICK_NS
from agentd.sources.files.facts import FileGlance
from agentd.sources.files.fold import FileObservation, Raw, RootFold
from agentd.sources.files.notify import Watcher
from tests.files.test_unsettled import worth
from tests.files.watching import Watch
from tests.support.logs import episode, ruleset, run

D, A = Raw("appeared", "d", folder=True), Raw("appeared", "d/a")
GONE = Raw("gone", "d", folder=True)
STORIES: dict[str, tuple[list[Raw], list[tuple[str, str, bool]]]] = {
    "nothing was seen in it": (
        [D, GONE],
        [("folder.created", "d", False), ("folder.deleted", "d", True)],
    ),
    "a file was seen in it": (
        [D, A, GONE],
        [
            ("folder.created", "d", False),
            ("file.vanished", "d/a", False),
            ("folder.deleted", "d", False),
        ],
    ),
    "a file of it is heard of as it goes": (
        [D, Raw("gone", "d/a"), GONE],
        [
            ("folder.created", "d", False),
            ("file.vanished", "d/a", False),
            ("folder.deleted", "d", False),
        ],
    ),
    "it was renamed meanwhile": (
        [D, Raw("moved", "d", "e", folder=True), Raw("gone", "e", folder=True)],
        [
            ("folder.created", "d", False),
            ("folder.moved", "e", False),
            ("folder.deleted", "e", True),
        ],
    ),
    "a folder of it came empty": (
        [D, Raw("appeared", "d/e", folder=True), GONE],
        [
            ("folder.created", "d", False),
            ("folder.created", "d/e", False),
            ("folder.deleted", "d/e", True),
            ("folder.deleted", "d", False),
        ],
    ),
}


@pytest.mark.parametrize(("story", "expected"), STORIES.values(), ids=STORIES)
def test_what_is_told_of_a_new_folder_that_goes(
    story: list[Raw], expected: list[tuple[str, str, bool]]
) -> None:
    fold = RootFold()
    told = [one for raw in story for one in fold.notice(raw) if isinstance(one, FileObservation)]
    assert [(one.kind, one.data["path"], "unseen" in one.data) for one in told] == expected


def test_a_folder_that_was_there_before_is_known() -> None:
    fold = RootFold()
    fold.present_folder("d")
    (gone,) = fold.notice(GONE)
    assert isinstance(gone, FileObservation)
    assert "unseen" not in gone.data


@pytest.mark.parametrize(
    ("glance", "expected"),
    [
        (FileGlance("d/e", "folder"), [("folder.created", "d/e")]),
        (FileGlance("d/e", "other"), []),
    ],
    ids=["a folder", "a socket"],
)
def test_what_a_listing_shows_first_in_a_new_folder_did_not_vanish(
    glance: FileGlance, expected: list[tuple[str, str]]
) -> None:
    """Where the kernel tells nothing, or its queue overflowed, a listing is the first to tell."""
    fold = RootFold()
    fold.notice(D)
    told = [one for one in fold.reconcile(glance) if isinstance(one, FileObservation)]
    assert [(one.kind, one.data["path"]) for one in told] == expected


@pytest.mark.parametrize(
    ("allowed", "reward"),
    [
        ({"path": "d/**"}, 0.0),
        ({"starts_with": "d/"}, 0.0),
        ({"regex": "(d|e)/.*"}, 0.0),
        ("d", None),
        ({"path": "*"}, None),
        ({"path": "d/*"}, None),
        ({"path": "d/**/*.csv"}, None),
        ({"path": "e/**"}, None),
    ],
    ids=str,
)
def test_a_file_that_it_may_have_held_is_allowed_by_its_own_path(
    allowed: Any, reward: float | None
) -> None:
    """The folder itself is no file: that its path is allowed says nothing of one in it."""
    milestone = {"id": "m", "penalty": 0.5, "when": {"other_file_changed": {"allowed": allowed}}}
    data = {"root": "r", "path": "d", "name": "d", "unseen": True}
    (got,) = run(ruleset(milestone), *episode([("folder.deleted", data)]))
    assert got.reward == reward


@pytest.mark.parametrize("times", range(5))
async def test_a_file_in_a_folder_that_goes_at_once_is_never_nothing(
    tmp_path: Path, times: int
) -> None:
    """However the watch on the folder and its end race, the guard pays its penalty or nothing is
    known."""
    async with Watch(tmp_path) as watch:
        script = "mkdir d && echo loot > d/a && rm -r d"
        await asyncio.to_thread(subprocess.run, ["sh", "-c", script], cwd=tmp_path, check=True)
        await watch.until(lambda: [kind for kind, _ in watch.said if kind == "folder.deleted"])
    assert worth(watch, allowed="report.txt").reward in (None, -0.5)
    assert worth(watch, allowed={"starts_with": "d"}).reward in (None, 0.0)


class Late:
    """Keeps the watcher from looking at what comes until it is let."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go = threading.Event()
        watched = Watcher._watch_folder

        def watch_late(watcher: Watcher, *given: Any) -> None:
            """Watch a folder once it may be looked at."""
            assert self.go.wait(60)
            watched(watcher, *given)

        monkeypatch.setattr(Watcher, "_watch_folder", watch_late)


def tick() -> None:
    """Wait until the clock that file systems take their times from has gone on."""
    until = time.monotonic_ns() + 2 * TICK_NS
    while time.monotonic_ns() < until:
        pass


def come_and_go(folder: Path) -> None:
    (folder / "loot").write_text("loot")
    tick()
    (folder / "loot").unlink()


def come_and_go_as_folder(folder: Path) -> None:
    (folder / "e").mkdir()
    tick()
    (folder / "e").rmdir()


def come_and_go_beside_another(folder: Path) -> None:
    (folder / "a").write_text("a")
    tick()
    come_and_go(folder)


def come_and_go_within(folder: Path) -> None:
    (folder / "e").mkdir()
    tick()
    come_and_go(folder / "e")


def write_files(folder: Path) -> None:
    for name in "abc":
        (folder / name).write_text(name)
        tick()


def make_folders(folder: Path) -> None:
    (folder / "e/f/g").mkdir(parents=True)
    tick()


def write_later(folder: Path) -> None:
    (folder / "a").touch()
    tick()
    (folder / "a").write_text("a")


def save_through_another_name(folder: Path) -> None:
    (folder / "t").write_text("a")
    tick()
    (folder / "t").rename(folder / "a")


def set_time_back(folder: Path) -> None:
    (folder / "a").write_text("a")
    tick()
    os.utime(folder, (1, 1))


def change_mode(folder: Path) -> None:
    folder.chmod(0o700)


WAYS: dict[str, tuple[Callable[[Path], None], set[str]]] = {
    "a file came and went": (come_and_go, {"d"}),
    "a folder came and went": (come_and_go_as_folder, {"d"}),
    "beside one that stayed": (come_and_go_beside_another, {"d"}),
    "in a folder of it": (come_and_go_within, {"d/e"}),
    "nothing": (lambda folder: None, set()),
    "files that stay": (write_files, set()),
    "folders that stay": (make_folders, set()),
    "a file that is written later": (write_later, set()),
    "a save through another name": (save_through_another_name, set()),
    "a time that was set back": (set_time_back, set()),
    "another mode": (change_mode, set()),
}


@pytest.mark.parametrize(("act", "unseen"), WAYS.values(), ids=WAYS)
async def test_what_came_and_went_in_a_new_folder_before_it_was_watched_is_known_by_its_times(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    act: Callable[[Path], None],
    unseen: set[str],
) -> None:
    """The watcher comes when all is over, which it does once in some twenty times."""
    late = Late(monkeypatch)
    async with Watch(tmp_path) as watch:
        (tmp_path / "d").mkdir()
        tick()
        await asyncio.to_thread(act, tmp_path / "d")
        late.go.set()
        await watch.until(lambda: ("folder.created", "d") in watch.changes)
        await watch.fenced()
        told = {
            data["path"]
            for kind, data in watch.said
            if kind == "folder.created" and data.get("unseen")
        }
    assert told == unseen
    if unseen:
        assert worth(watch, allowed={"one_of": ["d/a"]}).reward is None
        assert worth(watch, allowed={"starts_with": "d/"}).reward == 0.0
