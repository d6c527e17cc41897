"""A final answer on its own, under the rules of its task: an episode in which nobody watched
anything else."""

from __future__ import annotations

from detectors.engine.engine import Engine
from detectors.model.types import Event, Reward
from detectors.task.ruleset import Ruleset

UNWATCHED = "an answer on its own: nobody watched"
HARNESS = ("journal", "steps")


def score_answer(rules: Ruleset, answer: str) -> Reward:
    """The reward of an episode of one step in which the agent only gave ``answer``.

    A task whose rules lean on what was not watched gives null with the reason: an answer is no
    proof of a deed.
    """
    said: list[tuple[str, str, dict[str, object]]] = [
        ("journal", "episode.opened", {"task": rules.task.id, "digest": rules.digest})
    ]
    for source in sorted(rules.sources - set(HARNESS)):
        said.append(("journal", "gap.began", {"source": source, "reason": UNWATCHED}))
    said += [
        ("steps", "step.began", {"step": 0}),
        ("steps", "agent.answered", {"text": answer}),
        ("steps", "step.ended", {"step": 0}),
        ("journal", "episode.closed", {"reason": UNWATCHED}),
    ]
    engine = Engine(rules, "stateless")
    events = (
        Event("stateless", seq, source, kind, 0, data)
        for seq, (source, kind, data) in enumerate(said, 1)
    )
    return engine.feed(events).rewards[-1]
