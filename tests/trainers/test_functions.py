"""The functions and classes that need no trainer to be called: TRL's, verl's, slime's; and the
traps of them all."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from milestoned_client import PeerUnreachableError, Score, UnauthorizedError
from milestoned_client.adapters import openrlhf, scoring, slime, trl, verl
from milestoned_client.adapters.paid import Paid, payout_of
from milestoned_client.adapters.scoring import UnknownRewardError, number, worth
from milestoned_client.adapters.settings import AdapterSettings
from milestoned_client.errors import InvalidRequestError, NotFoundError

from api.core.settings import Limits
from api.http.adapters import openenv, shared
from tests.api.daemon import Daemon
from tests.api.processes import Process
from tests.trainers.support import EFFECTS, operator

QUIZ = {"task_id": "quiz/answer"}
HERE = AdapterSettings("http://service.test", "mt_x")
PAYING = AdapterSettings("http://service.test", "mt_x", fallback=-0.25)


@pytest.fixture(autouse=True)
async def told(process: Process, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """The adapters know the service from the environment, as a newcomer tells them."""
    monkeypatch.setenv("MILESTONED_URL", process.url.replace("://", f"://any:{process.admin}@"))
    yield
    await scoring.close()


async def test_trl_keeps_order_and_length_and_leaves_out_what_nobody_knows(lost: str) -> None:
    logged: list[tuple[str, float]] = []
    rewards = await trl.reward_func(
        prompts=["What?"] * 4,
        completions=[
            "42",
            [{"role": "assistant", "content": "41"}],
            "x",
            [{"role": "assistant", "content": "42"}],
        ],
        completion_ids=[[1]] * 4,
        label=[QUIZ, "quiz/answer", {"episode_id": lost}, '{"task_id": "quiz/answer"}'],
        trainer_state=object(),
        log_metric=lambda name, value: logged.append((name, value)),
    )
    assert rewards == [1.0, 0.0, None, 1.0]
    assert logged == [("milestoned/unknown", 0.25)]
    assert await trl.reward_func(prompts=[], completions=[]) == []


async def test_trl_pays_a_configured_fall_back(lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILESTONED_FALLBACK", "-0.25")
    assert await trl.reward_func(["What?"], ["x"], episode_id=[lost]) == [-0.25]


@pytest.mark.parametrize(("floor", "wanted"), [("0.5", 0.1), ("0.75", None)])
async def test_what_is_known_of_a_rollout_reaches_a_trainer_with_its_share(
    half: str, floor: str, wanted: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under `fold=known` a rollout with unknown steps stays useful, down to the floor."""
    assert await trl.reward_func(["What?"], ["x"], episode_id=[half]) == [None], (
        "by default one null step is all of it"
    )
    monkeypatch.setenv("MILESTONED_FOLD", "known")
    monkeypatch.setenv("MILESTONED_MIN_KNOWN", floor)
    (paid,) = await trl.reward_func(["What?"], ["x"], episode_id=[half])
    assert paid == (None if wanted is None else pytest.approx(wanted))
    sample = SimpleNamespace(response="x", label=half, metadata={})
    if wanted is None:
        with pytest.raises(UnknownRewardError, match="2 of 4 steps are known, wanted a share of"):
            await verl.compute_score("shop", "x", None, {"episode_id": half})
        return
    found = await verl.compute_score("shop", "x", None, {"episode_id": half})
    assert (found["score"], found["known_share"], found["unknown"]) == (
        pytest.approx(wanted),
        0.5,
        0.0,
    )
    assert await slime.custom_rm(SimpleNamespace(reward_key=None), sample) == pytest.approx(wanted)
    again = await asyncio.to_thread(openrlhf.reward_func, ["x"], [""], [half])
    assert (again["rewards"], again["extra_logs"]["known_share"]) == (
        [pytest.approx(wanted)],
        [0.5],
    )


MASKED: list[Any] = [[]]


class OrsCalls:
    """What TRL's environment keeps of the calls of a rollout."""

    def __init__(self, *calls: list[float | None] | None, finished: bool = True) -> None:
        self.finished = finished
        self.metadata = [_call_metadata(call) for call in calls]
        self.answered: list[str] = []

    def _call_ors_tool(self, tool_name: str, tool_input: dict[str, Any]) -> str:
        assert tool_name == "answer"
        self.answered.append(tool_input["text"])
        self.metadata.append(_call_metadata([0.25]))
        return ""


