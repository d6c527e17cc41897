"""Null is not zero in the client's adapters: each over the recording of `tests/api/unknown.py`, of
which four steps of five can't be known, off a real server.

The table is closed: an adapter that stands in none of its lines fails `test_every_adapter_is_held`.
Three trainers are not installed beside these tests (Inspect, NeMo Gym, verl's manager): their
adapters run here on the few classes that they inherit from, and with the trainer itself in
tests/trainers/test_heavy.py.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from milestoned_client import Retry, RewardClient
from milestoned_client.adapters import openrlhf, scoring, slime, trl, verifiers, verl
from milestoned_client.adapters.graded import grade_rollout
from milestoned_client.adapters.harbor_rewards import read_options, reward_dictionary
from milestoned_client.adapters.paid import Paid, payout_of
from milestoned_client.adapters.scoring import UnknownRewardError, score, score_now
from milestoned_client.adapters.settings import settings
from milestoned_client.models import Closing, Sample
from pydantic import BaseModel

from tests.api.processes import ROOT
from tests.api.service import ADMIN, Store
from tests.api.unknown import MASKED, PAID, STEPS, TASK, Way, on_a_socket, recorded
from tests.trainers.support import run_harness

FALLBACK = -0.5


class Server:
    """The service as an adapter knows it, and labels of each step and of the whole episode."""

    def __init__(self, way: Way, url: str) -> None:
        self.url, self.admin, self.episode = url, ADMIN, way.id
        self.labels = [
            *({"episode_id": way.id, "step": step} for step in range(5)),
            {"episode_id": way.id},
        ]


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    """A real server that has the recording, told to the adapters by the environment."""
    async with recorded(Store(tmp_path)) as way, on_a_socket(way.service.app) as url:
        for name, value in (("URL", url), ("TOKEN", ADMIN), ("WAIT_S", "0")):
            monkeypatch.setenv(f"MILESTONED_{name}", value)
        yield Server(way, url)
        await scoring.close()


async def of_each(server: Server, ask: Callable[[Any], Awaitable[Any]]) -> list[Any]:
    """What ``ask`` gives for each label; None where it raises that nobody knows."""
    found: list[Any] = []
    for label in server.labels:
        try:
            found.append(await ask(label))
        except UnknownRewardError:
            found.append(None)
    return found


async def by_trl(server: Server) -> list[Any]:
    return await trl.reward_func(["?"] * 6, ["x"] * 6, label=server.labels)


async def by_verl(server: Server) -> list[Any]:
    async def ask(label: Any) -> Any:
        told = await verl.compute_score("shop", "x", None, label)
        return masked(told["score"], told)

    return await of_each(server, ask)


async def by_openrlhf(server: Server) -> list[Any]:
    async def ask(label: Any) -> Any:
        told = await asyncio.to_thread(openrlhf.reward_func, ["x"], [""], [label])
        return masked(
            told["rewards"][0], {name: values[0] for name, values in told["extra_logs"].items()}
        )

    return await of_each(server, ask)


async def by_slime(server: Server) -> list[Any]:
    async def ask(label: Any) -> Any:
        sample = SimpleNamespace(response="x", label=label, metadata={})
        told = await slime.custom_rm(SimpleNamespace(reward_key="reward"), sample)
        assert await slime.custom_rm(SimpleNamespace(reward_key=None), sample) == told["reward"]
        return masked(told["reward"], told)

    return await of_each(server, ask)


async def by_verifiers(server: Server) -> list[Any]:
    async def ask(label: Any) -> Any:
        logs: dict[str, float] = {}
        trace = SimpleNamespace(info=label, last_reply="x", record_metric=logs.__setitem__)
        value = await verifiers.reward(SimpleNamespace(id="t"), trace)
        return masked(value, {name.removeprefix("milestoned_"): one for name, one in logs.items()})

    return await of_each(server, ask)


async def by_harbor(server: Server) -> list[Any]:
    """The dictionary of a trial; a fall-back is none of its settings."""
    asked, over = read_options({}).settings, Closing(server.episode, "closed")

    async def ask(label: Any) -> Any:
        (found,) = await score([Sample(label=label)], asked)
        return reward_dictionary(found, over, asked)["reward"]

    return await of_each(server, ask)


async def by_graded(server: Server) -> list[Any]:
    """What HUD, Agent-Lightning and eval-protocol are given; a fall-back is the adapters' own."""
    asked = settings()

    async def ask(label: Any) -> Any:
        graded = await grade_rollout(label, "x", asked)
        assert graded.info()["mask"] == (graded.paid.reward is None)
        return graded.paid.reward

    return await of_each(server, ask)


