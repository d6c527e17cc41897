"""eval-protocol's decorator, its messages and its rows around our function."""

from __future__ import annotations

import sys
from typing import Any

from eval_protocol.models import EvaluateResult, EvaluationRow, Message
from milestoned_client.adapters.eval_protocol import evaluate, evaluate_row

from tests.trainers.harness.say import say


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": "What?"}, {"role": "assistant", "content": text}]


def main(good: str, lost: str) -> dict[str, Any]:
    results = {
        "good": evaluate(messages=said("Bought."), ground_truth=good),
        "lost": evaluate(messages=said("Bought."), ground_truth={"episode_id": lost}),
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
    try:
        evaluate(messages=said("x"), ground_truth="no/such")
    except Exception as error:  # noqa: BLE001  # its name is what is told
        found["nothing"] = f"{type(error).__name__}: {error}"
    return found


if __name__ == "__main__":
    say(result=main(*sys.argv[1:]))
