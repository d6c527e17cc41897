"""Samples of trainers: which episode or task they belong to, what they were worth, what happens
when nobody knows."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.core.errors import InvalidError
from api.scoring.fold import RewardFolding, fold, known_share
from api.scoring.reference import Reference, reference_of
from tests.api.service import ADMIN, TASK, Service
from tests.support.logs import clicked, episode, went

ANSWER: dict[str, Any] = {
    "id": "quiz/answer",
    "version": "1",
    "instruction": "What is six times seven?",
    "weights": {"answer": 0.8, "goal": 0.2},
    "milestones": [
        {"id": "said", "when": {"answer_matches": {"text": {"number": 42}}}},
        {"id": "won", "when": {"goal": {"requires": ["said"]}}},
    ],
}
SAID = episode([went("/cart")], [clicked("Buy")])
DEAD = ("gap.began", {"source": "cdp", "reason": "browser gone"})


@pytest.mark.parametrize(
    ("carried", "wanted"),
    [
        ("ep_abc", Reference(episode="ep_abc")),
        (" shop/cart ", Reference(task="shop/cart")),
        ({"episode_id": "ep_abc", "step": 3}, Reference("ep_abc", 3)),
        ('{"episode_id": "ep_abc", "step": "3"}', Reference("ep_abc", 3)),
        ({"task_id": "shop/cart", "version": "2"}, Reference(task="shop/cart", version="2")),
        ({"extra_info": {"index": 7, "episode": "ep_abc"}}, Reference(episode="ep_abc")),
        ({"verifier_metadata": {"task_id": "shop/cart"}}, Reference(task="shop/cart")),
        ({"episode_id": {"rollout_id": "ep_abc", "attempt": 1}}, Reference(episode="ep_abc")),
        ({"task_id": {"taskset": "shop", "task_id": "shop/cart"}}, Reference(task="shop/cart")),
        ({"ground_truth": '{"task_id": "shop/cart"}'}, Reference(task="shop/cart")),
    ],
)
def test_a_reference_is_found_wherever_a_trainer_can_carry_it(
    carried: Any, wanted: Reference
) -> None:
    assert reference_of(None, carried) == wanted


@pytest.mark.parametrize(
    "carried",
    [None, "", 7, [], {}, {"label": {"label": {"label": {"label": {"label": "x"}}}}}, "{"],
)
def test_what_names_nothing_is_refused_with_what_was_wanted(carried: Any) -> None:
    with pytest.raises(InvalidError, match="wanted an episode id, a task id"):
        reference_of(carried)


@pytest.mark.parametrize("step", [-1, "x", 1.5, True, 2**63])
def test_a_step_that_is_none_is_refused(step: Any) -> None:
    with pytest.raises(InvalidError, match="step: got"):
        reference_of({"episode_id": "ep_a", "step": step})


@pytest.mark.parametrize(
    ("rewards", "how", "gamma", "wanted"),
    [
        ([0.1, 0.2], "sum", 0.5, 0.3),
        ([0.1, 0.2], "last", 0.5, 0.2),
        ([0.1, 0.2, 0.4], "discounted", 0.5, 0.3),
        ([0.1, None], "sum", 1.0, None),
        ([None, 0.2], "last", 1.0, 0.2),
        ([], "sum", 1.0, None),
    ],
)
def test_folds(rewards: list[float | None], how: Any, gamma: float, wanted: float | None) -> None:
    found = fold(rewards, RewardFolding(how, gamma))
    assert found is None if wanted is None else found == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("rewards", "penalties", "min_known", "wanted"),
    [
        pytest.param([0.1, 0.2], [], 0.5, 0.3, id="all is known"),
        pytest.param([0.1, None], [], 0.5, 0.1, id="as much as the floor is enough"),
        pytest.param([0.4, None, None], [], 0.5, None, id="below the floor"),
        pytest.param([0.4, None, None], [], 0.3, 0.4, id="another floor"),
        pytest.param([None, None], [], 0.0, None, id="nothing known is no 0, whatever the floor"),
        pytest.param([], [], 0.0, None, id="no step"),
        pytest.param([0.0, None], [], 0.5, 0.0, id="a known 0 is one"),
        pytest.param([0.4, -0.5, None], [], 0.5, -0.1, id="a penalty"),
        pytest.param(
            [0.4, -0.5, None, None, None], [], 0.5, -0.1, id="no floor where a penalty is known"
        ),
        pytest.param(
            [0.4, None], [-0.5], 0.5, -0.1, id="a penalty that was seen in a step that is not known"
        ),
        pytest.param([None, None], [-0.5], 0.5, -0.5, id="and nothing else"),
    ],
)
def test_what_is_known_is_folded_down_to_a_floor(
    rewards: list[float | None], penalties: list[float], min_known: float, wanted: float | None
) -> None:
    found = fold(rewards, RewardFolding("known", min_known=min_known), penalties)
    assert (found is None) if wanted is None else found == pytest.approx(wanted)


_WORTHS = st.integers(-10, 10).map(lambda tenths: tenths / 10)


@given(st.lists(_WORTHS, min_size=1, max_size=12), st.data(), st.floats(0, 1))
def test_a_rollout_whose_penalties_are_known_gains_nothing_by_nulls(
    rewards: list[float], data: st.DataObject, min_known: float
) -> None:
    """Whatever is blinded, known penalties (of a blinded step those that were seen in it) are
    paid."""
    hidden = data.draw(st.sets(st.sampled_from(range(len(rewards)))))
    seen = [reward for n, reward in enumerate(rewards) if n in hidden and reward < 0]
    blinded = [None if n in hidden else reward for n, reward in enumerate(rewards)]
    found = fold(blinded, RewardFolding("known", min_known=min_known), seen)
    whole = fold(rewards, RewardFolding("known"))
    assert whole is not None
    if any(reward < 0 for reward in rewards):
        assert found is not None
    assert found is None or found <= whole


@pytest.mark.parametrize(
    ("rewards", "wanted"), [([0.0, None], 0.5), ([None], 0.0), ([0.1], 1.0), ([], None)]
)
def test_the_share_that_is_known(rewards: list[float | None], wanted: float | None) -> None:
    assert known_share(rewards) == wanted


async def test_samples_of_all_sorts_keep_their_order_and_their_problems(service: Service) -> None:
    id, token = await service.open()
    await service.tell(id, token, *SAID)
    open_id, _ = await service.open()
    await service.post("/v1/tasks", ANSWER)
    samples = [
        {"episode": id},
        {"episode": id, "step": 0},
        {"label": {"task_id": "quiz/answer"}, "answer": "42"},
        {"task": "quiz/answer", "answer": "41"},
        {"task": "shop/cart", "answer": "SUCCESS"},
        {"episode": open_id},
        {"episode": "ep_nobody"},
        {"label": 7},
        {"task": "quiz/answer"},
    ]
    answer = await service.post("/v1/score", {"samples": samples})
    assert answer.status_code == 200, answer.text
    whole, step, right, wrong, claimed, settling, nobody, nothing, silent = answer.json()["results"]
    assert whole["reward"] == pytest.approx(sum(whole["step_rewards"]))
    assert (whole["done"], whole["success"], whole["mask_sample"]) == (True, True, False)
    assert (step["reward"], step["step"]) == (whole["step_rewards"][0], 0)
    assert (right["reward"], right["success"], wrong["reward"], wrong["success"]) == (
        1.0,
        True,
        0.0,
        False,
    )
    assert (claimed["reward"], claimed["mask_sample"], claimed["failure_kind"]) == (
        None,
        True,
        "milestoned:unobserved",
    )
    assert "nobody watched" in claimed["failure_reason"]
    assert (settling["reward"], settling["failure_kind"]) == (None, "milestoned:settling")
    assert nobody["error"]["status"] == 404
    assert nothing["error"]["detail"].startswith("label: got 7")
    assert silent["error"]["detail"].startswith("answer: got none")
    scored = (whole, step, right, wrong, claimed, settling)
    assert len({tuple(one) for one in scored}) == 1, "the same keys for every sample"


async def test_a_component_of_which_a_part_is_not_known_is_not_known(service: Service) -> None:
    id, token = await service.open()
    await service.tell(id, token, *episode([went("/cart")], [DEAD], [clicked("Buy")]))
    found = (await service.post("/v1/score", {"samples": [{"episode": id}]})).json()["results"][0]
    assert (found["reward"], set(found["reward_components"].values())) == (None, {None})


BACK = ("gap.ended", {"source": "cdp"})
FINED: dict[str, Any] = {
    **TASK,
    "id": "shop/fined",
    "milestones": [
        *TASK["milestones"],
        {
            "id": "away",
            "when": {"element_clicked": {"role": "button", "name": "Leave"}},
            "penalty": 0.25,
        },
        {
            "id": "unhelped",
            "when": {
                "all_of": {
                    "of": [
                        {"url_reached": {"url": "/away"}},
                        {
                            "none_of": {
                                "of": [{"element_clicked": {"role": "button", "name": "Help"}}]
                            }
                        },
                    ]
                }
            },
            "penalty": 0.125,
        },
    ],
}
PARTLY = {
    "half": episode([went("/cart")], [DEAD]),
    "a third": episode([went("/cart")], [DEAD], [BACK, DEAD]),
    "nothing": episode([DEAD], [clicked("Buy")]),
    "all": SAID,
}
"""By what is known of the episode; the close is a step where something is decided by it."""


@pytest.mark.parametrize("how", list(PARTLY))
async def test_what_is_known_of_an_episode_is_paid_and_its_share_stands_beside_it(
    service: Service, how: str
) -> None:
    id, token = await service.open()
    await service.tell(id, token, *PARTLY[how])

    async def scored(**more: Any) -> dict[str, Any]:
        answer = await service.post("/v1/score", {"samples": [{"episode": id}], **more})
        return dict(answer.json()["results"][0])

    plain, known, anyway = (
        await scored(),
        await scored(fold="known"),
        await scored(fold="known", min_known=0.0),
    )
    steps = plain["step_rewards"]
    share = sum(one is not None for one in steps) / len(steps)
    assert (plain["known_share"], known["known_share"]) == (share, share)
    total = sum(one or 0.0 for one in steps)
    assert known["reward"] == (pytest.approx(total) if share >= 0.5 else None)
    assert anyway["reward"] == (pytest.approx(total) if share > 0 else None)
    assert (plain["reward"] is None) is (share < 1)
    for one in (plain, known, anyway):
        assert one["mask_sample"] is (one["reward"] is None)
        parts = one["reward_components"].values()
        assert (
            set(parts) == {None}
            if one["reward"] is None
            else sum(parts) == pytest.approx(one["reward"])
        )
    if known["reward"] is None:
        assert (known["failure_kind"], "wanted a share of 0.5" in known["failure_reason"]) == (
            "milestoned:unobserved",
            True,
        )


async def test_a_penalty_that_was_seen_in_a_masked_step_is_paid_and_one_that_rests_on_what_was_not_seen_is_not(
    service: Service,
) -> None:
    id, token = await service.open(FINED)
    await service.tell(
        id,
        token,
        *episode([went("/cart")], [DEAD, clicked("Leave"), went("/away")], [DEAD], [DEAD], [DEAD]),
    )
    answer = await service.post("/v1/score", {"samples": [{"episode": id}], "fold": "known"})
    found = answer.json()["results"][0]
    assert found["step_rewards"][:2] == [
        pytest.approx(0.1),
        -0.25,
    ], "what was seen is paid (decision 26)"
    assert set(found["step_rewards"][2:]) == {None}
    assert (found["reward"], found["mask_sample"]) == (pytest.approx(-0.15), False)
    assert sum(found["reward_components"].values()) == pytest.approx(-0.15)
    last = await service.post("/v1/score", {"samples": [{"episode": id}], "fold": "last"})
    assert last.json()["results"][0]["reward"] is None


async def test_the_parts_of_a_folded_reward_are_folded_as_it_is(service: Service) -> None:
    """`last` knows the last step's parts, whatever is not known before it."""
    id, token = await service.open()
    await service.tell(id, token, *episode([DEAD], [BACK, went("/cart")], [clicked("Buy")]))
    for how, gamma in (("last", 1.0), ("discounted", 0.5), ("sum", 1.0), ("known", 1.0)):
        answer = await service.post(
            "/v1/score", {"samples": [{"episode": id}], "fold": how, "gamma": gamma}
        )
        found = answer.json()["results"][0]
        parts = found["reward_components"].values()
        assert (
            set(parts) == {None}
            if found["reward"] is None
            else sum(parts) == pytest.approx(found["reward"])
        )


