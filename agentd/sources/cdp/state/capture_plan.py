"""What a plan asks of the network: which bodies, headers and messages. What it does not ask costs
nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from agentd.core.plan import EpisodePlan
from detectors.matchers.asked import Asked
from detectors.model.kinds import KINDS, reported_kinds

NOBODY, IF_TAKEN, ALWAYS = range(3)
"""Who reads a body: no rule, one that wants the request taken, one that reads refusals too."""
WantsBody = Callable[[str, str], int]
"""Method and address of a request → one of these."""

_Bodies = Literal["request_bodies", "response_bodies"]

MAX_BODY_LENGTH = 262144
"""Bytes of a body that are kept; a longer one is marked ``cut``. So much, as single-page
applications save their whole state."""
REPORTS = "Network.enableReportingApi"
"""The command by which a page tells what is posted for it (network/reports.py), for guards."""
_KEPT_POSTS = 16 << 20
_KEPT_ANSWERS = 64 << 20
_KEPT_ANSWER = 4 << 20


def _none(method: str, url: str) -> int:
    return NOBODY


def _all(method: str, url: str) -> int:
    return ALWAYS


@dataclass(frozen=True, slots=True)
class CapturePlan:
    """``request_body``, ``response_body``: whether and by whom a request's bodies are wanted;
    headers: the names in lower case, None for all; ``kinds``: what is reported; ``workers``:
    whether workers other than service workers are listened to, as they are for whoever hears
    requests or messages; ``guards``: whether a guard hears requests, for which it counts that one
    may have gone out, and ``guards_messages`` whether one hears messages; ``mask``: further names
    of secrets; ``cookies``: those whose values are told; ``visual``: how much of what pages look
    like is recorded, see visual.py."""

    request_body: WantsBody = _none
    response_body: WantsBody = _none
    request_headers: frozenset[str] | None = frozenset()
    response_headers: frozenset[str] | None = frozenset()
    kinds: frozenset[str] = frozenset()
    workers: bool = False
    guards: bool = False
    mask: tuple[str, ...] = ()
    visual: int = 0
    cookies: frozenset[str] = frozenset()
    tree_bytes: int = 0
    guards_messages: bool = False

    @classmethod
    def from_plan(cls, plan: EpisodePlan) -> CapturePlan:
        """What ``plan`` asks; raises SpecError for an address in it that is none."""
        return cls(
            _filter(plan, "request_bodies"),
            _filter(plan, "response_bodies"),
            frozenset(name.lower() for name in plan.get("request_headers", ())),
            frozenset(name.lower() for name in plan.get("response_headers", ())),
            reported_kinds(plan),
            _hears(plan),
            _guards(plan, "request."),
            tuple(plan.get("mask", ())),
            int(plan.get("visual") or 0),
            frozenset(plan.get("cookies", ())),
            int(plan.get("tree_bytes") or 0),
            _guards(plan, "message."),
        )

    @classmethod
    def everything(
        cls, mask: tuple[str, ...] = (), cookies: frozenset[str] = frozenset()
    ) -> CapturePlan:
        """For a log that holds what it holds: nothing has to be fetched for it."""
        kinds = frozenset(KINDS)
        return cls(_all, _all, None, None, kinds, mask=mask, cookies=cookies)

    @property
    def headers(self) -> bool:
        """Whether any header, of a request or of an answer, is wanted."""
        return self.request_headers is None or bool(self.request_headers) or self.answers_headers

    @property
    def answers_headers(self) -> bool:
        """Whether any header of an answer is wanted."""
        return self.response_headers is None or bool(self.response_headers)

    def enabling(self) -> dict[str, int]:
        """The parameters of `Network.enable`: what the browser has to keep in memory for us."""
        total = resource = 0
        post = 1  # 0 is no limit: all that any page posts would come here
        if self.request_body is not _none:
            total = resource = _KEPT_POSTS
            post = MAX_BODY_LENGTH
        if self.response_body is not _none:
            total = _KEPT_ANSWERS
            resource = _KEPT_ANSWER
        return {
            "maxPostDataSize": post,
            "maxTotalBufferSize": total,
            "maxResourceBufferSize": resource,
        }


def _hears(plan: EpisodePlan) -> bool:
    """Whether requests or messages are among the kinds that are asked for."""
    kinds = plan.get("hears")
    if kinds is None:
        return True
    also = plan.get("also", ())
    return any(kind.startswith(("request.", "message.")) for kind in (*kinds, *also))


def _guards(plan: EpisodePlan, kind: str) -> bool:
    """Whether something that must not happen is known by events whose kind begins so; a service
    that is older does not say."""
    kinds = plan.get("guarded")
    if kinds is None:
        return _hears(plan)
    return any(one.startswith(kind) for one in kinds)


def _filter(plan: EpisodePlan, name: _Bodies) -> WantsBody:
    """Return a function that says of a request whether anybody asks for its body, even if it is
    refused."""
    entries = [Asked(entry, plan.get("origin")) for entry in plan.get(name, ())]
    if not entries:
        return _none

    def wants(method: str, url: str) -> int:
        """Say whether anybody asks for the body: nobody, only if it is taken, or always."""
        refused = [entry.refused for entry in entries if entry.takes(method, url)]
        if not refused:
            return NOBODY
        return ALWAYS if any(refused) else IF_TAKEN

    return wants
