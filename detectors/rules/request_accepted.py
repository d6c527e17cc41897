"""The server took a request: sent is not accepted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from detectors.arguments import arg
from detectors.matchers import BodyMatch, StatusMatch, TextMatch, UrlMatch
from detectors.matchers.asked import asked
from detectors.matchers.url import url_key
from detectors.matchers.values import BodyType, Repeated, answer_type
from detectors.registry import rule
from detectors.shape import listed, mapping
from detectors.types import Event, Reading
from detectors.world import World

_OK = StatusMatch(((200, 299),))


@dataclass(frozen=True, slots=True)
class Args:
    url: UrlMatch = arg("The address that the request goes to.")
    method: TextMatch = arg("The method, such as POST.", TextMatch("equals", ("GET",)))
    status: StatusMatch = arg("What counts as acceptance; 2xx by default.", _OK)
    redirect_to: UrlMatch | None = arg(
        "The address that acceptance redirects to; without it a redirect is not acceptance.", None
    )
    body: BodyMatch | None = arg("Fields that the request's body carries.", None)
    answer: BodyMatch | None = arg("Fields that the answer's body carries.", None)
    body_as: BodyType | None = arg("What the request's body is read as; without it, what its content type says.", None)
    repeated: Repeated = arg(
        "Which value counts of a form's field that stands in the body more than once; of one whose name ends in [] "
        "each does.",
        "last",
    )

    def asks(self) -> dict[str, list[Any]]:
        """Bodies are kept only where a rule needs them."""
        bodies = {"request_bodies": self.body, "response_bodies": self.answer}
        entry = asked(self.url.address, self.method.keys(), self.status if self.redirect_to is None else _OK)
        return {name: [entry] for name, wanted in bodies.items() if wanted is not None}


def _paths(event: Event) -> tuple[str, ...]:
    if "hops" not in event.data:
        return (url_key(str(event.data.get("url"))),)
    hops = [mapping(hop) for hop in listed(event.data.get("hops"))]
    return tuple(dict.fromkeys(url_key(str(d.get("url"))) for d in (*hops, event.data)))


@rule(
    component="form",
    hears=("request.finished",),
    args=Args,
    index_args=lambda args: args.url.keys(),
    index_event=_paths,
    occurrence=True,
    alone=True,
)
def request_accepted(event: Event, world: World, args: Args) -> Iterator[Reading]:
    """A request is answered, whole, by a status that means acceptance.

    Not on sending; not on an error status; not when cancelled, blocked or failed; not on a redirect, unless
    to the address in `redirect_to`, which itself must answer 2xx; not when the browser's cache or a service worker
    answered in the server's place.
    """
    hops = [mapping(hop) for hop in listed(event.data.get("hops"))]
    elsewhere = event.data.get("cached") is True or event.data.get("answered_by") == "worker"
    for place, hop in enumerate((*hops, event.data)):
        if elsewhere and place == len(hops):
            return  # a redirect before it came from the server
        if _is(hop, args) and _accepted(hop, place < len(hops), event.data, args):
            yield Reading(1.0, f"request:{event.data.get('request')}:{place}")
            return


def _is(hop: Mapping[str, Any], args: Args) -> bool:
    return (
        args.method.matches(str(hop.get("method")))
        and args.url.matches(str(hop.get("url")))
        and (args.body is None or args.body.matches(hop.get("body"), args.body_as, args.repeated))
        and (args.answer is None or _answers(args.answer, mapping(hop.get("answer")).get("body")))
    )


def _answers(wanted: BodyMatch, body: Any) -> bool:
    return wanted.matches(body, answer_type(body))


def _accepted(hop: Mapping[str, Any], redirected: bool, last: Mapping[str, Any], args: Args) -> bool:
    if args.redirect_to is not None:
        return redirected and args.redirect_to.matches(str(last.get("url"))) and _OK.matches(last.get("status"))
    return not redirected and args.status.matches(hop.get("status"))
