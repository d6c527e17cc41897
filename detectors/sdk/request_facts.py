"""What an event says of a request: its bodies, who answered it, whether the answer is known."""

from __future__ import annotations

from collections.abc import Mapping

from detectors.matchers import BodyMatch, ContentMatch
from detectors.matchers.values import BodyType, Repeated, answer_type
from detectors.model.safe_json import mapping
from detectors.model.types import Event

ENDS = ("request.finished", "request.failed")
"""The kinds that end a request."""

_NOT_THE_SERVER = ("worker", "unknown")
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


def judge_body(
    hop: Mapping[str, object],
    matcher: BodyMatch | ContentMatch | None,
    read_as: BodyType | None,
    repeated: Repeated,
) -> bool | None:
    """Whether the request's body is as expected; without ``matcher`` it is not looked at. None for
    one of which not all was reported."""
    if matcher is None:
        return True
    body = hop.get("body")
    return None if is_partial(body) else matcher.matches(body, read_as, repeated)


def judge_answer(
    hop: Mapping[str, object], matcher: BodyMatch | ContentMatch | None
) -> bool | None:
    """Whether the answer's body is as expected; without ``matcher`` it is not looked at. None for
    one of which not all was reported."""
    if matcher is None:
        return True
    body = mapping(hop.get("response")).get("body")
    return None if is_partial(body) else matcher.matches(body, answer_type(body))


def is_partial(body: object) -> bool:
    """Whether a body is too long to be reported whole, or could not be read."""
    return isinstance(body, Mapping) and (body.get("cut") is True or body.get("lost") is True)


PARTIAL = "not all of a body was reported"
"""Why a rule can't know what it is asked of a body."""
LOST = "a request went out and what the server answered is not known"
"""Why a rule can't know what it is asked of such a request."""
