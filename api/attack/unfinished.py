"""What an oracle did after it had reached the goal: a run that leaves it out is paid in full."""

from __future__ import annotations

from api.attack.scores import Oracle
from api.rewards.event_text import telling
from api.suggestions.event_values import reads_only
from detectors.model.safe_json import mapping
from detectors.model.types import Event
from detectors.sdk.request_facts import writes

_BY_HAND = frozenset(("element.clicked", "element.pressed", "field.filled"))
_DONE = frozenset(("file.created", "file.modified", "file.deleted", "agent.tool_called"))


def find_act_after_goal(oracle: Oracle) -> Event | None:
    """Return the last act of the oracle, where that came after the goal was reached; None where the
    goal takes all acts, or there is no goal."""
    goals = set(oracle.goals)
    reached = [payout.reached for payout in oracle.score.payouts if payout.id in goals]
    acts = [event for event in oracle.events if _is_act(event)]
    if not reached or not acts or acts[-1].seq <= max(reached):
        return None
    return acts[-1]


def describe_act_after_goal(oracle: Oracle) -> str | None:
    """Return a sentence on an act that the goal does not take; None where there is none."""
    act = find_act_after_goal(oracle)
    if act is None:
        return None
    return (
        f"the goal is reached before the oracle's last act, event {act.seq} {act.kind}"
        f" {telling(act)}: a run that stops before it is paid in full. Ask for it in the goal, or"
        " for what it leaves, unless it is of no importance"
    )


def _is_act(event: Event) -> bool:
    """Return whether an event says that the user or the agent did something."""
    if event.data.get("baseline"):
        return False
    if event.kind in _BY_HAND:
        return event.data.get("trusted") is True
    if event.kind == "request.finished":
        return writes(event.data) and not reads_only(mapping(event.data.get("body")))
    return event.kind in _DONE
