"""The source: which files are read when, what is told of them, and what is not known."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agentd.readers.formats import FORMATS
from agentd.sources.reader import source as reader
from agentd.sources.reader.source import ReaderSource
from detectors.engine.engine import Engine
from detectors.model.errors import DetectorError
from detectors.model.kinds import KINDS
from detectors.model.types import Event
from detectors.rules.file_text import DATA_ENDS, NO_TEXT
from tests.support.logs import ruleset

Said = list[tuple[str, dict[str, Any]]]


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is no matter of these tests."""
    monkeypatch.setattr(reader, "BUDGET_S", 60.0)
    monkeypatch.setattr(reader, "MOMENT_S", 120.0)


class Reading:
    """A running source and what it says."""

    def __init__(self, plan: Mapping[str, Any], folder: Path) -> None:
        self.source = ReaderSource(plan, {"home": folder})
        self.said: Said = []

    def sink(self, kind: str, data: Mapping[str, Any]) -> None:
        self.said.append((kind, dict(data)))

    async def at(self, step: int | None, *, closing: bool = False) -> Said:
        before = len(self.said)
        await self.source.before_seal(step, closing=closing)
        return self.said[before:]


@asynccontextmanager
async def reading(folder: Path, *wishes: Any, **plan: Any) -> AsyncIterator[Reading]:
    """The source, ready, with these wishes: paths, or what a rule asks."""
    asked = [{"path": wish} if isinstance(wish, str) else wish for wish in wishes]
    running = Reading({"file_reads": asked, **plan}, folder)
    ready = asyncio.Event()
    task = asyncio.create_task(running.source.run(running.sink, ready.set))
    try:
        await asyncio.wait_for(ready.wait(), 60)
        yield running
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_file_is_read_at_the_start_and_when_it_changed(tmp_path: Path) -> None:
    """The first reading is the baseline; what did not change is not told again, what went is told
    as gone once."""
    (tmp_path / "a.txt").write_text("old")
    async with reading(tmp_path, "a.txt", "b.txt") as running:
        ((kind, first),) = running.said
        assert (kind, first["facts"]["text"], first["baseline"], first["when"]) == (
            "file.read",
            "old",
            True,
            "start",
        )
        assert await running.at(0) == []
        (tmp_path / "a.txt").write_text("newer")
        (tmp_path / "b.txt").write_text("came")
        told = await running.at(1)
        assert [(data["path"], data["facts"]["text"], data["step"]) for _, data in told] == [
            ("a.txt", "newer", 1), ("b.txt", "came", 1),
        ]  # fmt: skip
        assert all("baseline" not in data for _, data in told)
        (tmp_path / "a.txt").unlink()
        ((_, gone),) = await running.at(2, closing=True)
        assert (gone["path"], gone["status"], gone["when"]) == ("a.txt", "gone", "close")
        assert await running.at(2, closing=True) == []


async def test_only_what_a_rule_asks_is_read(tmp_path: Path) -> None:
    """No link is followed, no folder or pipe opened, nothing outside the folder seen, no access
    time changed."""
    outside = tmp_path / "outside.txt"
    outside.write_text("gold")
    home = tmp_path / "home"
    (home / "in").mkdir(parents=True)
    (home / "link.txt").symlink_to(outside)
    (home / "folder.txt").mkdir()
    os.mkfifo(home / "pipe.txt")
    (home / "in" / "deep.txt").write_text("deep")
    (home / "other.md").write_text("other")
    os.utime(home / "in" / "deep.txt", ns=(1, 1))
    async with reading(home, "*.txt") as running:
        assert [(data["path"], data["status"]) for _, data in running.said] == [
            ("in/deep.txt", "read")
        ]
    assert (home / "in" / "deep.txt").stat().st_atime_ns == 1


async def test_the_same_file_asked_in_two_ways_is_two_readings(tmp_path: Path) -> None:
    """Each under what was asked."""
    (tmp_path / "a.json").write_text('{"a": 1}')
    async with reading(tmp_path, "a.json", {"path": "a.json", "format": "text"}) as running:
        assert [(data["as"], data["format"]) for _, data in running.said] == [
            ("auto", "json"),
            ("text", "text"),
        ]


async def test_a_damaged_file_is_known_to_be_one(tmp_path: Path) -> None:
    """That is the file's own doing, and no gap."""
    (tmp_path / "a.json").write_text("{half")
    async with reading(tmp_path, "a.json") as running:
        assert [(kind, data["status"]) for kind, data in running.said] == [("file.read", "damaged")]


