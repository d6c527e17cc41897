"""The server took a document that says how things stand: what single-page applications save as a
whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from detectors.matchers import StateMatch, StatusMatch, TextMatch, UrlMatch
from detectors.matchers.asked import plan_entry
from detectors.matchers.url import url_key
from detectors.model.errors import UnseenError
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.kept_back import explain_unknown_address
from detectors.sdk.registry import Keys, rule
from detectors.sdk.request_facts import (
    ENDS,
    LOST,
    PARTIAL,
    is_lost,
    is_partial,
    is_servers,
    masked_reason,
)
from detectors.sdk.world import World

_OK = StatusMatch(((200, 299),))


@dataclass(frozen=True, slots=True)
class StateAcceptedArgs:
    url: UrlMatch = arg("The address that the document is sent to.")
    facts: StateMatch = arg("What must stand in it.")
    method: TextMatch = arg("The method.", TextMatch("equals", ("PUT",)))
    whole: bool = arg("Whether a part of the facts is worth nothing.", False)

    def asks(self) -> dict[str, list[Any]]:
        """Ask the daemon to keep the bodies of these requests."""
        return {"request_bodies": [plan_entry(self.url.address, self.method.keys(), _OK)]}


def _path(event: Event) -> Keys:
    return (url_key(str(event.data.get("url"))),)


@rule(
    component="form",
    version=4,
    hears=ENDS,
    args=StateAcceptedArgs,
    index_args=lambda args: args.url.keys(),
    index_parts=lambda args: args.url.parts(),
    index_event=_path,
    single=lambda args: True,
    alone=True,
)
def state_accepted(event: Event, world: World, args: StateAcceptedArgs) -> Iterator[Reading]:
    """The last JSON document that the server accepted at the address has the facts. The level is
    fulfilled / expected.

    Each further document that the server accepts there replaces it: what is undone is no longer
    true. A document that was sent and refused, redirected or answered by the browser itself changes
    nothing. If a document was sent and its answer was cut off, it is not known whether it replaced
    the last one; of one that is longer than is reported, not what it contains, nor what the daemon
    masked in it: a password, a token, a card number. What the document contained before the agent
    began earns nothing.
    """
    data = event.data
    lost = is_lost(event) and data.get("status") is None
    accepted = event.kind == "request.finished" and _OK.matches(data.get("status"))
    is_there = _judge_place(data, args)
    if not (lost or accepted) or is_there is False:
        return
    verdict = args.facts.judge_share(data.get("body"))
    key = f"state:{args.url.origin}{args.url.path}"
    reading = Reading(_level(verdict.least, args), key)
    could = Reading(_level(verdict.most, args), key)
    if lost:
        raise UnseenError(LOST, could)
    if is_there is None:
        raise UnseenError(explain_unknown_address(str(data.get("url"))), could)
    if is_partial(data.get("body")):
        raise UnseenError(PARTIAL, reading._replace(level=1.0))
    if could.level > reading.level:
        raise UnseenError(masked_reason(verdict.masked, "the document"), could, reading)
    yield reading


def _level(share: float, args: StateAcceptedArgs) -> float:
    return 0.0 if args.whole and share < 1.0 else share


def _judge_place(data: Mapping[str, object], args: StateAcceptedArgs) -> bool | None:
    """Whether the request went to the address, without a redirect, and to the server itself; None
    where nobody knows, as `UrlMatch.judge` has it."""
    if not args.method.matches(str(data.get("method"))):
        return False
    if not is_servers(data) or data.get("hops"):
        return False
    return args.url.judge(str(data.get("url")))
