"""What was earned, as the rows that are stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from detectors.engine.engine import EngineResult
from detectors.engine.resolution import escalating, unasked_reward, waits
from detectors.model.codec import canonical
from detectors.model.rewards import encode_reward, milestone_to_json
from detectors.model.types import Milestone, Reward
from detectors.task.ruleset import Ruleset


def milestone_rows(
    episode: str, number: int, first: int, last: int, found: Sequence[Milestone]
) -> list[dict[str, Any]]:
    """Rows of the milestones that the events ``first`` to ``last`` brought, numbered from
    ``number``."""
    return [
        {
            "episode": episode,
            "number": number + n,
            # Whoever follows the log segment by segment must meet it there, even where all evidence
            # is older.
            "seq": max(first, max(m.evidence, default=last)),
            "step": m.step,
            "id": m.id,
            "worth": m.worth,
            "body": canonical(milestone_to_json(m)),
        }
        for n, m in enumerate(found)
    ]


def stored_rewards(rules: Ruleset, outcome: EngineResult) -> list[Reward]:
    """The newly sealed rewards as they are stored: those that are asked about wait for their
    answers."""
    if rules.task.escalation is None:
        return outcome.rewards
    of = [[ask for ask in outcome.asks if ask.step == reward.step] for reward in outcome.rewards]
    pairs = zip(outcome.rewards, of, strict=True)
    return [
        escalating(rules, reward, asked) if waits(asked) else unasked_reward(rules, reward)
        for reward, asked in pairs
    ]


def reward_rows(sealed: Iterable[Reward]) -> list[dict[str, Any]]:
    """Make the ledger's rows of newly sealed rewards."""
    return [
        {
            "episode": r.episode,
            "step": r.step,
            "status": r.status,
            "reward": r.reward,
            "through": r.through,
            "body": encode_reward(r),
        }
        for r in sealed
    ]
