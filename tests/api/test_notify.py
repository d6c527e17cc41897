"""What is told of a topic, to those who wait for its changes."""

from __future__ import annotations

from api.core.notify import MAX_FOLLOWING, Change, Notifier, Payload, Topic

TOPIC: Topic = ("log", "ep_1")


def payloads_since(change: Change | None) -> list[Payload | None]:
    """The payload of each change that came, from ``change`` on."""
    payloads = []
    while change is not None and change.is_set():
        payloads.append(change.payload)
        change = change.following
    return payloads


def test_each_change_since_one_began_to_watch_is_heard_with_its_payload() -> None:
    notifier = Notifier()
    notifier.tell(TOPIC, {"n": 0})
    change = notifier.watch(TOPIC)
    for payload in ({"n": 1}, None, {"n": 2}):
        notifier.tell(TOPIC, payload)
    notifier.tell(("log", "ep_2"), {"n": 3})
    assert payloads_since(change) == [{"n": 1}, None, {"n": 2}]


def test_who_watches_later_hears_what_comes_later() -> None:
    notifier = Notifier()
    first = notifier.watch(TOPIC)
    notifier.tell(TOPIC, {"n": 1})
    later = notifier.watch(TOPIC)
    notifier.tell(TOPIC, {"n": 2})
    assert first.following is later
    assert payloads_since(later) == [{"n": 2}]


def test_an_old_change_keeps_no_more_than_so_many_in_memory() -> None:
    """A stream whose reader is slow holds one while the whole fleet appends."""
    notifier = Notifier()
    oldest = notifier.watch(TOPIC)
    for n in range(10 * MAX_FOLLOWING):
        notifier.tell(TOPIC, {"n": n})
    assert payloads_since(oldest) == [{"n": n} for n in range(MAX_FOLLOWING + 1)]


def test_deleted_episodes_are_a_change_without_a_payload() -> None:
    notifier = Notifier()
    change = notifier.watch(TOPIC)
    notifier.wake_all()
    assert set(payloads_since(change)) == {None}


def test_nobody_keeps_what_nobody_waits_for() -> None:
    notifier = Notifier()
    change = notifier.watch(TOPIC)
    notifier.tell(TOPIC, {"n": 1})
    del change
    assert not list(notifier._changes)


def test_the_others_are_told_the_payload() -> None:
    notifier, told = Notifier(), list[tuple[Topic, Payload | None]]()
    notifier.spread(lambda topic, payload: told.append((topic, payload)), 15.0)
    notifier.tell(TOPIC, {"n": 1})
    notifier.tell(TOPIC)
    assert told == [(TOPIC, {"n": 1}), (TOPIC, None)]
