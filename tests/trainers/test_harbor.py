"""What a trial of Harbor is worth, of a trajectory's rewards: a dictionary of numbers, or an error
with its reason; and what its verifier takes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from milestoned_client import Milestone, Reward, Score
from milestoned_client.adapters.harbor_rewards import (
    evidence_of,
    load_function,
    read_options,
    reward_dictionary,
)
from milestoned_client.adapters.scoring import UnknownRewardError
from milestoned_client.adapters.settings import AdapterSettings
from milestoned_client.errors import PeerUnreachableError, UnauthorizedError
from milestoned_client.models import Closing

SETTINGS = AdapterSettings("http://service.test", "token")


def milestone(id: str, worth: float) -> Milestone:
    return Milestone(id, "url_reached", 1, "nav", 0, 1.0, worth, (3,), None, False)


def step(number: int, reward: float | None, *milestones: Milestone) -> Reward:
    """A step's reward, masked where it is not known."""
    masked = reward is None
    return Reward(
        "ep_1",
        number,
        "unobserved" if masked else "sealed",
        reward,
        masked,
        "browser gone" if masked else None,
        {"nav": reward},
        milestones,
        (),
        None if masked else "rule",
        False,
        None,
        9,
        "d",
    )


def closed(*rewards: Reward, status: Any = "closed") -> Closing:
    return Closing("ep_1", status, True, None, 1, rewards)


def score(reward: float | None, /, **components: float | None) -> Score:
    """What the service says of the whole episode."""
    failure = ("milestoned:unobserved", "browser gone") if reward is None else (None, None)
    masked = reward is None
    return Score(
        reward, components, (reward,), 1.0, 2, True, True, "ep_1", None, "t", "d", masked, *failure
    )


PAID = [step(0, 0.5, milestone("cart", 0.25), milestone("seen", 0.25)), step(1, 0.25, milestone("cart", 0.25))]  # fmt: skip
PENALTY = [step(0, 0.5, milestone("cart", 0.5)), step(1, -0.3, milestone("help", -0.3))]
HALF = [step(0, 0.5, milestone("cart", 0.5)), step(1, None, milestone("buy", 0.5), milestone("help", -0.3))]  # fmt: skip

DICTIONARIES: list[tuple[str, Score, list[Reward], dict[str, float]]] = [
    (
        "milestones of one id are one number",
        score(0.75, nav=0.75),
        PAID,
        {"reward": 0.75, "nav": 0.75, "milestone.cart": 0.5, "milestone.seen": 0.25},
    ),
    (
        "a penalty is negative",
        score(0.2, nav=0.2),
        PENALTY,
        {"reward": 0.2, "nav": 0.2, "milestone.cart": 0.5, "milestone.help": -0.3},
    ),
    ("nothing was paid", score(0.0), [step(0, 0.0)], {"reward": 0.0}),
    (
        "fold=known: a milestone of a masked step is not paid, a penalty is",
        score(0.2, nav=0.2),
        HALF,
        {"reward": 0.2, "nav": 0.2, "milestone.cart": 0.5, "milestone.help": -0.3},
    ),
    (
        "what was reached beside a penalty that alone is known is not paid, and not 0",
        score(-0.3, nav=-0.3),
        [replace(step(0, -0.3, milestone("help", -0.3), milestone("cart", 0.0)), reason="gone")],
        {"reward": -0.3, "nav": -0.3, "milestone.help": -0.3},
    ),
    (
        "a component that is called reward",
        score(0.5, reward=0.25),
        [step(0, 0.5)],
        {"reward": 0.5, "component.reward": 0.25},
    ),
]


@pytest.mark.parametrize(
    ("found", "rewards", "expected"),
    [row[1:] for row in DICTIONARIES],
    ids=[row[0] for row in DICTIONARIES],
)
def test_a_trial_has_a_dictionary(
    found: Score, rewards: list[Reward], expected: dict[str, float]
) -> None:
    dictionary = reward_dictionary(found, closed(*rewards), SETTINGS)
    assert dictionary == expected
    assert next(iter(dictionary)) == "reward"


