"""A fleet on one service: sandboxes register, get episodes, and one that is lost costs its unsealed
steps alone."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from api.core.errors import VersionSkewError
from api.fleet import version_skew
from api.fleet.ending import end
from api.fleet.watch import FleetWatch
from api.ingest.strangers import Strangers
from detectors.model.wire_versions import WIRE
from tests.api.daemon import OPENED, Daemon
from tests.api.service import ADMIN, TASK, Service, Store, events, frames, running, until
from tests.support.logs import went

LOST_S = 60.0
LOOK_S = 5.0


class Sandbox:
    """A daemon's words to the fleet."""

    def __init__(self, service: Service, name: str, token: str = ADMIN, **labels: str) -> None:
        self.service, self.name, self.token, self.labels = service, name, token, labels
        self.instance = f"the instance of {name}"
        self.id = ""

    async def register(self, **changed: Any) -> Any:
        body = {
            "name": self.name,
            "instance": self.instance,
            "labels": self.labels,
            "agentd": "0.1.0",
            "wire": WIRE,
        }
        answer = await self.service.post("/v1/sandboxes", {**body, **changed}, self.token)
        if answer.status_code == 200:
            self.id = answer.json()["sandbox"]
        return answer

    async def beat(self, **said: Any) -> dict[str, Any]:
        answer = await self.service.post(
            f"/v1/sandboxes/{self.id}:beat", {"instance": self.instance, **said}, self.token
        )
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


async def opened(service: Service, sandbox: Any = "any") -> dict[str, Any]:
    assert (await service.post("/v1/tasks", TASK)).status_code in (200, 201)
    answer = await service.post("/v1/episodes", {"task": TASK["id"], "sandbox": sandbox})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def joined(service: Service, name: str = "one", **labels: str) -> Sandbox:
    sandbox = Sandbox(service, name, **labels)
    answer = await sandbox.register()
    assert answer.status_code == 200, answer.text
    return sandbox


async def lose_everybody(*services: Service) -> None:
    """No test waits: each replica looks as it would for a minute, on a clock of the test's."""
    for service in services:
        watch = eyes(service)
        for n in range(int(LOST_S / LOOK_S) + 1):
            await watch.look(n * LOOK_S)


def eyes(service: Service) -> FleetWatch:
    parts = service.app.state.parts
    ended = partial(end, parts.log, parts.segments, parts.episodes, parts.commands)
    strangers = Strangers(parts.database, parts.tasks)
    return FleetWatch(
        parts.sandboxes,
        parts.leases,
        strangers,
        parts.notifier,
        parts.daemon_calls,
        ended,
        LOST_S,
        7,
    )


async def test_an_episode_goes_to_a_sandbox_that_is_idle(service: Service) -> None:
    one = await joined(service)
    episode = await opened(service)
    assert episode["sandbox"]["state"] == "queued", "its daemon was not told yet"
    lease = (await one.beat())["lease"]
    assert lease == {
        "episode": episode["episode"],
        "token": episode["token"],
        "task": TASK["id"],
        "version": "1",
    }
    said = await held(service, episode)
    assert (said["state"], said["sandbox"]["name"]) == ("held", "one")


async def held(service: Service, episode: dict[str, Any]) -> Any:
    return (await service.get(f"/v1/episodes/{episode['episode']}/sandbox")).json()


async def test_a_dead_sandbox_takes_no_episode_with_it_of_which_it_never_heard(
    service: Service,
) -> None:
    dead = await joined(service, "dead")
    episode = await opened(service)
    living = await joined(service, "living")
    assert (await living.beat())["lease"] is None
    watch = eyes(service)
    for n in range(int(LOST_S / LOOK_S) + 1):
        await watch.look(n * LOOK_S)
        assert (await living.beat())["sandbox"] == living.id
    assert (await living.beat())["lease"]["episode"] == episode["episode"]
    said = await held(service, episode)
    assert (said["state"], said["sandbox"]["name"]) == ("held", "living")
    late = await dead.beat(on=None)
    assert late["lease"] is None


async def test_one_that_somebody_wrote_in_or_was_told_of_is_given_to_nobody_else(
    service: Service,
) -> None:
    told, _ = (
        await joined(service, "told", told="yes"),
        await joined(service, "written", written="yes"),
    )
    episodes = [await opened(service, {"told": "yes"}), await opened(service, {"written": "yes"})]
    await told.beat()
    await service.tell(episodes[1]["episode"], episodes[1]["token"], OPENED)
    await lose_everybody(service)
    assert [(await held(service, one))["state"] for one in episodes] == ["lost", "lost"]
    assert (await (await joined(service, "third", written="yes")).beat())["lease"] is None