def masked(value: float, logs: dict[str, Any]) -> float | None:
    """The reward, None where the mask beside it says that it is none (a fall-back). No other log
    takes null for 0."""
    assert logs["success_known"] == 0.0, (
        "the episode is not over: 0.0 beside `success` is no failure"
    )
    assert logs["unknown"] == float(value == FALLBACK)
    return None if logs["unknown"] else value


async def by_inspect(server: Server, modules: Callable[..., None]) -> list[Any]:
    class Score(SimpleNamespace):
        @classmethod
        def unscored(cls, **about: Any) -> Score:
            return cls(value=None, **about)

    words = dict.fromkeys(("Scorer", "Target"), object)
    metrics = {
        "mean": lambda: None,
        "stderr": lambda: None,
        "scorer": lambda metrics: lambda of: of,
    }
    modules("inspect_ai", scorer={"Score": Score, **words, **metrics}, solver={"TaskState": object})
    from milestoned_client.adapters.inspect_ai import milestoned

    found = []
    for label in server.labels:
        state = SimpleNamespace(
            store={}, metadata=label, sample_id="1", output=SimpleNamespace(completion="x")
        )
        told = await milestoned()(state, None)
        assert told.metadata["unknown"] == float(told.value is None)
        found.append(told.value)
    return found


async def by_nemo_gym(server: Server, modules: Callable[..., None]) -> list[Any]:
    class SimpleResourcesServer(BaseModel):
        config: Any

        def setup_webserver(self) -> FastAPI:
            app = FastAPI()
            for path, answer in (("/verify", self.verify), ("/seed_session", self.seed_session)):  # type: ignore[attr-defined]
                app.post(path)(answer)
            return app

    words = {
        "BaseResourcesServerConfig": BaseModel,
        "ReverifyMode": SimpleNamespace(STATELESS="stateless"),
    }
    modules(
        "nemo_gym", base_resources_server={**words, "SimpleResourcesServer": SimpleResourcesServer}
    )
    from milestoned_client.adapters.nemo_gym import (
        RewardResourcesServer,
        RewardResourcesServerConfig,
    )

    config = RewardResourcesServerConfig.model_construct(milestoned={"wait_s": 0.0})
    made = RewardResourcesServer.model_construct(config=config)
    made.model_post_init(None)
    found = []
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(made.setup_webserver()), base_url="http://n"
    ) as http:
        for label in server.labels:
            row = {"response": {"output": []}, "label": label}
            told = (await http.post("/verify", json=row)).json()
            found.append(None if told["mask_sample"] else told["reward"])
    if made._http is not None:
        await made._http.aclose()
    return found


async def by_verl_manager(server: Server, modules: Callable[..., None]) -> list[Any]:
    class RewardManagerBase:
        def __init__(self, config: Any, tokenizer: Any, compute_score: Any) -> None:
            self.config, self.tokenizer = config, tokenizer

    base = {"RewardManagerBase": RewardManagerBase}
    modules("verl.experimental.reward_loop.reward_manager", base=base)
    from milestoned_client.adapters.verl_manager import EpisodeRewardManager

    manager = EpisodeRewardManager(SimpleNamespace(reward={}), None, None)

    async def ask(label: Any) -> Any:
        told = await manager.run_single([SimpleNamespace(non_tensor_batch={"extra_info": label})])
        return masked(told["reward_score"], told["reward_extra_info"])

    return await of_each(server, ask)


