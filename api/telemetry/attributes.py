"""Rewards, milestones and outcomes as attributes of spans and of events
`gen_ai.evaluation.result`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from api.rewards.rendering import is_beside_penalty
from detectors.model.codec import canonical, text_or_json
from detectors.model.rewards import MilestoneJson, RewardJson, VerdictJson, total
from detectors.model.types import Json

Value = str | bool | int | float | tuple[str, ...] | tuple[int, ...]
Attributes = Mapping[str, Value]

MAX_TEXT = 8_192
"""Characters of a text in an attribute; of longer ones the rest is left out."""
MAX_LABELS = 32
PROVIDER = "milestoned"
STEP_REWARD, EPISODE_REWARD, EPISODE_SUCCESS = "step_reward", "episode_reward", "episode_success"
PENDING = "settling"


@dataclass(frozen=True, slots=True)
class TracedOutcome:
    """What the whole episode was worth, with all of its rewards; ``closed`` False: so far."""

    total: float | None
    success: bool | None
    rewards: Sequence[RewardJson]
    closed: bool = True


def tool_attributes(name: str) -> Attributes:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.provider.name": PROVIDER,
        "gen_ai.tool.name": name,
    }


def mirrored_reward(reward: RewardJson | None) -> Attributes:
    """Return a step's reward as attributes of its span, for whoever shows spans alone."""
    if reward is None:
        return {"milestoned.reward_status": PENDING}
    known: dict[str, Value] = {
        "milestoned.reward_status": reward["status"],
        "milestoned.reward_mask": reward["mask"],
    }
    if reward["reward"] is not None:
        known["milestoned.reward"] = float(reward["reward"])
        known |= _worths([reward])
    if reward["reason"] is not None:
        known["milestoned.reward_reason"] = reward["reason"][:MAX_TEXT]
    if reward["milestones"]:
        known["milestoned.milestones"] = tuple(m["id"] for m in reward["milestones"])
    return known


def _worths(rewards: Iterable[RewardJson]) -> dict[str, Value]:
    """Return what each milestone paid in known rewards, by its id; together what those paid whose
    ids are written alike."""
    paid: dict[str, list[float]] = {}
    for reward in rewards:
        for milestone in reward["milestones"]:
            if _is_known(milestone, reward):
                paid.setdefault(leaf(milestone["id"]), []).append(milestone["worth"])
    return {f"milestoned.milestone.{name}": total(worths) for name, worths in paid.items()}


def _is_known(milestone: MilestoneJson, reward: RewardJson) -> bool:
    """Whether what a milestone earned is known: its step is, and not by a penalty alone."""
    if reward["reward"] is None:
        return False
    return not is_beside_penalty(milestone["worth"], reward["reason"])


def leaf(name: str) -> str:
    """Return a name that others chose as the last part of an attribute's. A dot in it would make an
    object of it for whoever reads attributes as a tree, and beside an attribute of that object's
    name W&B Weave refuses the span: it is written as a colon."""
    return name.replace(".", ":")


def milestone_evaluation(milestone: MilestoneJson, reward: RewardJson) -> Attributes:
    worth = float(milestone["worth"])
    attributes: dict[str, Value] = {
        "gen_ai.evaluation.name": milestone["id"],
        "milestoned.step": reward["step"],
        "milestoned.milestone.rule": milestone["rule"],
        "milestoned.milestone.version": milestone["version"],
        "milestoned.milestone.component": milestone["component"],
        "milestoned.milestone.value": float(milestone["value"]),
        "milestoned.milestone.worth": worth,
        "milestoned.milestone.evidence": tuple(milestone["evidence"]),
    }
    if milestone["cause_step"] is not None:
        attributes["milestoned.milestone.cause_step"] = milestone["cause_step"]
    if reward["reward"] is None:
        return {**attributes, **_unknown("unpaid", reward["status"], reward["reason"])}
    if not _is_known(milestone, reward):
        del attributes["milestoned.milestone.worth"]  # 0 for what nobody knows
        return {**attributes, **_unknown("unpaid", "unobserved", reward["reason"])}
    label = "penalty" if worth < 0 else "earned"
    return {
        **attributes,
        "gen_ai.evaluation.score.value": worth,
        "gen_ai.evaluation.score.label": label,
    }


def reward_evaluation(reward: RewardJson, content: bool) -> Attributes:
    """Return a step's reward as an evaluation; ``content``: with what the stages wrote."""
    attributes: dict[str, Value] = {
        "gen_ai.evaluation.name": STEP_REWARD,
        "milestoned.step": reward["step"],
        "milestoned.reward_status": reward["status"],
        "milestoned.reward_mask": reward["mask"],
        "milestoned.reward_through": reward["through"],
    }
    if reward["decided_by"] is not None:
        attributes["milestoned.reward_decided_by"] = reward["decided_by"]
    for component, paid in sorted(reward["components"].items()):
        if paid is not None:
            attributes[f"milestoned.reward_component.{component}"] = float(paid)
    for verdict in reward["verdicts"]:
        attributes |= _verdict_attributes(verdict, content)
    value = reward["reward"]
    if value is None:
        return {**attributes, **_unknown(reward["status"], reward["status"], reward["reason"])}
    earned = "; ".join(f"{m['id']} {m['worth']:+g}" for m in reward["milestones"])
    explanation = reward["reason"] or earned
    if explanation:
        attributes["gen_ai.evaluation.explanation"] = explanation[:MAX_TEXT]
    return {
        **attributes,
        "gen_ai.evaluation.score.value": float(value),
        "gen_ai.evaluation.score.label": _sign(value),
    }


