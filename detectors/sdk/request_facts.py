"""What an event says of a request: its bodies, who answered it, whether the answer is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from detectors.matchers import BodyMatch, ContentMatch
from detectors.matchers.masked import BodyVerdict
from detectors.matchers.values import BodyType, Repeated, answer_type
from detectors.model.safe_json import mapping
from detectors.model.types import Event

ENDS = ("request.finished", "request.failed")
"""The kinds that end a request."""

_NOT_THE_SERVER = ("worker", "unknown")
MAX_NAMED = 3
"""Names that a reason has."""
_READS = ("GET", "HEAD", "OPTIONS", "TRACE")


def is_servers(hop: Mapping[str, object]) -> bool:
    """Whether the server gave the answer: not the browser's cache, not a service worker, not
    whoever made it up."""
    return hop.get("cached") is not True and not is_made_up(hop)


def is_made_up(hop: Mapping[str, object]) -> bool:
    """Whether a service worker, DevTools or the browser itself made the answer up."""
    return hop.get("served_from") in _NOT_THE_SERVER


def is_lost(event: Event) -> bool:
    """Whether it tells of a request that may have changed something at the server: its headers went
    out, and whoever asked did not get the answer."""
    data = event.data
    return event.kind == "request.failed" and data.get("sent") is True and writes(data)


def writes(hop: Mapping[str, object]) -> bool:
    """Whether its method may change something at the server."""
    return str(hop.get("method")).upper() not in _READS


CERTAIN = ""
"""No doubt: it is as expected. Other doubts are the reason why nobody knows; None: it is not."""


def judge_body(
    hop: Mapping[str, object],
    matcher: BodyMatch | ContentMatch | None,
    read_as: BodyType | None,
    repeated: Repeated,
) -> str | None:
    """Return why nobody knows whether the request's body is as expected: `CERTAIN` where it is,
    None where it is not. Without ``matcher`` it is not looked at."""
    if matcher is None:
        return CERTAIN
    body = hop.get("body")
    if is_partial(body):
        return PARTIAL
    return find_doubt(matcher.judge_body(body, read_as, repeated), "a request's body")


def judge_answer(hop: Mapping[str, object], matcher: BodyMatch | ContentMatch | None) -> str | None:
    """The same of the answer's body."""
    if matcher is None:
        return CERTAIN
    body = mapping(hop.get("response")).get("body")
    if is_partial(body):
        return PARTIAL
    return find_doubt(matcher.judge_body(body, answer_type(body)), "an answer's body")


def find_doubt(verdict: BodyVerdict, where: str) -> str | None:
    """Return the doubt that a verdict leaves, which names what was masked ``where``."""
    if verdict.is_so is None:
        return masked_reason(verdict.masked, where)
    return CERTAIN if verdict.is_so else None


def masked_reason(names: Sequence[str], where: str) -> str:
    """Say why nobody knows what stands ``where`` under the names, which are the task's."""
    more = len(names) - MAX_NAMED
    named = ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"{named} of {where} is a secret, kept back"


def join_doubts(doubts: Iterable[str | None]) -> str | None:
    """Return the doubt of what is as expected only if all its parts are: the first one's."""
    found = list(doubts)
    return None if None in found else next(filter(None, found), CERTAIN)


def is_partial(body: object) -> bool:
    """Whether a body is too long to be reported whole, or could not be read."""
    return isinstance(body, Mapping) and (body.get("cut") is True or body.get("lost") is True)


PARTIAL = "not all of a body was reported"
"""Why a rule can't know what it is asked of a body."""
LOST = "a request went out and what the server answered is not known"
"""Why a rule can't know what it is asked of such a request."""