async def test_an_idle_sandbox_waits_on_its_open_channel(service: Service) -> None:
    one = await joined(service)
    told = asyncio.create_task(one.beat(wait_ms=50_000))
    await until(lambda: service.app.state.notifier.waiting)
    episode = await opened(service)
    assert (await told)["lease"]["episode"] == episode["episode"]


async def test_episodes_queue_in_order_until_a_sandbox_is_free(service: Service) -> None:
    first, second = await opened(service), await opened(service)
    assert first["sandbox"]["state"] == second["sandbox"]["state"] == "queued"
    one = await joined(service)
    assert (await one.beat())["lease"]["episode"] == first["episode"]
    await service.tell(
        first["episode"], first["token"], OPENED, ("episode.closed", {"reason": "done"})
    )
    assert (await one.beat(done=first["episode"]))["lease"]["episode"] == second["episode"]
    said = (await service.get(f"/v1/episodes/{first['episode']}/sandbox")).json()
    assert said["state"] == "ended"


async def test_an_episode_that_is_not_closed_stays_with_its_sandbox(service: Service) -> None:
    one = await joined(service)
    episode = await opened(service)
    assert (await one.beat(done=episode["episode"]))["lease"]["episode"] == episode["episode"]


async def test_a_label_selector_wants_all_its_labels(service: Service) -> None:
    await joined(service, "plain")
    fitting = await joined(service, "fitting", os="debian", gpu="none")
    episode = await opened(service, {"os": "debian"})
    assert (await fitting.beat())["lease"]["episode"] == episode["episode"]
    assert (await opened(service, {"os": "haiku"}))["sandbox"]["state"] == "queued"


async def test_a_restarted_daemon_is_the_same_sandbox_with_its_episode(service: Service) -> None:
    one = await joined(service)
    episode = await opened(service)
    again = (await one.register()).json()
    assert (again["sandbox"], again["lease"]["episode"]) == (one.id, episode["episode"])


async def test_a_name_that_is_alive_is_not_taken_over(service: Service) -> None:
    one = await joined(service)
    answer = await one.register(instance="another daemon's instance")
    assert (answer.status_code, answer.json()["type"]) == (
        409,
        "urn:milestoned:problem:sandbox-taken",
    )
    await lose_everybody(service)
    assert (await one.register(instance="another daemon's instance")).status_code == 200


async def test_a_daemon_that_waits_is_given_no_episode_of_the_one_that_took_its_place(
    service: Service,
) -> None:
    """It was lost meanwhile, and its call still stands."""
    one = await joined(service)
    path = f"/v1/sandboxes/{one.id}:beat"
    body = {"instance": one.instance, "wait_ms": 50_000}
    waiting = asyncio.create_task(service.post(path, body, one.token))
    await until(lambda: service.app.state.notifier.waiting)
    await lose_everybody(service)
    other = Sandbox(service, one.name)
    other.instance = "another daemon's instance"
    assert (await other.register()).json()["sandbox"] == one.id
    episode = await opened(service)
    answer = await waiting
    assert (answer.status_code, "another daemon" in answer.json()["detail"]) == (403, True)
    assert (await other.beat())["lease"]["episode"] == episode["episode"]


@pytest.mark.parametrize(
    ("agentd", "wire", "says"),
    [
        ("0.2.0", WIRE, "wanted the service upgraded first"),
        ("0.1.9", WIRE + 1, "wanted the service upgraded first"),
        ("1.0", WIRE, "wanted the service upgraded first"),
        ("soon", WIRE, "wanted a version such as 0.1.0"),
    ],
)
async def test_a_daemon_of_another_version_is_refused_in_words(
    service: Service, agentd: str, wire: int, says: str
) -> None:
    answer = await Sandbox(service, "one").register(agentd=agentd, wire=wire)
    assert answer.status_code == 409
    assert answer.json()["type"] == "urn:milestoned:problem:version-skew"
    assert says in answer.json()["detail"]


@pytest.mark.parametrize(("letters", "status"), [(64, 200), (65, 422), (128, 422)])
async def test_a_daemon_s_version_has_a_length(service: Service, letters: int, status: int) -> None:
    answer = await Sandbox(service, "one").register(agentd="0.1.".ljust(letters, "9"))
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize(
    ("service", "agentd"), [("1.4.0", "1.4.2"), ("1.4.0", "1.0.0"), ("0.2.0", "0.1.0")]
)
def test_daemons_of_the_same_major_that_are_not_newer_are_taken(service: str, agentd: str) -> None:
    version_skew.check(service, agentd, WIRE)


