"""What an agent points to as evidence of a criterion, held against the log before it is journalled.

A pointer names events that were observed; it says nothing of its own. The judge is shown it as a
claim (api/stages/judge/facts.py), which alone proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from api.core.errors import InvalidError
from api.log.reader import Follower
from api.stages.judge.facts import PICTURE, is_observed
from detectors.sdk.tier_rules import is_judged
from detectors.task.ruleset import Ruleset

MAX_EVENTS = 32
MAX_PICTURES = 8
MAX_OF_EPISODE = 64
"""How often evidence can be submitted in one episode."""
WHOLE = "c1"
"""The criterion of a question for which the task has no rubric."""


async def check_pointers(
    log: Follower,
    episode: str,
    through: int,
    rules: Ruleset,
    criterion: str,
    events: Sequence[int],
    pictures: Sequence[str],
) -> None:
    """Raise `InvalidError` unless the task has the criterion, each of ``events`` is in the log up
    to ``through`` and was observed, and each of ``pictures`` (sha256) was taken in the episode."""
    known = criteria_of(rules)
    if criterion not in known:
        raise InvalidError(f"criterion: got {criterion!r:.80}, expected one of {', '.join(known)}")
    if not events and not pictures:
        raise InvalidError("events, pictures: expected at least one event or picture")
    for seq in events:
        await _check_event(log, episode, through, seq)
    if pictures:
        await _check_pictures(log, episode, pictures)


def criteria_of(rules: Ruleset) -> list[str]:
    """Return the ids of all criteria that a task has, of its goal, its steps and its milestones."""
    return list(criteria_texts(rules)) or [WHOLE]


def criteria_texts(rules: Ruleset) -> dict[str, str]:
    """Return the texts of all criteria that a task has, by their ids."""
    policy = rules.task.escalation
    lines = [] if policy is None else [*policy.rubric.goal, *policy.rubric.step]
    for top in rules.tops:
        node = rules.nodes[top]
        if is_judged(node.rule):
            lines += node.args.rubric
    texts: dict[str, str] = {}
    for line in lines:
        texts.setdefault(line.id, line.text)
    return texts


async def _check_event(log: Follower, episode: str, through: int, seq: int) -> None:
    """Raise `InvalidError` for an event that is not there, or that no source observed."""
    if seq > through:
        raise InvalidError(f"events: {seq} is not in the log yet, which ends at {through}")
    found = await log.between(episode, seq, seq)
    if not found:
        raise InvalidError(f"events: {seq} is not in the log")
    if not is_observed(found[0]):
        raise InvalidError(
            f"events: {seq} is {found[0].kind}, expected an event that a source observed: what a"
            " harness or agent says proves nothing"
        )


async def _check_pictures(log: Follower, episode: str, pictures: Sequence[str]) -> None:
    """Look through the pictures of the log, a page at a time, until all are found."""
    missing = set(pictures)
    after: int | None = 0
    while missing and after is not None:
        page, after = await log.page(episode, after, 1_000, frozenset({PICTURE}))
        missing -= {str(event["data"].get("sha256")) for event in page}
    if missing:
        raise InvalidError(
            f"pictures: {min(missing)[:80]!r} was not taken in this episode; expected the sha256 of"
            f" a {PICTURE}"
        )
