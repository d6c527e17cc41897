"""Which sandboxes were silent too long, by the looks of one process alone."""

from __future__ import annotations

from api.core.heartbeat import Pulse


def looks(*seen: tuple[float, dict[str, int]]) -> list[list[str]]:
    pulse: Pulse[int] = Pulse(60.0, 5.0)
    return [pulse.look(at, beats) for at, beats in seen]


def every(
    seconds: float, until: float, beats: dict[str, int]
) -> list[tuple[float, dict[str, int]]]:
    return [(at * seconds, beats) for at in range(int(until / seconds) + 1)]


def test_silence_for_lost_s_is_a_loss_and_not_a_moment_earlier() -> None:
    found = looks(*every(5.0, 60.0, {"a": 7}))
    assert found[-1] == ["a"]
    assert not any(found[:-1])


def test_one_beat_begins_the_count_anew() -> None:
    assert looks(*every(5.0, 55.0, {"a": 7}), (60.0, {"a": 8}))[-1] == []


def test_a_replica_that_was_paused_gives_nobody_up_for_it() -> None:
    assert looks(*every(5.0, 50.0, {"a": 7}), (110.0, {"a": 7}))[-1] == []


def test_each_sandbox_has_its_own_count() -> None:
    beats = [(at, {"a": 1, "b": n}) for n, (at, _) in enumerate(every(5.0, 60.0, {}))]
    assert looks(*beats)[-1] == ["a"]