def test_a_daemon_of_an_older_major_is_refused() -> None:
    with pytest.raises(VersionSkewError, match="wanted the daemon upgraded"):
        version_skew.check("2.0.0", "1.9.0", WIRE)


async def test_a_lost_sandbox_costs_its_unsealed_steps_and_no_other(service: Service) -> None:
    one = await joined(service)
    episode = await opened(service)
    id, token = episode["episode"], episode["token"]
    await service.tell(
        id, token, OPENED, ("step.began", {"step": 0}), ("step.sealed", {"step": 0, "reason": "quiet"}),
        ("step.began", {"step": 1}), went("/cart"), ("step.sealed", {"step": 1, "reason": "quiet"}),
        ("step.began", {"step": 2}), went("/else"),
    )  # fmt: skip
    before = [(await service.reward(id, step)).content for step in (0, 1)]
    asked = await service.post(f"/v1/episodes/{id}/steps", {"step": 3, "wait_ms": 0})
    assert asked.status_code == 202
    await lose_everybody(service)

    assert [(await service.reward(id, step)).content for step in (0, 1)] == before
    for step in (2, 3):
        reward = (await service.reward(id, step)).json()
        assert (reward["status"], reward["reward"], reward["mask"]) == ("unobserved", None, True)
        assert f"its sandbox {one.id} was not heard of for" in reward["reason"]
    said = (await service.get(f"/v1/episodes/{id}")).json()
    assert (said["status"], said["step"], said["total"], said["success"]) == (
        "closed",
        3,
        None,
        None,
    )
    lease = (await service.get(f"/v1/episodes/{id}/sandbox")).json()
    assert (lease["state"], lease["why"]) == (
        "lost",
        (await service.reward(id, 3)).json()["reason"].partition(": ")[2],
    )


async def test_what_was_sealed_before_the_loss_is_followed_by_a_masked_closing_step(
    service: Service,
) -> None:
    await joined(service)
    episode = await opened(service)
    id = episode["episode"]
    await service.tell(
        id,
        episode["token"],
        OPENED,
        ("step.began", {"step": 0}),
        ("step.sealed", {"step": 0, "reason": "quiet"}),
    )
    await lose_everybody(service)
    assert (await service.reward(id, 0)).json()["reward"] == 0.0
    closing = (await service.reward(id, 1)).json()
    assert (closing["reward"], closing["mask"], closing["done"]) == (None, True, True)


async def test_an_episode_whose_daemon_never_wrote_is_ended_too(service: Service) -> None:
    one = await joined(service)
    episode = await opened(service)
    await one.beat()
    await lose_everybody(service)
    said = (await service.get(f"/v1/episodes/{episode['episode']}/events")).json()["events"]
    assert [event["kind"] for event in said] == [
        "episode.opened",
        "events.dropped",
        "episode.closed",
    ]
    assert (await service.reward(episode["episode"], 0)).json()["mask"] is True


async def test_a_daemon_that_comes_back_is_told_by_name(service: Service) -> None:
    one = await joined(service)
    episode = await opened(service)
    id, token = episode["episode"], episode["token"]
    made = frames(events(id, OPENED, ("step.began", {"step": 0}), went("/cart")), [2])
    assert (await service.append(id, made[0], token)).status_code == 200
    await lose_everybody(service)
    late = await service.append(id, made[1], token)
    assert (late.status_code, late.json()["type"]) == (409, "urn:milestoned:problem:sandbox-lost")
    told = await one.beat(on=id)
    assert told["given_up"]["episode"] == id
    assert "was not heard of for" in told["given_up"]["why"]
    assert told["lease"] is None
    assert (await one.beat())["given_up"] is None


async def test_a_beat_keeps_a_sandbox(service: Service) -> None:
    one = await joined(service)
    watch = eyes(service)
    for n in range(20):
        await watch.look(n * LOOK_S)
        await one.beat()
    listed = (await service.get("/v1/sandboxes")).json()["sandboxes"]
    assert [sandbox["state"] for sandbox in listed] == ["idle"]


@pytest.mark.parametrize("store", ["postgres"], indirect=True)
async def test_exactly_one_of_two_replicas_ends_an_episode(store: Store) -> None:
    async with running(store) as first, running(store) as second:
        ids = []
        for n in range(11):
            sandbox = await joined(first, f"one of many {n}")
            ids.append((await opened(first))["episode"])
            assert (await sandbox.beat())["lease"]["episode"] == ids[-1]
        await asyncio.gather(lose_everybody(first), lose_everybody(second))
        for id in ids:
            kinds = [
                e["kind"] for e in (await first.get(f"/v1/episodes/{id}/events")).json()["events"]
            ]
            assert kinds == ["episode.opened", "events.dropped", "episode.closed"]


