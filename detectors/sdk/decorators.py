"""What several rules declare alike: those about the agent's answer, and those about any kind of
event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from detectors.model.kinds import KINDS, UNHEARD
from detectors.model.types import Event
from detectors.model.wire_versions import current_kind, explain_rename
from detectors.sdk.registry import OwnArgs, OwnRead, Rule, rule


class NamesKind(Protocol):
    """Arguments that name the ``kind`` of event, and by ``distinct`` what tells one of them from
    another."""

    @property
    def kind(self) -> str: ...

    @property
    def distinct(self) -> str | None: ...


KindArgs = TypeVar("KindArgs", bound=NamesKind)


def answer_rule(*, args: type[OwnArgs], version: int = 1) -> Callable[[OwnRead[OwnArgs]], Rule]:
    """Declare a rule about what the agent answered: the latest answer counts, and there is one."""
    return rule(
        component="answer",
        hears=("agent.answered",),
        args=args,
        version=version,
        occurrence=True,
        single=lambda args: True,
        alone=True,
    )


def kind_rule(*, args: type[KindArgs], version: int = 1) -> Callable[[OwnRead[KindArgs]], Rule]:
    """Declare a rule whose arguments name the kind of event."""
    return rule(
        component="ui",
        args=args,
        version=version,
        hears_of=lambda args: (args.kind,),
        occurrence=True,
        single=lambda args: args.distinct is None,
    )


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