@pytest.mark.parametrize(
    "path", ["/get_reward", "/adapters/slime/score", "/nemo/verify", "/nemo/strict/verify"]
)
async def test_every_adapter_folds_what_is_known(service: Service, path: str) -> None:
    id, token = await service.open()
    await service.tell(id, token, *PARTLY["half"])
    body: dict[str, Any] = {"response": "x", "label": id}
    if path == "/get_reward":
        body = {"query": ["x"], "prompts": [""], "labels": [id]}
    elif path.startswith("/nemo"):
        body = {"response": {"output": []}, "episode_id": id}
    detail = {"detail": "1"} if path == "/adapters/slime/score" else {}
    known = await service.post(path, body, params={"fold": "known", **detail})
    assert known.status_code == 200, known.text
    paid = known.json()
    assert paid["rewards" if "rewards" in paid else "reward"] in (
        pytest.approx(0.1),
        [pytest.approx(0.1)],
    )
    share = paid["extra_logs"]["known_share"] if "extra_logs" in paid else [paid["known_share"]]
    assert share == [0.5]
    few = await service.post(path, body, params={"fold": "known", "min_known": "0.75"})
    assert (
        few.json().get("mask_sample") is True if path == "/nemo/verify" else few.status_code == 503
    )
    bad = await service.post(path, body, params={"fold": "known", "min_known": "2"})
    assert (bad.status_code, "min_known: got '2'" in bad.json()["detail"]) == (422, True)