HERE: dict[str, Callable[[Server], Awaitable[list[Any]]]] = {
    "trl": by_trl,
    "verl": by_verl,
    "openrlhf": by_openrlhf,
    "slime": by_slime,
    "verifiers": by_verifiers,
    "harbor_rewards": by_harbor,
    "graded": by_graded,
}
INHERITING: dict[str, Callable[[Server, Callable[..., None]], Awaitable[list[Any]]]] = {
    "inspect_ai": by_inspect,
    "nemo_gym": by_nemo_gym,
    "verl_manager": by_verl_manager,
}
INSTALLED = {"gymnasium", "openenv", "openrlhf_agent", "skyrl"}
"""With the trainers' own packages, in `tests/trainers/harness/unknown.py`."""
TENSORS = {"skyrl_generator", "trl_trainer", "verl_loop"}
"""With the trainers' own packages, down to their tensors, in `tests/trainers/test_tensors.py`."""
ELSEWHERE = {"harbor", "hud", "eval_protocol", "agent_lightning"}
"""With the frameworks' own packages: in `tests/trainers/test_harbor_trials.py` and
`tests/trainers/test_heavy.py`."""
SHARED = {
    *("__init__", "carried", "paid", "paid_turns", "rollout", "scoring", "settings"),
    "turn_rewards",
}


def test_every_adapter_is_held() -> None:
    there = {path.stem for path in (ROOT / "client/milestoned_client/adapters").glob("*.py")}
    assert there == HERE.keys() | INHERITING.keys() | INSTALLED | TENSORS | ELSEWHERE | SHARED


@pytest.mark.parametrize("name", HERE)
async def test_an_adapter_gives_no_number_for_what_is_not_known(
    server: Server, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither for a step nor for the episode; where a fall-back is configured its mask stands
    beside it."""
    assert await HERE[name](server) == [*PAID, None]
    monkeypatch.setenv("MILESTONED_FALLBACK", str(FALLBACK))
    paid = (
        [*PAID[:1], *[FALLBACK] * 5] if name == "trl" else [*PAID, None]
    )  # TRL's own list is all that it takes
    assert await HERE[name](server) == paid


@pytest.mark.parametrize("name", INHERITING)
async def test_an_adapter_on_its_trainer_s_classes_gives_no_number_for_what_is_not_known(
    server: Server, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def modules(package: str, **inner: dict[str, Any]) -> None:
        parts = package.split(".")
        for depth in range(len(parts)):
            monkeypatch.setitem(sys.modules, ".".join(parts[: depth + 1]), ModuleType(parts[depth]))
        for module, words in inner.items():
            made = ModuleType(module)
            made.__dict__.update(words)
            monkeypatch.setitem(sys.modules, f"{package}.{module}", made)

    monkeypatch.delitem(sys.modules, f"milestoned_client.adapters.{name}", raising=False)
    assert await INHERITING[name](server, modules) == [*PAID, None]
    sys.modules.pop(f"milestoned_client.adapters.{name}", None)


async def test_a_service_that_is_gone_is_no_reward_of_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of no adapter, for all ask by these functions; the client gives up sooner than it usually
    does."""
    impatient = partial(RewardClient, retry=Retry(attempts=3, first_s=0.01))
    monkeypatch.setattr(scoring, "RewardClient", impatient)
    asked = settings(url="http://127.0.0.1:9", token="mt_x", wait_s=0.0)
    (found,) = await asyncio.to_thread(score_now, [Sample(label="t")], asked)
    assert payout_of(found).reward is None
    assert payout_of(found).logs() == {**dict.fromkeys(Paid(None).logs(), 0.0), "unknown": 1.0}


@pytest.mark.slow  # half a minute: each trainer's imports; what they share is held above
async def test_trainers_that_are_installed_get_no_number_for_what_is_not_known(
    server: Server,
) -> None:
    """OpenEnv's rubric, OpenRLHF's agent, SkyRL's environment and Gymnasium's wrapper: the
    recording, and rollouts of their own in which the same is seen."""
    effects = dict(enumerate(STEPS))
    found = await run_harness("unknown", server, server.episode, TASK["id"], effects=effects)  # type: ignore[arg-type]
    wanted = [0.25, *["UnknownRewardError"] * 4]
    for name in ("openenv", "skyrl_once", "openrlhf_once"):
        assert found[name] == [*wanted, "UnknownRewardError"], name
    for name in ("by_gymnasium", "by_skyrl", "by_openrlhf"):
        assert found[name] == wanted, name
    assert found["by_gymnasium_paid"] == [
        [value if value is not None else FALLBACK, mask]
        for value, mask in zip(PAID, MASKED, strict=True)
    ]
