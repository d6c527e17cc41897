"""`GET /v1/episodes` and `POST /v1/episodes:sample`: what is listed, drawn and refused."""

from __future__ import annotations

from collections import Counter
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from milestoned_client import AsyncRewardClient

from api.episodes.search import EpisodeQuery
from api.rewards.sampling import (
    PICKS,
    CandidateGroup,
    EpisodeSampler,
    Pick,
    SampleQuery,
    draw_groups,
    weigh_by_novelty,
)
from tests.api.service import ADMIN, TASK, Service
from tests.api.test_search import four
from tests.api.test_tenants import tenant

WEIGHTS = st.dictionaries(st.text("abcdef", min_size=1), st.floats(0.01, 1.0), max_size=30)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({}, ["open", "blind", "half", "full"]),
        ({"outcome": "success"}, ["full"]),
        ({"status": "closed", "sort": "best"}, ["full", "half"]),
        ({"label": "policy=8"}, ["half", "blind"]),
        ({"finding": "masked"}, ["blind"]),
        ({"most": "0.3"}, ["half"]),
        ({"until": "2020-01-01"}, []),
        ({"task": "shop/other"}, []),
    ],
)
async def test_what_is_listed(service: Service, query: dict[str, str], names: list[str]) -> None:
    found = await four(service)
    listed = (await service.get("/v1/episodes", params=query)).json()
    episodes = [one["episode"] for one in listed["episodes"]]
    wanted = [found[name] for name in names]
    assert episodes == wanted if "sort" in query else sorted(episodes) == sorted(wanted)
    assert listed["next"] is None


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({"status": "broken"}, "status"),
        ({"least": "nan"}, "least"),
        ({"limit": "0"}, "limit"),
        ({"limit": "501"}, "limit"),
        ({"since": "yesterday"}, "since"),
        ({"label": "policy"}, "label: got 'policy', wanted KEY=VALUE"),
        ({"sort": "fastest"}, "sort"),
        ({"cursor": "!"}, "cursor: got '!', expected `next` of a page with sort=newest, or none"),
        ({"cursor": "WyJiZXN0IiwwLjUsImVwIl0"}, "expected `next` of a page with sort=newest"),
    ],
)
async def test_what_is_refused(service: Service, query: dict[str, str], why: str) -> None:
    refused = await service.get("/v1/episodes", params=query)
    assert refused.status_code == 422, refused.text
    assert why in refused.json()["detail"]


async def test_samples_by_what_is_picked(service: Service) -> None:
    found = await four(service)
    picked: dict[str, set[str]] = {
        "any": {"full", "half", "blind"},
        "novel": {"full", "half", "blind"},
        "success": {"full"},
        "failure": {"half"},
        "near_miss": set(),
    }
    for pick, names in picked.items():
        drawn = await sample(service, pick=pick, n=10)
        assert {one["episode"] for one in drawn["episodes"]} == {found[name] for name in names}
        assert drawn["pool"] == len(names)
        assert drawn["reason"] == f"n: got 10, {len(names)} closed episodes of task shop/cart fit"
    assert (await sample(service, pick="near_miss", n=1, near=0.2))["pool"] == 1
    labelled = await sample(service, pick="any", n=9, label="policy=8")
    assert labelled["pool"] == 2
    one = await sample(service, pick="any", n=1, seed=7)
    assert one["reason"] is None
    assert await sample(service, pick="any", n=1, seed=7) == one
    drawn_first = {
        (await sample(service, pick="any", n=1, seed=seed))["episodes"][0]["episode"]
        for seed in range(30)
    }
    assert drawn_first == {found[name] for name in picked["any"]}
    nobody = await tenant(service, "stranger")
    theirs = await service.post("/v1/episodes:sample", {"task": TASK["id"], "n": 3}, nobody)
    assert theirs.json()["pool"] == 0
    assert (await service.get("/v1/episodes", nobody)).json() == {"episodes": [], "next": None}


@pytest.mark.parametrize("pick", PICKS)
async def test_a_pool_that_is_too_large_is_its_newest(service: Service, pick: Pick) -> None:
    await four(service)
    listed = (await service.get("/v1/episodes", params={"status": "closed"})).json()["episodes"]
    database = service.app.state.parts.database
    query = SampleQuery(EpisodeQuery("default", task=TASK["id"]), pick, count=9, seed=0, near=0.2)
    whole = await EpisodeSampler(database).draw(query)
    fitting = {row.id for row in whole.episodes}
    newest = [one["episode"] for one in listed if one["episode"] in fitting]
    for max_pool in (1, 2, 3):
        drawn = await EpisodeSampler(database, max_pool).draw(query)
        assert {row.id for row in drawn.episodes} == set(newest[:max_pool])
        assert drawn.pool == min(max_pool, whole.pool)


async def test_the_client_pages_and_draws(service: Service) -> None:
    found = await four(service)
    transport = httpx.ASGITransport(service.app)
    async with AsyncRewardClient("http://service.test", ADMIN, transport=transport) as client:
        seen, cursor = [], None
        while True:
            page = await client.list_episodes(limit=1, cursor=cursor, sort="best", least=-1.0)
            seen += [one.episode for one in page.episodes]
            cursor = page.next
            if cursor is None:
                break
        assert seen == [found["full"], found["half"]]
        drawn = await client.sample_episodes(TASK["id"], 2, pick="success")
        assert [one.episode for one in drawn.episodes] == [found["full"]]
        assert drawn.reason is not None


async def sample(service: Service, **body: Any) -> dict[str, Any]:
    """The answer of the route for the task of the tests."""
    answer = await service.post("/v1/episodes:sample", {"task": TASK["id"], **body})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def groups_of(weights: dict[str, float]) -> list[CandidateGroup]:
    """Each id by itself, with a weight of its own."""
    return [CandidateGroup([id], weight) for id, weight in weights.items()]


@given(WEIGHTS, st.integers(0, 9), st.integers(0, 99))
def test_a_draw_is_without_replacement_and_stable(
    weights: dict[str, float], count: int, seed: int
) -> None:
    drawn = draw_groups(groups_of(weights), count, seed)
    assert len(drawn) == min(count, len(weights))
    assert len(set(drawn)) == len(drawn)
    more = {**weights, "z": 0.5}
    kept = [id for id in draw_groups(groups_of(more), count, seed) if id != "z"]
    assert kept == drawn[: len(kept)], "a new episode moves no other"


@given(st.sets(st.text("abc", max_size=4), max_size=12), st.integers(0, 9), st.integers(0, 99))
def test_a_group_is_drawn_from_as_its_members_are(ids: set[str], count: int, seed: int) -> None:
    whole = draw_groups([CandidateGroup(sorted(ids), 0.25)], count, seed)
    assert whole == draw_groups(groups_of(dict.fromkeys(ids, 0.25)), count, seed)


def test_rare_sets_of_milestones_are_drawn_first() -> None:
    """Ninety of one kind and one of another: by weight each kind is drawn first half the time."""
    groups = weigh_by_novelty([[f"ep{number}" for number in range(90)], ["rare"], []])
    first = Counter(draw_groups(groups, 1, seed)[0] == "rare" for seed in range(400))
    assert 150 < first[True] < 250
