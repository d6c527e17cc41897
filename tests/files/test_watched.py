"""The tables of folders that are followed: what they know after moves and ends, and what they
cost."""

from __future__ import annotations

import time

from watchdog.observers.inotify_c import WatchDescriptor

from agentd.sources.files.watched import Watched


def filled(count: int) -> Watched:
    """As many folders of one root, each with a watch."""
    watched = Watched()
    for number in range(count):
        watched.set_watch(WatchDescriptor(number), ("r", f"f{number}"))
        watched.follow(("r", f"f{number}"), "told")
    return watched


def test_folders_that_go_or_move_one_by_one_cost_what_each_costs() -> None:
    """Who removes them must not hold up the reader of notifications: of 3,000 it took seven
    seconds, all of them looked through for each."""
    count = 20_000
    watched = filled(count)
    began = time.process_time()
    for number in range(count):
        watched.move("r", f"f{number}", f"g{number}")
        assert watched.leave_all("r", f"g{number}") == [number]
        assert not watched.limited()
        assert watched.remove_watch(WatchDescriptor(number)) == ("r", f"g{number}")
    assert time.process_time() - began < 5


def test_what_lies_below_a_folder_goes_with_it() -> None:
    watched = Watched()
    for number, path in enumerate(("", "a", "a/b", "a/b/c", "ab")):
        watched.set_watch(WatchDescriptor(number), ("r", path))
        watched.follow(("r", path), "told")
    watched.follow(("r", "a/b/d"), "limit")
    watched.follow(("r", "a/b/e"), "silent")
    watched.follow(("other", "a"), "told")
    watched.move("r", "a/b", "x")
    assert watched.place_of(WatchDescriptor(3)) == ("r", "x/c")
    assert watched.find_how(("r", "x/c")) == "told"
    assert watched.find_how(("r", "a/b/c")) is None
    assert watched.limited() == [("r", "x/d")]
    assert set(watched.polled()) == {("r", "x/d"), ("r", "x/e")}
    assert sorted(watched.leave_all("r", "x")) == [2, 3]
    assert not watched.polled()
    assert set(watched.places("r")) == {("r", ""), ("r", "a"), ("r", "ab")}
    assert sorted(watched.leave_all("r", "")) == [0, 1, 2, 3, 4]
    assert watched.places("other") == [("other", "a")]
