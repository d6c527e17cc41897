"""What several rules declare alike: those about the agent's answer, and those about any kind of
event."""

from __future__ import annotations

from functools import partial

from detectors.model.kinds import KINDS, UNHEARD
from detectors.model.types import Event
from detectors.model.wire_versions import current_kind, explain_rename
from detectors.sdk.registry import rule

answer_rule = partial(
    rule,
    component="answer",
    hears=("agent.answered",),
    occurrence=True,
    single=lambda args: True,
    alone=True,
)
"""For a rule about what the agent answered: the latest answer counts, and there is one."""

kind_rule = partial(
    rule,
    component="ui",
    hears_of=lambda args: (args.kind,),
    occurrence=True,
    single=lambda args: args.distinct is None,
)
"""For a rule whose arguments name the ``kind`` of event, and by ``distinct`` what tells one of them
from another."""


def check_kind(kind: str) -> None:
    """Raises `ValueError` for a kind that no source tells."""
    if kind not in KINDS or KINDS[kind].source in UNHEARD:
        raise ValueError(
            f"kind: {kind!r} is none of the kinds that a source tells; see docs/events.md"
            f"{explain_rename(kind, current_kind(kind))}"
        )


def by_script(event: Event) -> bool:
    """Whether page script did it, not a person or an agent."""
    return "trusted" in event.data and event.data["trusted"] is not True