async def test_a_loss_that_a_killed_replica_left_half_done_is_finished_by_another(
    service: Service,
) -> None:
    one = await joined(service)
    episode = await opened(service)
    await one.beat()
    parts = service.app.state.parts
    assert await parts.sandboxes.give_up(
        one.id, (await parts.sandboxes.get(one.id)).beats, "lost half"
    )
    await eyes(service).look(0.0)
    assert (await service.get(f"/v1/episodes/{episode['episode']}")).json()["status"] == "closed"


async def test_a_fault_of_ours_does_not_end_the_watch(service: Service) -> None:
    one = await joined(service)
    id = (await opened(service))["episode"]
    await one.beat()
    parts = service.app.state.parts
    assert await parts.sandboxes.give_up(one.id, (await parts.sandboxes.get(one.id)).beats, "lost")
    asked = list[str]()

    async def fails_first(episode: str, why: str) -> None:
        asked.append(episode)
        if len(asked) == 1:
            raise KeyError(episode)
        await end(parts.log, parts.segments, parts.episodes, parts.commands, episode, why)

    strangers = Strangers(parts.database, parts.tasks)
    watch = FleetWatch(
        parts.sandboxes,
        parts.leases,
        strangers,
        parts.notifier,
        parts.daemon_calls,
        fails_first,
        0.6,
        7,
    )
    await watch.start()
    try:
        await until(lambda: len(asked) > 1)
        assert (await service.reward(id, 0, wait_ms=10_000)).json()["mask"] is True
    finally:
        await watch.stop()


async def test_an_episode_closed_before_it_had_a_sandbox_ends(service: Service) -> None:
    id = (await opened(service))["episode"]
    assert (await service.post(f"/v1/episodes/{id}:close", {"wait_ms": 0})).status_code == 202
    await eyes(service).look(0.0)
    assert (await service.get(f"/v1/episodes/{id}")).json()["status"] == "closed"
    assert (await service.get(f"/v1/episodes/{id}/sandbox")).json()[
        "why"
    ] == "it was closed before a sandbox was free"


async def test_an_episode_that_its_daemon_can_not_go_on_with_is_ended(service: Service) -> None:
    one = await joined(service)
    id = (await opened(service))["episode"]
    await one.beat(failed={"episode": id, "why": "the journal is another episode's"})
    await eyes(service).look(0.0)
    assert (
        "could not go on: the journal is another" in (await service.reward(id, 0)).json()["reason"]
    )
    assert (await one.beat())["lease"] is None


async def test_what_a_fleet_s_token_may(service: Service) -> None:
    _, token = await service.app.state.parts.tokens.create("sandbox", "the fleet")
    one = Sandbox(service, "one", token)
    assert (await one.register()).status_code == 200
    episode = await opened(service)
    assert (await one.beat())["lease"]["token"] == episode["token"]
    refused = [
        await service.get("/v1/sandboxes", token),
        await service.get(f"/v1/episodes/{episode['episode']}", token),
        await service.post("/v1/episodes", {"task": TASK["id"]}, token),
        await service.append(episode["episode"], b"x", token),
        await service.post(
            f"/v1/sandboxes/{one.id}:beat", {"instance": "somebody else's inst"}, token
        ),
    ]
    assert [answer.status_code for answer in refused] == [403] * len(refused)


async def test_who_leaves_gets_nothing_more_and_who_works_stays(service: Service) -> None:
    idle, busy = await joined(service, "idle"), await joined(service, "busy", work="yes")
    await opened(service, {"work": "yes"})
    for sandbox, state in ((idle, "left"), (busy, "busy")):
        left = await service.post(
            f"/v1/sandboxes/{sandbox.id}:leave", {"instance": sandbox.instance}
        )
        assert left.json()["state"] == state
    assert (await opened(service))["sandbox"]["state"] == "queued"


async def test_the_list_says_who_is_there(service: Service) -> None:
    one = await joined(service, "one", os="debian")
    episode = await opened(service)
    await one.beat(on=episode["episode"], through=17, gaps=["cdp: starting"])
    body = (await service.get("/v1/sandboxes")).json()
    (found,) = body["sandboxes"]
    assert (found["name"], found["state"], found["episode"]) == ("one", "busy", episode["episode"])
    assert (found["through"], found["gaps"], found["agentd"]) == (17, ["cdp: starting"], "0.1.0")
    assert 'milestoned_sandboxes{state="busy"} 1.0' in (await service.get("/metrics")).text


