"""A request changed something that the task does not speak of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from detectors.matchers import TextMatch, UrlMatch
from detectors.matchers.url import MAX_URL
from detectors.model.errors import UnseenError
from detectors.model.safe_json import as_list, mapping
from detectors.model.three_valued import any_verdict
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.kept_back import explain_unknown_address
from detectors.sdk.registry import rule
from detectors.sdk.request_facts import ENDS, LOST, is_servers
from detectors.sdk.world import World

_WRITES = TextMatch("one_of", ("POST", "PUT", "PATCH", "DELETE"))
_REFUSED = 400


@dataclass(frozen=True, slots=True)
class OtherRequestMadeArgs:
    url: UrlMatch = arg("Among these addresses, such as /*: all of the task's site.")
    allowed: tuple[UrlMatch, ...] = arg("The addresses to which requests are allowed.", ())
    method: TextMatch = arg("The methods that count; POST, PUT, PATCH, DELETE by default.", _WRITES)


@rule(
    component="form", version=3, hears=ENDS, args=OtherRequestMadeArgs, occurrence=True, alone=True
)
def other_request_made(event: Event, world: World, args: OtherRequestMadeArgs) -> Iterator[Reading]:
    """A request that may change something was sent to an address that is not among the `allowed`,
    and was not refused: the server answered below 400, or the page, the agent or the end of the
    episode cut its answer off.

    A guard: use it under `none_of`, in an `only_if` or a goal, to require that no other request
    was made. A request that a service worker or DevTools answered without the server does not
    count. If a request was sent and its answer was lost, its effect is not known: a step that it
    could have changed is null. So is one that hangs on the end of an address that is too long.
    """
    data = event.data
    hops = [mapping(hop) for hop in as_list(data.get("hops"))]
    reading = Reading(1.0, f"request:{data.get('request')}")
    found = [_judge_meant(hop, args) for hop in hops if _is_taken(hop)]
    end = _end_of(event)
    if end == "taken":
        found.append(_judge_meant(data, args))
    if True in found:
        yield reading
    elif end == "lost" and _judge_meant(data, args) is not False:
        raise UnseenError(LOST, reading)
    elif None in found:
        urls = [str(hop.get("url")) for hop in (*hops, data)]
        raise UnseenError(explain_unknown_address(max(urls, key=len)), reading)


def _end_of(event: Event) -> Literal["taken", "lost", "refused"]:
    """How a request ended: the server took it, or nobody knows, or it did not."""
    data = event.data
    if event.kind == "request.finished" or type(data.get("status")) is int:
        return "taken" if _is_taken(data) else "refused"
    if data.get("sent") is not True:
        return "refused"
    return "taken" if data.get("canceled") is True else "lost"


def _judge_meant(hop: Mapping[str, object], args: OtherRequestMadeArgs) -> bool | None:
    """Whether a request is one that the rule is about; None where that hangs on the end of an
    address that is too long, or on what the daemon masked in it."""
    url = str(hop.get("url"))
    # Nobody hides behind a long query: of what is too long the beginning counts, and only its whole
    # path is allowed.
    asked = url if len(url) <= MAX_URL else url.partition("#")[0].partition("?")[0]
    if not args.method.matches(str(hop.get("method")).upper()):
        return False
    is_meant = True if args.url.matches(url[:MAX_URL]) else args.url.judge(url)
    is_allowed = any_verdict(allowed.judge(asked) for allowed in args.allowed)
    if is_allowed is None and len(asked) <= MAX_URL:
        return None if is_meant else is_meant
    return False if is_allowed else is_meant


def _is_taken(hop: Mapping[str, object]) -> bool:
    status = hop.get("status")
    return type(status) is int and status < _REFUSED and is_servers(hop)
