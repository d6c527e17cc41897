"""eval-protocol: `evaluate` is a function as `@reward_function` makes them; `evaluate_row` fills in
a row of `@evaluation_test`.

`ground_truth`, a field of the row's data or an id in its metadata says what is scored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from eval_protocol import EvaluateResult, MetricResult, reward_function
from eval_protocol.models import EvaluationRow, StepOutput

from milestoned_client.adapters.carried import NESTED, REFERENCE, label_of, last_text
from milestoned_client.adapters.graded import GradedRollout, grade_rollout_now
from milestoned_client.adapters.scoring import unknown_payout
from milestoned_client.adapters.settings import AdapterSettings, settings
from milestoned_client.models import Reward


@reward_function  # type: ignore[untyped-decorator]  # eval-protocol is not installed here
def evaluate(messages: object, ground_truth: object = None, **kwargs: object) -> EvaluateResult:
    """The rollout's score, and the reward of each of its steps that is known.

    What nobody can know has `is_score_valid` false and the reason, unless a fall-back is
    configured. Raises refusals.
    """
    fields = {name: kwargs.get(name) for name in (*REFERENCE, *NESTED)}
    return _evaluated(messages, fields, ground_truth)


def evaluate_row(row: EvaluationRow) -> EvaluationRow:
    """Put the result of a row's rollout into the row, and return it. Raises refusals."""
    row.evaluation_result = _evaluated(
        row.messages, row.input_metadata.dataset_info, row.ground_truth
    )
    return row


def _evaluated(messages: object, *carried: object) -> EvaluateResult:
    asked = settings()
    graded = grade_rollout_now(label_of(*carried), last_text(_plain_messages(messages)), asked)
    return _result(graded, asked)


def _plain_messages(messages: object) -> object:
    """Messages as objects of JSON, whether they came as such or as eval-protocol's own."""
    if isinstance(messages, str | Mapping) or not isinstance(messages, Iterable):
        return messages
    return [
        {"role": one.role, "content": one.content} if hasattr(one, "content") else one
        for one in messages
    ]


def _result(graded: GradedRollout, asked: AdapterSettings) -> EvaluateResult:
    paid = graded.paid
    value = paid.reward if paid.reward is not None else unknown_payout(str(paid.reason), asked)
    return EvaluateResult(
        score=0.0 if value is None else value,
        is_score_valid=value is not None,
        reason=paid.reason or f"{paid.milestones} milestones in {paid.steps} steps",
        metrics={
            name: MetricResult(
                score=part or 0.0,
                is_score_valid=part is not None,
                reason="not known" if part is None else "what the milestones of it were worth",
            )
            for name, part in paid.components.items()
        },
        step_outputs=[_step_output(step) for step in graded.steps if step.reward is not None],
        error=None if value is not None else paid.reason,
        trajectory_info=graded.info(),
    )


def _step_output(step: Reward) -> StepOutput:
    milestones = [
        {"id": one.id, "worth": one.worth, "evidence": list(one.evidence)}
        for one in step.milestones
    ]
    return StepOutput(
        step_index=step.step,
        base_reward=step.reward,
        terminated=step.done,
        metrics={"status": step.status, "milestones": milestones},
        reason=step.reason,
    )