async def test_a_remote_trainer_s_steps_reach_the_journal_of_the_sandbox(service: Service) -> None:
    one = await joined(service)
    episode = (await opened(service))["episode"]
    lease = (await one.beat())["lease"]
    daemon = Daemon(service, lease["episode"], lease["token"], {0: [went("/cart")]})
    runs = asyncio.create_task(daemon.run())
    begun = await service.post(f"/v1/episodes/{episode}/steps", {"action": "open the cart"})
    assert (begun.status_code, begun.json()["step"]) == (200, 0)
    assert (await service.post(f"/v1/episodes/{episode}/steps/0:end")).status_code == 200
    assert (await service.reward(episode, 0, wait_ms=10_000)).json()["status"] == "sealed"
    assert (await service.post(f"/v1/episodes/{episode}:close")).json()["status"] == "closed"
    await runs
    assert (await one.beat(done=episode))["lease"] is None


async def test_a_silent_daemon_is_not_ready_long_before_it_is_lost(service: Service) -> None:
    one = await joined(service)
    episode = await opened(service)
    id, token = episode["episode"], episode["token"]
    assert (await one.beat())["lease"]["episode"] == id
    started: Any = ("gap.began", {"source": "cdp", "reason": "starting"})
    await service.tell(
        id,
        token,
        ("episode.opened", {"task": TASK["id"], "digest": "d"}),
        started,
        ("gap.ended", {"source": "cdp"}),
    )
    watch = service.app.state.parts.watch
    await watch.stop()

    async def ready(wait_ms: int = 0) -> Any:
        return (await service.get(f"/v1/episodes/{id}/ready", params={"wait_ms": wait_ms})).json()

    for n in range(10):
        await watch.look(n * LOOK_S)
        assert (await ready())["ready"]
    await watch.look(10 * LOOK_S)
    told = await ready(10)
    assert (told["ready"], told["waiting"]) == (
        False,
        {"sandbox": "its sandbox's daemon was not heard of for 50 s"},
    )
    assert (await held(service, episode))["state"] == "held"
    await one.beat(on=id)
    await watch.look(11 * LOOK_S)
    assert (await ready())["ready"]


async def test_a_busy_sandbox_beats_more_seldom_than_an_idle_one(service: Service) -> None:
    """Of the 60 s after which it is lost: one in 10 s while it waits, one in 45 s at work, where
    its daemon calls for other things."""
    one = await joined(service)
    idle = await one.beat()
    episode = await opened(service)
    busy = await one.beat(on=episode["episode"])
    assert [found["beat_s"] for found in (idle, busy)] == [10.0, 45.0]


@pytest.mark.parametrize("call", ["a question for commands", "a segment", "nothing"])
async def test_a_busy_sandbox_is_there_while_its_daemon_calls(service: Service, call: str) -> None:
    one = await joined(service)
    episode = await opened(service)
    id, token = episode["episode"], episode["token"]
    assert (await one.beat())["lease"]["episode"] == id
    await one.beat(on=id)
    watch = eyes(service)
    segments = frames(events(id, OPENED), [1])
    for n in range(int(LOST_S / LOOK_S) + 1):
        await watch.look(n * LOOK_S)
        if n == 4 and call == "a segment":
            assert (await service.append(id, segments.pop(0), token)).status_code == 200
        elif n == 4 and call == "a question for commands":
            await service.get(f"/v1/episodes/{id}/commands", token)
    state = (await held(service, episode))["state"]
    assert state == ("held" if call != "nothing" else "lost")


async def test_a_beat_of_a_sandbox_that_another_daemon_has_is_refused_and_counts_nothing(
    service: Service,
) -> None:
    """Each by what it gets wrong, with the sandbox's count as it was."""
    one = await joined(service)
    before = (await service.get("/v1/sandboxes")).json()["sandboxes"][0]["beats"]
    path = f"/v1/sandboxes/{one.id}:beat"
    wrong = await service.post(path, {"instance": "another daemon's"}, one.token)
    assert (wrong.status_code, "instance" in wrong.json()["detail"]) == (403, True)
    unknown = await service.post("/v1/sandboxes/sb_0:beat", {"instance": one.instance}, one.token)
    assert unknown.status_code == 404
    assert (await service.get("/v1/sandboxes")).json()["sandboxes"][0]["beats"] == before