async def test_a_fold_is_asked_for(service: Service) -> None:
    id, token = await service.open()
    await service.tell(id, token, *SAID)
    steps = (await service.post("/v1/score", {"samples": [{"episode": id}]})).json()["results"][0][
        "step_rewards"
    ]
    last = await service.post("/v1/score", {"samples": [{"episode": id}], "fold": "last"})
    assert last.json()["results"][0]["reward"] == steps[-1]
    bad = await service.post("/v1/score", {"samples": [], "fold": "mean"})
    assert (bad.status_code, bad.json()["errors"][0]["path"]) == (422, "fold")


async def test_openrlhf_gets_lists_of_numbers_under_constant_keys(service: Service) -> None:
    """Traps: list or scalar, text in extra_logs, keys that change, empty lists."""
    id, token = await service.open()
    await service.tell(id, token, *SAID)
    await service.post("/v1/tasks", ANSWER)
    asked = {
        "query": ["<|im_start|>What?<|im_end|>42<|im_end|>", "Buy a lamp."],
        "prompts": ["<|im_start|>What?<|im_end|>", ""],
        "labels": ['{"task_id": "quiz/answer"}', {"episode_id": id}],
    }
    for path in ("/get_reward", "/adapters/openrlhf/score"):
        answer = await service.post(path, asked)
        assert answer.headers["content-type"] == "application/json"
        body = answer.json()
        assert set(body) == {"rewards", "scores", "extra_logs"}
        assert body["rewards"][0] == 1.0
        assert all(len(values) == 2 for values in (*body["extra_logs"].values(), body["scores"]))
        assert all(type(v) is float for values in body["extra_logs"].values() for v in values)
    bare = {"query": ["<s>Say 7. 42</s>"], "prompts": ["Say 7."], "labels": ["quiz/answer"]}
    assert (await service.post("/get_reward", bare)).json()["rewards"] == [1.0]
    empty = (await service.post("/get_reward", {"query": [], "prompts": [], "labels": []})).json()
    assert empty["rewards"] == []
    assert set(empty["extra_logs"]) == set(body["extra_logs"])
    uneven = await service.post("/get_reward", {"query": ["a"], "labels": []})
    assert (uneven.status_code, "1 query, 0 prompts, 0 labels" in uneven.text) == (422, True)


