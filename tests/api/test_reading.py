"""Evidence: pages of the log, the trajectory, the recording."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.replay.recordings import replay
from api.rewards.trajectory import transitions
from detectors.model.codec import with_checksum
from detectors.model.rewards import encode_reward
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from tests.api.service import TASK, Service, events, frames
from tests.support.logs import Said, began, clicked, created, episode, filled, sealed, titled, went

SAID = episode(
    [went("/cart"), titled("Cart")], [filled("Name", "Ann"), clicked("Buy")], before=[went("/")]
)


async def test_pages_of_the_log_join_to_the_whole(service: Service) -> None:
    id, token = await service.open()
    await service.tell(id, token, *SAID, sizes=[1, 3, 2])
    found, after = [], 0
    while after is not None:
        query = {"after": after, "limit": 2}
        page = (await service.get(f"/v1/episodes/{id}/events", params=query)).json()
        assert page["through"] == len(SAID)
        found += page["events"]
        after = page["next"]
    assert [(event["seq"], event["kind"]) for event in found] == [
        (n, kind) for n, (kind, _) in enumerate(SAID, 1)
    ]
    assert [event["data"] for event in found] == [data for _, data in SAID]


async def test_a_daemon_that_lost_its_journal_hears_where_time_stands(service: Service) -> None:
    """By its own token; at whatever place of a segment the last event stands."""
    id, token = await service.open()

    async def at() -> object:
        return (await service.get(f"/v1/episodes/{id}", token)).json()["at"]

    assert await at() is None
    told = events(id, *SAID)
    for frame, last in zip(frames(told, [1, 3]), (1, 4, len(told)), strict=True):
        await service.append(id, frame, token)
        assert await at() == told[last - 1].at


async def test_events_by_kind(service: Service) -> None:
    id, token = await service.open()
    await service.tell(id, token, *SAID, sizes=[2])
    query = {"kind": ["step.began", "element.clicked"]}
    page = (await service.get(f"/v1/episodes/{id}/events", params=query)).json()
    assert [event["kind"] for event in page["events"]] == [
        "step.began",
        "step.began",
        "element.clicked",
    ]
    assert page["next"] is None


@pytest.mark.parametrize(
    "query", [{"after": "-1"}, {"limit": "x"}, {"limit": "5001"}, {"after": str(2**64)}]
)
async def test_a_bad_page_is_refused(service: Service, query: dict[str, str]) -> None:
    id, _ = await service.open()
    assert (await service.get(f"/v1/episodes/{id}/events", params=query)).status_code == 422


async def test_the_recording_replays_to_the_same_bytes(service: Service, tmp_path: Path) -> None:
    id, token = await service.open()
    made = await service.tell(id, token, *SAID, sizes=[2, 3])
    answer = await service.get(f"/v1/episodes/{id}/recording")
    assert answer.content == with_checksum(b"".join(made))
    assert answer.headers["content-type"] == "application/zstd"
    path = tmp_path / "episode.mrec"
    path.write_bytes(answer.content)
    _, rewards = replay(path, compile_task(task_from_json(TASK)))
    for reward in rewards:
        assert (await service.reward(id, reward.step)).content == encode_reward(reward)


async def test_the_trajectory_has_what_the_agent_saw_did_and_got(service: Service) -> None:
    id, token = await service.open()
    await service.tell(id, token, *SAID)
    first, last = (await service.get(f"/v1/episodes/{id}/trajectory")).json()["steps"]
    assert first["observation"]["tabs"] == {"T": {"url": "http://shop.test/", "title": None}}
    assert first["next_observation"] == last["observation"]
    assert last["observation"]["tabs"]["T"] == {"url": "http://shop.test/cart", "title": "Cart"}
    assert (first["first"], first["last"], first["done"]) == (3, 6, False)
    assert (last["first"], last["last"], last["done"]) == (6, 9, True)
    assert (last["observation"]["filled_fields"], last["next_observation"]["filled_fields"]) == (
        0,
        1,
    )
    assert [one["reward"]["step"] for one in (first, last)] == [0, 1]


def _steps(*said: Said, rewards: tuple[int, ...] = ()) -> list[dict[str, object]]:
    return transitions(
        events("ep_1", *said), {n: {"step": n, "done": False, "reward": 0.0} for n in rewards}
    )


def test_a_step_that_is_open_has_no_next_observation() -> None:
    (only,) = _steps(("episode.opened", {}), began(0), went("/cart"))
    assert (only["next_observation"], only["reward"], only["last"]) == (None, None, 3)


def test_what_the_close_decides_is_a_step_of_its_own() -> None:
    said = [
        ("episode.opened", {}),
        began(0),
        sealed(0),
        created("a.csv"),
        ("episode.closed", {"reason": "x"}),
    ]
    first, closing = _steps(*said, rewards=(0, 1))
    assert (
        first["last"],
        closing["step"],
        closing["action"],
        closing["first"],
        closing["last"],
    ) == (3, 1, None, 5, 5)
    assert (first["next_observation"], closing["observation"]) != (None, None)


def _basics(observation: dict[str, object]) -> dict[str, object]:
    return {part: observation[part] for part in ("tabs", "filled_fields", "files", "dialog")}


def test_leaving_a_page_empties_its_fields_and_a_dialog_closes() -> None:
    said = [
        began(0),
        filled("Name", "Ann"),
        ("dialog.opened", {"tab": "T", "type": "confirm", "message": "Sure?"}),
    ]
    after = [
        began(1),
        ("dialog.closed", {"tab": "T"}),
        went("/next"),
        filled("Box", checked=False),
        began(2),
    ]
    _, second, third = _steps(*said, *after)
    assert _basics(second["observation"]) == {
        "tabs": {},
        "filled_fields": 1,
        "files": 0,
        "dialog": {"type": "confirm", "message": "Sure?"},
    }
    assert _basics(third["observation"]) == {
        "tabs": {"T": {"url": "http://shop.test/next", "title": None}},
        "filled_fields": 0,
        "files": 0,
        "dialog": None,
    }