def _call_metadata(rewards: list[float | None] | None) -> dict[str, Any] | None:
    """None: the call failed; `MASKED`: it is null for what the episode failed for."""
    if rewards is None:
        return None
    if rewards == MASKED:
        return {"status": "masked", "rewards": [{"reward": 0.0}]}
    return {"status": "sealed", "rewards": [{"reward": one} for one in rewards]}


@pytest.mark.parametrize(
    ("calls", "finished", "reward"),
    [
        ([[], [0.1], [0.4]], True, 0.5),
        ([[], [0.1]], False, 0.35),
        ([[0.0]], True, 0.0),
        ([[0.1], [None]], True, None),
        ([[0.1], [0.2, None]], True, None),
        ([[0.1], None], True, None),
        ([None], False, None),
        ([[0.1], MASKED], True, None),
        ([MASKED, [0.1]], True, None),
        ([[]], True, None),
        ([], True, None),
    ],
    ids=str,
)
def test_trl_pays_all_calls_of_a_rollout_or_leaves_it_out(
    calls: list[Any], finished: bool, reward: float | None
) -> None:
    environment = OrsCalls(*calls, finished=finished)
    said = [[{"role": "assistant", "content": "Bought.<|im_end|>"}]]
    found = trl.ors_reward_func([environment], said, task_index=[0])
    assert found == [None if reward is None else pytest.approx(reward)]
    assert environment.answered == ([] if finished else ["Bought."])


async def test_trl_takes_any_number_of_completions() -> None:
    """More than one request holds, and more letters than one body: order and length are kept."""
    texts = ["42" if number % 3 else "41" for number in range(512)]
    texts += ["6 " * 150_000, "七" * 120_000, "4" * 200_000, "42"]
    rewards = await trl.reward_func(["What?"] * 516, texts, task_id=["quiz/answer"] * 516)
    assert rewards == [*(1.0 if number % 3 else 0.0 for number in range(512)), 0.0, 0.0, 0.0, 1.0]
    assert await trl.reward_func(
        ["What?"] * 2, ["七" * 400_000, "42"], task_id=["quiz/answer"] * 2
    ) == [None, 1.0]


async def test_trl_environment(process: Process) -> None:
    """Public methods are tools, so there are none but these; each use is a step; all of it is the
    reward."""

    async with operator(process) as service:
        loop, daemons = asyncio.get_running_loop(), list[Any]()

        class Shop(trl.RewardEnvironment):
            def click(self, name: str) -> str:
                """Click on what has this name."""
                with self._acting({"click": name}):
                    return "clicked"

            def _opened(self, episode: Any, row: Any) -> str:
                daemon = Daemon(service, episode.id, episode.token, EFFECTS)
                daemons.append(asyncio.run_coroutine_threadsafe(daemon.run(), loop))
                return "The shop is open."

        def rollouts() -> list[Any]:
            env = Shop()
            said: list[Any] = []
            for _ in range(2):  # TRL uses an instance again and again
                said.append(env.reset(prompt=[], label={"task_id": "shop/cart"}))
                said += [env.click("cart"), env.click("Buy"), env.get_reward()]
            return said

        first, second = (found := await asyncio.to_thread(rollouts))[:4], found[4:]
        for daemon in daemons:
            await asyncio.wrap_future(daemon)
    assert first[:3] == ["The shop is open.", "clicked", "clicked"]
    assert first == second
    assert first[3] == pytest.approx(0.5)
    public = {name for name in vars(trl.RewardEnvironment) if not name.startswith("_")}
    assert public == {"reset", "get_reward"}


