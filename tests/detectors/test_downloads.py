"""Which download brought a file: by the name that was offered, by its size, by what came last."""

from __future__ import annotations

from typing import Any

import pytest

from detectors.model.types import Event
from detectors.sdk.file_facts import cause
from detectors.sdk.world import MAX_DOWNLOADS, World, fold


class Log:
    """Events one after another, each folded in the step of its number's tens."""

    def __init__(self) -> None:
        self.world = World()
        self.seq = 0

    def add(self, kind: str, **data: Any) -> Event:
        self.seq += 1
        event = Event("e", self.seq, "cdp", kind, self.seq, data)
        fold(self.world, event, self.seq // 10)
        return event

    def began(self, download: str, name: str) -> None:
        self.add("download.began", tab="T", frame="T", url="u", name=name, download=download)

    def finished(self, download: str, name: str, size: int) -> None:
        self.add("download.finished", tab="T", url="u", name=name, download=download, size=size)

    def brought(self, name: str, size: int = 4) -> tuple[tuple[int, ...], int | None]:
        return cause(
            self.add("file.created", root="d", path=name, name=name, size=size), self.world
        )


def test_the_end_is_evidence_too_where_it_was_seen() -> None:
    log = Log()
    log.began("g", "a.csv")
    assert log.brought("a.csv") == ((1,), 0)
    log.finished("g", "a.csv", 4)
    assert log.brought("a.csv") == ((1, 3), 0)


@pytest.mark.parametrize("name", ["a.csv", "a (1).csv", "a (12).csv"])
def test_the_browser_numbers_names_that_are_taken(name: str) -> None:
    log = Log()
    log.began("g", "a.csv")
    assert log.brought(name) == ((1,), 0)


@pytest.mark.parametrize(
    "name", ["a(1).csv", "a (1) (1).csv", "a (1234).csv", "b.csv", "(1).csv", "a (x).csv", ""]
)
def test_another_name_is_another_file(name: str) -> None:
    log = Log()
    log.began("g", "a.csv")
    assert log.brought(name) == ((), None)


def test_a_name_that_bears_a_number_itself() -> None:
    log = Log()
    log.began("g", "a (1).tar.gz")
    assert log.brought("a (1).tar.gz") == ((1,), 0)
    assert log.brought("a (1) (2).tar.gz") == ((1,), 0)


def test_a_file_of_another_size_is_another_file() -> None:
    log = Log()
    log.began("g", "a.csv")
    log.finished("g", "a.csv", 4)
    assert log.brought("a.csv", size=5) == ((), None)


def test_of_two_downloads_the_size_decides_then_the_last() -> None:
    log = Log()
    log.began("g", "a.csv")
    log.finished("g", "a.csv", 4)
    log.began("h", "a.csv")
    assert log.brought("a.csv", size=4) == ((3,), 0)
    log.finished("h", "a.csv", 9)
    assert log.brought("a.csv", size=4) == ((1, 2), 0)
    assert log.brought("a (1).csv", size=9) == ((3, 5), 0)


def test_a_cancelled_download_brings_nothing() -> None:
    log = Log()
    log.began("g", "a.csv")
    log.add("download.canceled", tab="T", url="u", name="a.csv", download="g")
    assert log.brought("a.csv") == ((), None)


def test_the_step_is_the_one_in_which_it_began() -> None:
    log = Log()
    for _ in range(10):
        log.add("page.loaded")
    log.began("g", "a.csv")
    for _ in range(20):
        log.add("page.loaded")
    assert log.brought("a.csv") == ((11,), 1)


def test_the_table_is_bounded() -> None:
    log = Log()
    for number in range(200):
        log.began(f"g{number}", f"{number}.csv")
    assert len(log.world.downloads) == MAX_DOWNLOADS
    assert log.brought("199.csv")[1] is not None
