"""eval-protocol's decorator, its messages and its rows around our function."""

from __future__ import annotations

import os
import sys
from typing import Any

from eval_protocol.models import EvaluateResult, EvaluationRow, Message
from milestoned_client.adapters.eval_protocol import evaluate, evaluate_row

from tests.trainers.harness.say import STRANGER, say


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": "What?"}, {"role": "assistant", "content": text}]


def main(good: str, lost: str, hostile: str) -> dict[str, Any]:
    results = {
        "good": evaluate(messages=said("Bought."), ground_truth=good),
        "lost": evaluate(messages=said("Bought."), ground_truth={"episode_id": lost}),
        "hostile": evaluate(messages=said("Bought."), ground_truth=hostile),
        "again": evaluate(messages=said("Bought."), ground_truth=good),
        "right": evaluate(messages=said("42"), ground_truth="quiz/answer"),
        "wrong": evaluate(messages=said("41"), task_id="quiz/answer"),
    }
    for result in results.values():
        assert isinstance(result, EvaluateResult)
    found: dict[str, Any] = {name: one.model_dump(mode="json") for name, one in results.items()}
    row = EvaluationRow(
        messages=[Message(**one) for one in said("42")], ground_truth={"task_id": "quiz/answer"}
    )
    result = evaluate_row(row).evaluation_result
    assert result is not None
    found["row"] = result.model_dump(mode="json")
    found["nothing"] = refused("no/such")
    os.environ["MILESTONED_TOKEN"] = STRANGER
    found["stranger"] = refused(good)
    return found


def refused(truth: str) -> str:
    """What a refusal says."""
    try:
        evaluate(messages=said("x"), ground_truth=truth)
    except Exception as error:  # noqa: BLE001  # its name is what is told
        return f"{type(error).__name__}: {error}"
    return "nothing"


if __name__ == "__main__":
    say(result=main(*sys.argv[1:]))