def _verdict_attributes(verdict: VerdictJson, content: bool) -> dict[str, Value]:
    """Return what a stage said of a step; ``content``: with its reason, in its own words."""
    stage = f"milestoned.verdict.{verdict['stage']}"
    attributes: dict[str, Value] = {f"{stage}.confidence": float(verdict["confidence"])}
    if verdict["score"] is not None:
        attributes[f"{stage}.score"] = float(verdict["score"])
    if content:
        attributes[f"{stage}.why"] = verdict["why"][:MAX_TEXT]
    return attributes


def _sign(value: float) -> str:
    """Return a score's label: positive, negative or zero."""
    if value > 0:
        return "positive"
    return "negative" if value < 0 else "zero"


def _unknown(label: str, error: str, reason: str | None) -> Attributes:
    """Return what is said of a score that is not known: no value, which no reader can take for
    0."""
    attributes: dict[str, Value] = {
        "gen_ai.evaluation.score.label": label,
        "error.type": error,
    }
    if reason:
        attributes["gen_ai.evaluation.explanation"] = reason[:MAX_TEXT]
    return attributes


def missing_evaluation(step: int, *, is_over: bool) -> Attributes:
    """Return the evaluation of a step that nothing was computed for; ``is_over``: nor will be."""
    status = "unscored" if is_over else PENDING
    reason = "no reward was computed" if is_over else "the step is not complete"
    return {
        "gen_ai.evaluation.name": STEP_REWARD,
        "milestoned.step": step,
        "milestoned.reward_status": status,
        **_unknown(status, status, reason),
    }


def _first_unknown(outcome: TracedOutcome) -> RewardJson | None:
    return next((reward for reward in outcome.rewards if reward["reward"] is None), None)


def mirrored_outcome(outcome: TracedOutcome) -> Attributes:
    known: dict[str, Value] = {
        "milestoned.steps": len(outcome.rewards),
        "milestoned.masked": sum(reward["mask"] for reward in outcome.rewards),
        **_worths(outcome.rewards),
    }
    shown = {"reward": outcome.total, "success": outcome.success}
    for name, value in shown.items():
        if value is not None:
            known[f"milestoned.{name}"] = value if isinstance(value, bool) else float(value)
        # Lists of traces show these: MLflow as tags, Langfuse as filterable metadata.
        text = "unknown" if value is None else canonical(value).decode()
        known[f"mlflow.traceTag.milestoned.{name}"] = text
        known[f"langfuse.trace.metadata.milestoned_{name}"] = text
    return known


def total_evaluation(outcome: TracedOutcome) -> Attributes:
    name = {"gen_ai.evaluation.name": EPISODE_REWARD}
    if not outcome.closed:
        return {**name, **_unknown(PENDING, PENDING, "the episode is not closed")}
    if outcome.total is None:
        unknown = _first_unknown(outcome)
        if unknown is None:
            return {**name, **_unknown("unknown", "unobserved", "the episode has no step")}
        reason = f"step {unknown['step']}: {unknown['reason'] or unknown['status']}"
        return {**name, **_unknown("unknown", unknown["status"], reason)}
    return {
        **name,
        "gen_ai.evaluation.score.value": float(outcome.total),
        "gen_ai.evaluation.score.label": _sign(outcome.total),
    }


def success_evaluation(outcome: TracedOutcome) -> Attributes:
    """Return the evaluation of the goal: pass, fail, or not known and why."""
    name = {"gen_ai.evaluation.name": EPISODE_SUCCESS}
    if outcome.success is None:
        status = "unobserved" if outcome.closed else PENDING
        return {**name, **_unknown("unknown" if outcome.closed else PENDING, status, None)}
    return {
        **name,
        "gen_ai.evaluation.score.value": float(outcome.success),
        "gen_ai.evaluation.score.label": "pass" if outcome.success else "fail",
    }


def label_attributes(labels: Mapping[str, Json]) -> Attributes:
    """Return the labels, in the order of their names; of those written alike the first."""
    written: dict[str, Value] = {}
    for name, value in sorted(labels.items())[:MAX_LABELS]:
        key = f"milestoned.label.{leaf(name)}"
        if isinstance(value, str):
            written.setdefault(key, value[:MAX_TEXT])
        elif _is_attribute_number(value):
            written.setdefault(key, value)
    return written


def _is_attribute_number(value: Json) -> bool:
    """Whether an attribute can hold a value: a truth value, a float, or a whole number of 64
    bits."""
    if isinstance(value, bool | float):
        return True
    return isinstance(value, int) and -(2**63) <= value < 2**63


def message_attributes(instruction: str | None, answer: str | None) -> Attributes:
    """Return the instruction and the agent's answer in the form of the conventions."""
    messages: dict[str, Value] = {}
    for name, role, text in (
        ("gen_ai.input.messages", "user", instruction),
        ("gen_ai.output.messages", "assistant", answer),
    ):
        if text is not None:
            parts = [{"type": "text", "content": text[:MAX_TEXT]}]
            message: dict[str, Json] = {"role": role, "parts": parts}
            if role == "assistant":
                message["finish_reason"] = "stop"
            messages[name] = canonical([message]).decode()
    return messages


def attribute_text(value: Json) -> str:
    text = text_or_json(value)
    return text[:MAX_TEXT]