UNKNOWN: list[tuple[str, Any, Closing, str]] = [
    ("null", score(None, nav=None), closed(*HALF), "unobserved: browser gone"),
    ("pending", score(0.5), closed(status="closing"), "the episode is still closing"),
    ("a component", score(0.5, nav=None), closed(*HALF), "its component nav"),
    ("no answer", PeerUnreachableError("no answer in 60 s"), closed(), "no answer in 60 s"),
    ("no number", score(float("nan")), closed(*PAID), "nan"),
]


@pytest.mark.parametrize(
    ("found", "closing", "reason"), [row[1:] for row in UNKNOWN], ids=[row[0] for row in UNKNOWN]
)
def test_what_is_not_known_is_an_error_with_its_reason(
    found: Any, closing: Closing, reason: str
) -> None:
    with pytest.raises(UnknownRewardError, match=reason):
        reward_dictionary(found, closing, SETTINGS)


def test_a_refusal_is_raised_as_it_is() -> None:
    refusal = UnauthorizedError(401, "about:blank", "Unauthorized", "no such token")
    with pytest.raises(UnauthorizedError):
        reward_dictionary(refusal, closed(*PAID), SETTINGS)


def test_what_is_kept_of_a_trial_is_json_with_its_evidence() -> None:
    kept = json.loads(json.dumps(evidence_of(closed(*PAID))))
    assert kept["blame"] is None, "nobody asked"
    assert [reward["reward"] for reward in kept["rewards"]] == [0.5, 0.25]
    assert kept["rewards"][0]["milestones"][0]["evidence"] == [3]


@pytest.fixture
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILESTONED_TOKEN", "secret")
    monkeypatch.setenv("MILESTONED_FALLBACK", "0")


URL = {"url": "http://host:8420"}


@pytest.mark.usefixtures("_token")
def test_kwargs_are_read_and_a_fall_back_is_none_of_them() -> None:
    options = read_options({**URL, "task_id": 7, "sandbox": {"pool": "a"}, "fold": "known"})
    assert (options.task_id, options.sandbox, options.ready_s) == ("7", {"pool": "a"}, 60.0)
    assert (options.settings.token, options.settings.fold) == ("secret", "known")
    assert options.settings.fallback is None, "Harbor's own table decides, and no 0"
    assert read_options(URL).task_id is None
    masking = read_options({**URL, "mask_causes": ["captcha", "start_state"]}).settings
    assert masking.mask_causes == ("captcha", "start_state")


REFUSED: list[tuple[dict[str, object], str]] = [
    ({**URL, "token": "secret"}, "expected MILESTONED_TOKEN in the environment"),
    ({"url": "http://any:secret@host"}, "expected MILESTONED_TOKEN in the environment"),
    ({**URL, "fallback": 0}, "fallback: there is no such verifier kwarg; expected one of url"),
    ({**URL, "task": "shop/cart"}, "task: there is no such verifier kwarg"),
    ({**URL, "task_id": ["a"]}, "task_id: expected a text, got \\['a'\\]"),
    ({**URL, "sandbox": "two"}, "sandbox: expected any, or labels as JSON, got 'two'"),
    ({**URL, "ready_s": -1}, "ready_s: expected seconds, 0 to 86,400, got -1"),
    ({**URL, "fold": "mean"}, "fold: got 'mean'"),
    ({**URL, "mask_causes": "agent"}, "mask_causes: got 'agent'"),
    ({"url": "host"}, "url: got none"),
]


@pytest.mark.usefixtures("_token")
@pytest.mark.parametrize(("given", "why"), REFUSED)
def test_wrong_kwargs_are_named(given: dict[str, object], why: str) -> None:
    with pytest.raises((ValueError, TypeError), match=why) as refused:
        read_options(given)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("path", ["json", "json:", "no.such.module:f", "json:nothing", ":dumps"])
def test_a_watch_that_is_not_there_is_named(path: str) -> None:
    with pytest.raises(ValueError, match="watch: expected module:function"):
        load_function(path)


def test_a_watch_is_loaded() -> None:
    assert load_function("json:dumps") is json.dumps
