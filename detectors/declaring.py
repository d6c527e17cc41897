"""What several rules say alike: those about the agent's answer, about any kind of event, about addresses and bodies."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from detectors.errors import UnseenError
from detectors.kinds import KINDS, UNHEARD
from detectors.matchers import BodyMatch, ContentMatch, UrlMatch
from detectors.registry import rule
from detectors.shape import mapping
from detectors.types import Event

answer_rule = partial(rule, component="answer", hears=("agent.answered",), occurrence=True, single=lambda args: True)
"""For a rule about what the agent answered: the latest answer counts, and there is one."""

kind_rule = partial(
    rule,
    component="ui",
    hears_of=lambda args: (args.kind,),
    occurrence=True,
    single=lambda args: args.distinct is None,
)
"""For a rule whose arguments name the ``kind`` of event, and by ``distinct`` what tells one of them from another."""


def check_kind(kind: str) -> None:
    """Raises `ValueError` for a kind that no source tells."""
    if kind not in KINDS or KINDS[kind].source in UNHEARD:
        raise ValueError(f"kind: {kind!r} is none of the kinds that a source tells; see docs/events.md")


def by_script(event: Event) -> bool:
    """Whether page script did it, not a person or an agent."""
    return "trusted" in event.data and event.data["trusted"] is not True


def is_at(wanted: UrlMatch, url: Any) -> bool:
    """Whether the address is the wanted one. Raises `UnseenError` where what was masked in it decides."""
    matches = wanted.matches(str(url))
    if not matches and wanted.may_be(str(url)):
        raise UnseenError("a secret in the address is kept back")
    return matches


def carries(
    hop: Mapping[str, Any], body: BodyMatch | ContentMatch | None, answer: BodyMatch | ContentMatch | None
) -> bool:
    """Whether the bodies of a request and its answer are as wanted (None: any). Raises `UnseenError` where what was
    masked in them decides."""
    found = ((body, hop.get("body")), (answer, mapping(hop.get("answer")).get("body")))
    asked = [(wanted, told, wanted.matches(told)) for wanted, told in found if wanted is not None]
    if all(matches for _, _, matches in asked):
        return True
    if all(matches or wanted.may_be(told) for wanted, told, matches in asked):
        raise UnseenError("a secret in a body is kept back")
    return False