@pytest.mark.slow
async def test_verl_has_512_in_flight_over_few_sockets(lost: str) -> None:
    samples = [
        verl.compute_score(
            "quiz", "42" if n % 3 else "41", "quiz/answer", {"index": n, "num_turns": None}
        )
        for n in range(512)
    ]
    before = sockets()  # other tests' of this process
    many = asyncio.gather(*samples)
    most = 0
    while not many.done():
        await asyncio.sleep(0)
        most = max(most, sockets())
    found = await many
    assert [one["score"] for one in found] == [1.0 if n % 3 else 0.0 for n in range(512)]
    assert most - before <= scoring.IN_FLIGHT
    found.append(
        await verl.compute_score("quiz", "x", lost, fallback=-0.25, reward_router_address="a:1")
    )
    assert (found[-1]["score"], found[-1]["unknown"]) == (-0.25, 1.0)
    assert len({tuple(one) for one in found}) == 1, "keys that change are a KeyError in verl"
    assert all(type(part) is float for one in found for part in one.values())


def sockets() -> int:
    """How many this process has open."""
    held = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            held += os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
        except OSError:  # closed since
            continue
    return held


async def test_verl_raises_where_nobody_knows(lost: str) -> None:
    with pytest.raises(UnknownRewardError, match="browser gone"):
        await verl.compute_score("shop", "x", None, {"episode_id": lost})


async def test_slime_takes_a_sample_and_a_group(lost: str) -> None:
    def sample(text: str, label: Any = "quiz/answer", metadata: Any = None) -> Any:
        return SimpleNamespace(prompt="What?", response=text, label=label, metadata=metadata or {})

    bare, keyed = SimpleNamespace(reward_key=None), SimpleNamespace(reward_key="reward")
    assert await slime.custom_rm(bare, sample("42<|im_end|>")) == 1.0
    assert await slime.custom_rm(bare, [sample("42"), sample("41")]) == [1.0, 0.0]
    assert (await slime.custom_rm(keyed, sample("42")))["reward"] == 1.0
    with pytest.raises(UnknownRewardError, match="browser gone"):
        await slime.custom_rm(bare, sample("42", metadata={"episode_id": lost}))


async def test_openrlhf_function_refuses_lists_of_unlike_length() -> None:
    with pytest.raises(ValueError, match="argument 2 is longer"):
        await asyncio.to_thread(openrlhf.reward_func, ["a"], ["a", "b"], ["quiz/answer"])


async def test_ten_retries_of_a_sample_are_worth_the_same(process: Process) -> None:
    found = [await verl.compute_score("quiz", "42", "quiz/answer") for _ in range(10)]
    assert found == [found[0]] * 10


@pytest.mark.parametrize(
    ("label", "error"),
    [
        (None, InvalidRequestError),
        ({"index": 7}, InvalidRequestError),
        ({"episode_id": "ep_nobody"}, NotFoundError),
        ("quiz/nothing", NotFoundError),
    ],
)
async def test_a_mistake_in_the_data_set_is_raised_and_no_fall_back_hides_it(
    label: Any, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MILESTONED_FALLBACK", "0.5")
    with pytest.raises(error):
        await trl.reward_func(["What?"], ["42"], label=[label])


async def test_a_wrong_token_is_raised(process: Process) -> None:
    with pytest.raises(UnauthorizedError):
        await verl.compute_score("quiz", "42", "quiz/answer", url=process.url, token="mt_wrong")


def test_an_outage_is_no_reward_of_0() -> None:
    gone = PeerUnreachableError("no answer")
    assert worth(gone, HERE) is None
    assert worth(gone, PAYING) == -0.25
    assert payout_of(gone).logs() == {**dict.fromkeys(Paid(None).logs(), 0.0), "unknown": 1.0}
    with pytest.raises(UnknownRewardError, match="no answer"):
        number(gone, HERE)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_finite_number_never_gets_through(value: float) -> None:
    """One NaN makes every advantage of a batch NaN."""
    found = Score(
        reward=value,
        reward_components={},
        step_rewards=(value,),
        known_share=1.0,
        milestones=0,
        success=None,
        done=True,
        episode="ep_a",
        step=None,
        task="t",
        digest="d",
        mask_sample=False,
    )
    with pytest.raises(UnknownRewardError, match="no reward"):
        number(found, PAYING)


def test_every_wait_ends_before_a_trainer_loses_patience() -> None:
    """slime's share of 120 s is 15 for a sample; OpenEnv and verifiers cut at 60."""
    assert shared.WAIT_MS < 15_000
    assert openenv.WAIT_MS < 60_000
    assert Limits().wait_ms < 60_000
    assert HERE.wait_s < 15