async def test_slime_gets_a_bare_number(service: Service) -> None:
    await service.post("/v1/tasks", ANSWER)
    asked = {"prompt": "What?", "response": "42</s>", "label": "quiz/answer"}
    bare = await service.post("/adapters/slime/score", asked)
    assert (bare.text, bare.headers["content-type"]) == ("1.0", "application/json")
    detail = (await service.post("/adapters/slime/score", asked, params={"detail": "1"})).json()
    assert (detail["reward"], detail["success"]) == (1.0, True)


@pytest.mark.parametrize("path", ["/get_reward", "/adapters/slime/score"])
async def test_what_nobody_can_know_is_a_503_or_the_configured_fall_back_never_a_silent_0(
    service: Service, path: str
) -> None:
    id, token = await service.open()
    await service.tell(id, token, *episode([went("/cart"), DEAD], [clicked("Buy")]))
    body = (
        {"query": ["x"], "prompts": [""], "labels": [id]}
        if path == "/get_reward"
        else {"response": "x", "label": id}
    )
    unknown = await service.post(path, body)
    assert (unknown.status_code, unknown.headers["retry-after"]) == (503, "1")
    assert "browser gone" in unknown.json()["detail"]
    paid = await service.post(path, body, params={"fallback": "-0.25"})
    assert paid.json() == -0.25 if path != "/get_reward" else paid.json()["rewards"] == [-0.25]
    for bad in ("nan", "inf", "x"):
        refused = await service.post(path, body, params={"fallback": bad})
        assert (refused.status_code, "fallback: got" in refused.json()["detail"]) == (422, True)


async def test_a_token_travels_in_an_address(service: Service) -> None:
    """For trainers that take nothing but an address: http://any:TOKEN@host."""
    await service.post("/v1/tasks", ANSWER)
    body = {"response": "42", "label": "quiz/answer"}

    def basic(text: str) -> dict[str, str]:
        return {"authorization": "Basic " + base64.b64encode(text.encode()).decode()}

    for said, status in ((f"any:{ADMIN}", 200), ("any:wrong", 401), ("any:", 401), (ADMIN, 401)):
        answer = await service.post("/adapters/slime/score", body, None, headers=basic(said))
        assert answer.status_code == status, said
    assert (
        await service.post(
            "/adapters/slime/score", body, None, headers={"authorization": "Basic ?"}
        )
    ).status_code == 401
