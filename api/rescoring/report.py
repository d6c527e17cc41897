"""What a run found, for people: each changed episode, step and milestone with both sides' evidence,
then a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from api.rescoring.differences import Fields, MilestoneChange, StepDifference
from api.rescoring.work import EpisodeOutcome, RescoreOutcome, RescoreSide
from api.rewards.event_text import clip
from api.rewards.rendering import number_in_words
from api.verdicts.recorded import GIVEN
from detectors.model.optional_values import pick_keys
from detectors.model.rewards import MilestoneJson

ASKED = ("questions", "answered", "abstained")
SHOWN = ("same", "changed", "scored", "failed")


class Tally:
    """Counts a run's answers as they come, from nothing or from an earlier summary on.

    ``again``: what was asked again is counted too.
    """

    def __init__(self, summary: Mapping[str, Any] | None = None, *, again: bool = False) -> None:
        self.asked: Counter[str] | None = Counter() if again else None
        before = summary or {"rulesets": [], "milestones": {}}
        self.statuses: Counter[str] = Counter(pick_keys(before, SHOWN))
        self.milestones = {id: Counter(changes) for id, changes in before["milestones"].items()}
        self.rulesets: set[tuple[str, str]] = {(old, new) for old, new in before["rulesets"]}

    def take(self, answer: EpisodeOutcome) -> RescoreOutcome | None:
        """Count one; what it says, where that is more than that nothing changed."""
        self.statuses[answer.status] += 1
        if self.asked is not None:
            self.asked += _questions_by_stage(orjson.loads(answer.line))
        if answer.status in ("same", "scored"):
            return None
        told: RescoreOutcome = orjson.loads(answer.line)
        if told["old"] and told["new"] and told["differences"]:
            self.rulesets.add((told["old"]["ruleset"], told["new"]["ruleset"]))
            for step in told["differences"]["steps"]:
                for m in step["milestones"]:
                    self.milestones.setdefault(m["id"], Counter())[m["change"]] += 1
        return told

    def summary(self) -> dict[str, Any]:
        """``{episodes, same, changed, scored, failed, rulesets, milestones}``, and ``asked`` where
        it was."""
        asked = {} if self.asked is None else {"asked": {name: self.asked[name] for name in ASKED}}
        return asked | {
            "episodes": self.statuses.total(),
            **{status: self.statuses[status] for status in SHOWN},
            "rulesets": sorted(map(list, self.rulesets)),
            "milestones": {
                id: dict(sorted(self.milestones[id].items())) for id in sorted(self.milestones)
            },
        }


def _questions_by_stage(told: RescoreOutcome) -> Counter[str]:
    """Questions of stages: a person was not asked again."""
    given = [one["verdict"] for one in told.get("said", ()) if one["kind"] == GIVEN]
    scores = [verdict["score"] for verdict in given if verdict["stage"] != "person"]
    none = scores.count(None)
    return Counter(questions=len(scores), answered=len(scores) - none, abstained=none)


def episode_lines(told: RescoreOutcome) -> Iterator[str]:
    """One episode that changed, or could not be scored."""
    if told["error"] is not None:
        yield clip(told["error"], 1_000)
        return
    old, new, differences = told["old"], told["new"], told["differences"]
    assert old is not None
    assert new is not None
    assert differences is not None
    rules = f"ruleset {old['ruleset'][:12]} → {new['ruleset'][:12]}"
    yield f"{told['name']}: {_of_episode(old, new, differences['episode'])}; {rules}"
    for step in differences["steps"]:
        yield f"  {_step(step)}"
        for m in step["milestones"]:
            yield from (f"    {text}" for text in _milestone(m, told["evidence"] or {}))


def summary_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    """Return the lines at the end of a report: counts and totals."""
    for id, changes in summary["milestones"].items():
        counts = ", ".join(f"{count} {change}" for change, count in changes.items())
        yield f"milestone {id}: {counts}"
    asked = summary.get("asked")
    if asked is not None:
        calls = _counted(asked["calls"], "call")
        yield (
            f"{asked['questions']} asked again: {asked['answered']} answered, {asked['abstained']}"
            f" abstained; {calls}, cost {asked['cost']:g}"
        )
    said = [f"{summary[status]} {text}" for status, text in _SAID.items() if summary[status]]
    yield f"{_counted(summary['episodes'], 'episode')}: {', '.join(said) or 'none'}"


def _counted(count: int, noun: str) -> str:
    """Return a number of things: ``1 call``, ``2 calls``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


_SAID = {
    "changed": "changed",
    "same": "the same",
    "scored": "with nothing to compare",
    "failed": "could not be scored",
}


def _of_episode(old: RescoreSide, new: RescoreSide, fields: Fields) -> str:
    """Say what of the episode as a whole differs, its total first."""
    parts: list[str] = []
    if "total" in fields:
        parts.append(f"total {_number(old['total'])} → {_number(new['total'])}")
    for name, (before, after) in fields.items():
        if name != "total":
            parts.append(f"{name} {_word(before)} → {_word(after)}")
    if not parts:
        return f"total {_number(new['total'])} as before"
    return ", ".join(parts)


def _step(step: StepDifference) -> str:
    """Say what of a step differs: its reward first, its reason last."""
    fields = step["fields"]
    parts: list[str] = []
    if "reward" in fields:
        before, after = fields["reward"]
        parts.append(f"{_number(before)} → {_number(after)}")
    for name in fields:
        if name in ("status", "success"):
            before, after = fields[name]
            parts.append(f"{name} {_word(before)} → {_word(after)}")
    if "reason" in fields:
        reasons = " → ".join(_word(reason) for reason in fields["reason"])
        parts.append(clip(reasons, 300))
    name = "before the first step" if step["step"] < 0 else f"step {step['step']}"
    only = f" ({step['only']} side alone)" if step["only"] else ""
    return clip(f"{name}{only}: {'; '.join(parts) or 'the same reward'}", 400)


def _milestone(m: MilestoneChange, evidence: Mapping[str, str]) -> Iterator[str]:
    yield clip(f"{m['change']} {m['id']}", 200)
    yield from _milestone_side("old", m["old"], evidence)
    yield from _milestone_side("new", m["new"], evidence)


def _milestone_side(
    side: str, milestone: MilestoneJson | None, evidence: Mapping[str, str]
) -> Iterator[str]:
    """Say what one side paid for a milestone, by which rule, and the events that it rests on."""
    if milestone is None:
        return
    if milestone["baseline"]:
        paid = "so already, earns nothing"
    else:
        paid = f"{milestone['worth']:+.3f} in step {milestone['step']}"
    yield f"  {side}: {paid}, by {milestone['rule']} v{milestone['version']}"
    for seq in milestone["evidence"]:
        yield f"    {evidence.get(str(seq), seq)}"


def _number(value: object) -> str:
    return number_in_words(value) if isinstance(value, int | float) else "null"


def _word(value: object) -> str:
    """Return a value in words: null, yes, no, or as it is."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
