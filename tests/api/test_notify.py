"""What is told of a topic, to those who wait for its changes."""

from __future__ import annotations

from api.core.notify import MAX_FOLLOWING, Change, Notifier, Said, Topic

TOPIC: Topic = ("log", "ep_1")


def said_since(change: Change | None) -> list[Said | None]:
    """What was said of each change that came, from ``change`` on."""
    said = []
    while change is not None and change.is_set():
        said.append(change.said)
        change = change.following
    return said


def test_each_change_since_one_began_to_watch_is_heard_with_what_was_said() -> None:
    notifier = Notifier()
    notifier.tell(TOPIC, {"n": 0})
    change = notifier.watch(TOPIC)
    for said in ({"n": 1}, None, {"n": 2}):
        notifier.tell(TOPIC, said)
    notifier.tell(("log", "ep_2"), {"n": 3})
    assert said_since(change) == [{"n": 1}, None, {"n": 2}]


def test_who_watches_later_hears_what_comes_later() -> None:
    notifier = Notifier()
    first = notifier.watch(TOPIC)
    notifier.tell(TOPIC, {"n": 1})
    later = notifier.watch(TOPIC)
    notifier.tell(TOPIC, {"n": 2})
    assert first.following is later
    assert said_since(later) == [{"n": 2}]


def test_an_old_change_keeps_no_more_than_so_many_in_memory() -> None:
    """A stream whose reader is slow holds one while the whole fleet appends."""
    notifier = Notifier()
    oldest = notifier.watch(TOPIC)
    for n in range(10 * MAX_FOLLOWING):
        notifier.tell(TOPIC, {"n": n})
    assert said_since(oldest) == [{"n": n} for n in range(MAX_FOLLOWING + 1)]


def test_deleted_episodes_are_a_change_of_which_nothing_is_said() -> None:
    notifier = Notifier()
    change = notifier.watch(TOPIC)
    notifier.wake_all()
    assert set(said_since(change)) == {None}


def test_nobody_keeps_what_nobody_waits_for() -> None:
    notifier = Notifier()
    change = notifier.watch(TOPIC)
    notifier.tell(TOPIC, {"n": 1})
    del change
    assert not list(notifier._changes)


def test_the_others_are_told_what_was_said() -> None:
    notifier, told = Notifier(), list[tuple[Topic, Said | None]]()
    notifier.spread(lambda topic, said: told.append((topic, said)), 15.0)
    notifier.tell(TOPIC, {"n": 1})
    notifier.tell(TOPIC)
    assert told == [(TOPIC, {"n": 1}), (TOPIC, None)]