async def test_what_nobody_could_read_is_a_gap_until_somebody_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the file is read again at the next moment, though it did not change."""
    (tmp_path / "a.txt").write_text("x")
    async with reading(tmp_path, "a.txt", {"path": "b", "root": "work"}) as running:
        assert running.said[0] == (
            "gap.began", {"source": "reader", "part": "b", "reason": "the daemon was given no --files work=DIR"},
        )  # fmt: skip
        (tmp_path / "a.txt").write_text("new")
        monkeypatch.setattr(reader, "MOMENT_S", -1.0)
        (gap, _), (kind, data) = await running.at(0)
        assert (gap, kind, data["status"]) == ("gap.began", "file.read", "slow")
        monkeypatch.setattr(reader, "MOMENT_S", 60.0)
        (kind, data), (gap, _) = await running.at(1)
        assert (kind, data["facts"]["text"], gap) == ("file.read", "new", "gap.ended")


async def test_secrets_are_masked(tmp_path: Path) -> None:
    """By the names of keys, by their shape, and by what the task says."""
    (tmp_path / "a.ini").write_text("[login]\npassword=hunter2\npin=99\nuser=ada\n")
    (tmp_path / "a.txt").write_text("card 4111 1111 1111 1111")
    async with reading(tmp_path, "a.ini", "a.txt", mask=["pin"]) as running:
        told = [data for _, data in running.said]
    values = [data["facts"] for data in told]
    assert [data["masked"] for data in told] == [["facts"]] * 2
    assert values[0]["value"] == {"login": {"password": "***", "pin": "***", "user": "ada"}}
    assert "4111" not in values[1]["text"]


WORTH: Any = {
    "id": "m",
    "component": "file",
    "when": {"file_text": {"path": "a.txt", "text": {"contains": "lamp"}}},
}


async def test_a_milestone_from_the_disk_to_the_reward(tmp_path: Path) -> None:
    """The plan that the rule makes is all that the daemon is told; a recording of the events needs
    no file."""
    rules = ruleset(WORTH, weights={"file": 1})
    plan = rules.plan("ep_1")
    assert plan["file_reads"] == [{"path": "a.txt", "root": None, "format": None, "query": None}]
    assert "lamp" not in str(plan)
    async with reading(tmp_path, *plan["file_reads"]) as running:
        (tmp_path / "a.txt").write_text("a lamp")
        said = [
            ("step.began", {"step": 0}),
            *await running.at(0),
            ("step.sealed", {"step": 0, "reason": "quiet"}),
        ]
    log = [
        Event("ep_1", n, KINDS[kind].source, kind, n, data)
        for n, (kind, data) in enumerate(said, 1)
    ]
    (reward,) = Engine(rules, "ep_1").feed(log).rewards
    assert (reward.reward, [m.evidence for m in reward.milestones]) == (1.0, [(2,)])


def test_a_gap_of_one_path_blinds_the_rules_that_read_it() -> None:
    """And no other."""
    rules = ruleset(
        WORTH, {**WORTH, "id": "o", "when": {"file_text": {"path": "b.txt", "text": "x"}}}
    )
    assert rules.owners_of("reader", "a.txt")
    assert rules.owners_of("reader", None)
    assert not rules.owners_of("reader", "c.txt")


DATA = {
    "a.csv": "name,qty\nlamp,2\n",
    "a.tsv": "name\tqty\nlamp\t2\n",
    "a.json": '{"name": "lamp"}\n',
    "a.yaml": "name: lamp\n",
    "a.toml": 'name = "lamp"\n',
    "a.ini": "[a]\nname=lamp\n",
    "prefs.js": 'user_pref("name", "lamp");\n',
    "a.html": "<p>a lamp</p>",
    "a.xml": "<a>lamp</a>",
    "a.txt": "a lamp",
    "A.CSV": "name,qty\nlamp,2\n",
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("unit", ["whole", "line"])
async def test_a_text_file_has_a_text_whatever_it_is_read_as_otherwise(
    tmp_path: Path, name: str, unit: str
) -> None:
    """A table's, a document's or a program's settings' file is asked for its text and for its data
    at once."""
    said = {"file_text": {"path": name, "unit": unit, "text": {"contains": "lamp"}}}
    other = {"file_text": {"path": name, "unit": unit, "text": {"contains": "shelf"}}}
    data = {"file_is": {"path": name, "whole": True}}
    rules = ruleset(
        *(
            {"id": id, "component": "file", "when": when}
            for id, when in (("m", said), ("n", other), ("d", data))
        ),
        weights={"file": 1},
    )
    async with reading(tmp_path, *rules.plan("ep_1")["file_reads"]) as running:
        (tmp_path / name).write_text(DATA[name])
        steps = [
            ("step.began", {"step": 0}),
            *await running.at(0),
            ("step.sealed", {"step": 0, "reason": "quiet"}),
        ]
    log = [
        Event("ep_1", n, KINDS[kind].source, kind, n, data)
        for n, (kind, data) in enumerate(steps, 1)
    ]
    (reward,) = Engine(rules, "ep_1").feed(log).rewards
    assert sorted(m.id for m in reward.milestones) == ["d", "m"]


@pytest.mark.parametrize("format_", sorted(NO_TEXT))
def test_a_format_without_a_text_is_refused_with_what_to_write(format_: str) -> None:
    """Such a rule could never hold, and `task check` would say ok."""
    with pytest.raises(DetectorError, match=f"format: {format_} has no text; wanted text"):
        ruleset(
            {
                "id": "m",
                "when": {"file_text": {"path": "a", "format": format_, "text": "x"}},
                "component": "file",
            }
        )


def test_every_format_has_a_text_or_is_known_to_have_none() -> None:
    """A reader that is added says so here."""
    texts = {"xml", "svg", "drawio", "html", "docx", "odt", "pptx", "odp", "pdf", "text"}
    assert NO_TEXT | texts == set(FORMATS)
    data = ("csv", "json", "yaml", "toml", "ini", "prefs", "gimprc")
    assert {end for name in data for end in FORMATS[name].names} == {
        end.removeprefix(".") for end in DATA_ENDS
    }
