"""What breaks trainers, asked of every dialect's scoring address: kinds of content, shapes, the
same sample again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.api.processes import Process

SPOKEN = {
    "output": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "42"}]}
    ]
}
ASKED: dict[str, Any] = {
    "/get_reward": {"query": ["42"], "prompts": [""], "labels": ["{label}"]},
    "/adapters/openrlhf/score": {"query": ["42"], "prompts": [""], "labels": ["{label}"]},
    "/adapters/slime/score": {"prompt": "", "response": "42", "label": "{label}"},
    "/nemo/verify": {
        "responses_create_params": {"input": []},
        "task_id": "{label}",
        "response": SPOKEN,
    },
}
MISTAKES = {
    "/get_reward": {"query": ["a", "b"], "labels": ["quiz/answer"]},
    "/nemo/verify": {"task_id": "quiz/answer"},
}


@pytest.fixture
def asking(process: Process) -> Iterator[httpx.Client]:
    headers = {"authorization": f"Bearer {process.admin}"}
    with httpx.Client(base_url=process.url, headers=headers, timeout=60) as found:
        yield found


def body(path: str, label: str) -> Any:
    return json.loads(json.dumps(ASKED[path]).replace("{label}", label))


@pytest.mark.parametrize("path", ASKED)
def test_answers_are_json_and_never_text(asking: httpx.Client, path: str) -> None:
    """OpenRLHF takes text/plain for an error and asks again."""
    answer = asking.post(path, json=body(path, "quiz/answer"))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")


@pytest.mark.parametrize("path", ASKED)
def test_a_body_of_another_kind_is_read_as_json_or_refused_with_a_problem(
    asking: httpx.Client, path: str
) -> None:
    plain = {"content-type": "text/plain"}
    answer = asking.post(path, content=json.dumps(body(path, "quiz/answer")), headers=plain)
    assert answer.status_code in (200, 415, 422)
    refused = asking.post(path, content="42", headers=plain)
    assert refused.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(("path", "wrong"), MISTAKES.items())
def test_lists_of_unlike_length_and_missing_parts_are_refused_by_name(
    asking: httpx.Client, path: str, wrong: Any
) -> None:
    answer = asking.post(path, json=wrong)
    assert answer.status_code == 422
    assert "wanted" in answer.json()["detail"]


@pytest.mark.parametrize("path", ASKED)
def test_the_same_sample_ten_times_is_one_answer_and_leaves_nothing_behind(
    asking: httpx.Client, path: str, lost: str
) -> None:
    """A trainer that tries again opens nothing and is told the same."""
    before = asking.get("/v1/episodes").json()
    for label in ("quiz/answer", lost):
        answers = {
            asking.post(f"{path}?fallback=-0.25&wait_ms=0", json=body(path, label)).text
            for _ in range(10)
        }
        assert len(answers) == 1
        assert not re.search("NaN|Infinity", answers.pop())
    assert asking.get("/v1/episodes").json() == before


def test_numbers_stay_numbers_whether_or_not_anything_is_known(
    asking: httpx.Client, lost: str
) -> None:
    """OpenRLHF: lists always, the same numeric keys in every batch, no null and no text in its
    logs."""
    path, labels = "/get_reward?fallback=-0.25&wait_ms=0", ("quiz/answer", lost)
    found = [asking.post(path, json=body("/get_reward", label)).json() for label in labels]
    assert len({tuple(one["extra_logs"]) for one in found}) == 1
    for one in found:
        lists = [one["rewards"], one["scores"], *one["extra_logs"].values()]
        assert all(len(values) == 1 and type(values[0]) is float for values in lists)
