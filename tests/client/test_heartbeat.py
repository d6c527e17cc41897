"""A client sends heartbeats for the episodes that it opened, while somebody has their handles."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from typing import Any

import pytest
from milestoned_client import AsyncRewardClient, RewardClient, heartbeat
from milestoned_client.heartbeat import MAX_BEAT_S, MAX_EPISODES, KeptEpisodes

from tests.client.conftest import QUICK
from tests.client.peer import Peer
from tests.client.test_calls import OPENED

PATH = "/v1/episodes:heartbeat"
OWNED = {**OPENED, "owner_silence_s": 0.1}
WAIT_S = 20.0


class Handle:
    """What somebody has of an episode."""


@pytest.mark.parametrize(
    ("silence_s", "beat_s"), [(1_800.0, 60.0), (600.0, 60.0), (300.0, 30.0), (2.0, 1.0)]
)
def test_ten_heartbeats_fit_into_the_silence(silence_s: float, beat_s: float) -> None:
    kept, handle = KeptEpisodes(), Handle()
    assert kept.add("e1", handle, silence_s) == (beat_s < MAX_BEAT_S)
    assert kept.beat_s == beat_s


def test_who_is_sent() -> None:
    kept = KeptEpisodes()
    handles = {f"e{n}": Handle() for n in range(MAX_EPISODES + 3)}
    for id, handle in handles.items():
        kept.add(id, handle, 600.0)
    assert [len(batch) for batch in kept.batches()] == [MAX_EPISODES, 3]
    kept.drop_ended({"e0": "open", "e1": "closing", "e2": "closed", "e3": "unknown"})
    assert len(kept.batches()[0]) == MAX_EPISODES
    assert {"e1", "e2", "e3"}.isdisjoint(kept.batches()[0])
    kept.drop([f"e{n}" for n in range(5, MAX_EPISODES + 3)])
    assert kept.batches() == [["e0", "e4"]]
    del handles, handle
    gc.collect()
    assert kept.batches() == []


def beats(peer: Peer) -> list[Any]:
    return [asked.body for asked in list(peer.asked) if asked.path == PATH]


def wait_until(condition: Callable[[], bool]) -> None:
    latest = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < latest
        time.sleep(0.005)


def answer_beats(peer: Peer) -> None:
    """One heartbeat fails, the next two are answered, the last with the episode's end."""
    peer.answer("/v1/episodes", OWNED, 201)
    peer.answer(PATH, {"type": "urn:milestoned:problem:invalid"}, 422)
    for status in ("open", "closed"):
        peer.answer(PATH, {"episodes": {"e1": status}})


def test_the_blocking_client_sends_them_until_the_episode_is_over(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "MIN_BEAT_S", 0.005)
    answer_beats(peer)
    with RewardClient(peer.url, "secret", retry=QUICK) as client:
        episode = client.open("shop/a")
        wait_until(lambda: not client.heartbeat.kept.batches())
        assert episode.id == "e1"
    assert beats(peer) == [{"episodes": ["e1"]}] * 3


async def test_the_asyncio_client_sends_them_until_it_is_closed(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "MIN_BEAT_S", 0.005)
    peer.answer("/v1/episodes", OWNED, 201)
    for _ in range(1_000):
        peer.answer(PATH, {"episodes": {"e1": "open"}})
    async with AsyncRewardClient(peer.url, "secret", retry=QUICK) as client:
        episode = await client.open("shop/a")
        await asyncio.to_thread(wait_until, lambda: len(beats(peer)) >= 3)
    assert episode.id == "e1"
    assert "heartbeats" not in {task.get_name() for task in asyncio.all_tasks()}


@pytest.mark.parametrize("opened", [OPENED, OWNED])
def test_an_episode_without_an_owner_needs_none(peer: Peer, opened: dict[str, Any]) -> None:
    peer.answer("/v1/episodes", opened, 201)
    with RewardClient(peer.url, "secret", retry=QUICK) as client:
        episode = client.open("shop/a", owner_silence_s=5.0)
        assert client.heartbeat.kept.batches() == ([["e1"]] if opened is OWNED else [])
    assert peer.asked[0].body["owner_silence_s"] == 5.0
    assert episode.id == "e1"
