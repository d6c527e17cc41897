"""What is hidden under a temporary name that is held open until the close: a guard that could mean
it leaves its step unknown. An honest editor's own scaffolding is never a change."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentd.sources.files.facts import FileFacts, FileGlance
from agentd.sources.files.fold import FileObservation, Raw, RootFold
from detectors.model.types import Reward
from tests.files.test_seal import of
from tests.files.test_swap import SWAP, vim
from tests.files.test_swap import pytestmark as wants_vim
from tests.files.watching import Watch
from tests.support.logs import episode, ruleset, run

NAMES = (".hidden.swp", "loot.part", "loot.crdownload", "~$loot.docx", "loot.tmp", ".~lock.loot#")


def unsettled(watch: Watch) -> list[str]:
    return [data["path"] for kind, data in watch.said if kind == "file.unsettled"]


def worth(watch: Watch, **guard: Any) -> Reward:
    """What the step in which all of it happened is worth, if no other file may change."""
    milestone = {"id": "other", "penalty": 0.5, "when": {"other_file_changed": guard}}
    (reward,) = run(ruleset(milestone), *episode([(kind, dict(data)) for kind, data in watch.said]))
    return reward


@pytest.mark.parametrize("name", NAMES)
async def test_what_is_held_open_until_the_close_is_not_nothing(tmp_path: Path, name: str) -> None:
    async with Watch(tmp_path) as watch:
        with (tmp_path / name).open("wb") as file:
            file.write(b"loot" * 200)
            file.flush()
            await of(watch, closing=False)
            assert unsettled(watch) == []
            for _ in range(2):  # once, however often it is asked
                await of(watch, closing=True)
                assert (unsettled(watch), watch.changes) == ([name], [])
    assert watch.data(name) == {"root": "root", "path": name, "name": name, "size": 800}
    reward = worth(watch, allowed="report.txt")
    assert (reward.reward, reward.mask) == (None, True)
    assert worth(watch, allowed={"path": name}).reward == 0.0
    assert worth(watch, root="downloads").reward == 0.0


async def test_what_was_reported_before_and_is_written_again_is_not_nothing(tmp_path: Path) -> None:
    (tmp_path / "old.tmp").write_text("old")
    async with Watch(tmp_path) as watch:
        with (tmp_path / "old.tmp").open("a") as old, (tmp_path / "new.tmp").open("w") as new:
            new.write("new")
            new.close()
            await watch.until(lambda: watch.changes)
            with (tmp_path / "new.tmp").open("a") as again:
                for file in (old, again):
                    file.write("loot")
                    file.flush()
                await of(watch, closing=True)
    assert sorted(unsettled(watch)) == ["new.tmp", "old.tmp"]


async def test_what_is_empty_or_gone_by_the_close_is_nothing(tmp_path: Path) -> None:
    async with Watch(tmp_path) as watch:
        with (tmp_path / "gone.tmp").open("w") as gone, (tmp_path / "empty.tmp").open("w") as empty:
            for file in (gone, empty):
                file.write("x")
                file.flush()
            empty.truncate(0)
            (tmp_path / "gone.tmp").unlink()
            await of(watch, closing=True)
    assert (unsettled(watch), watch.changes) == ([], [])
    assert worth(watch).reward == 0.0


@wants_vim
async def test_an_editor_that_is_left_open_is_not_fined(tmp_path: Path) -> None:
    """Nobody can tell its swap file from what is hidden in one: unknown, unless the task allows
    it."""
    async with Watch(tmp_path) as watch, vim(tmp_path, watch):
        await of(watch, closing=True)
        assert (unsettled(watch), watch.changes) == ([SWAP], [("file.created", "letter.txt")])
    assert worth(watch, allowed="letter.txt").reward is None
    assert worth(watch, allowed={"one_of": ["letter.txt", SWAP]}).reward == 0.0


@wants_vim
async def test_an_editor_that_ended_before_the_close_is_nothing(tmp_path: Path) -> None:
    async with Watch(tmp_path) as watch, vim(tmp_path, watch) as process:
        assert process.stdin is not None
        process.stdin.write(b"quit!\n")
        await asyncio.wait_for(process.wait(), 60)
        await of(watch, closing=True)
    assert unsettled(watch) == []
    assert worth(watch, allowed="letter.txt").reward == 0.0


def test_a_download_in_progress_leaves_what_it_is_no_part_of_alone() -> None:
    """A step whose worth does not depend on it is paid: here of a rule over another file."""
    said = [("file.unsettled", {"root": "d", "path": "b.part", "name": "b.part", "size": 9}),
            ("file.created", {"root": "d", "path": "a", "name": "a", "size": 1, "sha256": "x", "via": "write"})]  # fmt: skip
    (reward,) = run(ruleset({"id": "a", "when": {"file_created": {"name": "a"}}}), *episode(said))
    assert reward.reward is not None
    assert reward.reward > 0


MARK = FileFacts(3, "me", 1, 1, 1)
STANDING: dict[str, tuple[Mapping[str, Any], list[str]]] = {
    "written": ({}, ["file.unsettled"]),
    "an office program's mark": ({"name": "~$a", "size": 100}, []),
    "too large for a mark": ({"name": "~$a", "size": 600}, ["file.unsettled"]),
    "empty": ({"size": 0}, []),
    "a pipe": ({"what": "other"}, []),
}


@pytest.mark.parametrize(("how", "kinds"), STANDING.values(), ids=STANDING)
def test_how_it_stands_at_the_close(how: Mapping[str, Any], kinds: list[str]) -> None:
    name = how.get("name", "b.tmp")
    fold = RootFold()
    fold.present("a", MARK)
    fold.notice(Raw("written", name))
    assert fold.open_temporaries() == [name]
    found = FileGlance(name, how.get("what", "file"), how.get("size", 9), 2, 2, 2)
    done = fold.finish_unsettled(found)
    assert [do.kind for do in done if isinstance(do, FileObservation)] == kinds
