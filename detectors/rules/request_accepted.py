"""The server took a request: sent is not accepted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from detectors.matchers import BodyMatch, IntRange, StatusMatch, TextMatch, UrlMatch
from detectors.matchers.asked import plan_entry
from detectors.matchers.url import url_key
from detectors.matchers.values import BodyType, Repeated
from detectors.model.errors import UnseenError
from detectors.model.safe_json import as_list, mapping
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.kept_back import explain_unknown_address
from detectors.sdk.registry import rule
from detectors.sdk.request_facts import (
    CERTAIN,
    ENDS,
    LOST,
    is_lost,
    is_made_up,
    is_servers,
    join_doubts,
    judge_answer,
    judge_body,
)
from detectors.sdk.uploads import uploads, why_unknown
from detectors.sdk.world import World

_OK = StatusMatch(((200, 299),))


@dataclass(frozen=True, slots=True)
class RequestAcceptedArgs:
    url: UrlMatch = arg("The address that the request goes to.")
    method: TextMatch = arg("The method, such as POST.", TextMatch("equals", ("GET",)))
    status: StatusMatch = arg("What counts as acceptance; 2xx by default.", _OK)
    redirect_to: UrlMatch | None = arg(
        "The address that acceptance redirects to; without it a redirect is not acceptance.", None
    )
    body: BodyMatch | None = arg("Fields that the request's body carries.", None)
    answer: BodyMatch | None = arg("Fields that the answer's body carries.", None)
    body_as: BodyType | None = arg(
        "How the request's body is read; without it, by its content type.", None
    )
    repeated: Repeated = arg(
        "Which value of a form's repeated field counts; if its name ends in [], each does.",
        "last",
    )
    file: TextMatch | None = arg(
        "The name of a file that the body uploads, such as report.pdf or {glob: '*.pdf'}.", None
    )
    file_size: IntRange | None = arg("The size of that file in bytes.", None)
    file_field: TextMatch | None = arg("The form's field that carries that file.", None)

    @property
    def wants_file(self) -> bool:
        """Whether anything is asked of an uploaded file."""
        return any(one is not None for one in (self.file, self.file_size, self.file_field))

    def asks(self) -> dict[str, list[Any]]:
        """Bodies are kept only where a rule needs them."""
        bodies = {
            "request_bodies": self.body is not None or self.wants_file,
            "response_bodies": self.answer is not None,
        }
        entry = plan_entry(
            self.url.address, self.method.keys(), self.status if self.redirect_to is None else _OK
        )
        return {name: [entry] for name, wanted in bodies.items() if wanted}


def _paths(event: Event) -> tuple[str, ...]:
    if "hops" not in event.data:
        return (url_key(str(event.data.get("url"))),)
    hops = [mapping(hop) for hop in as_list(event.data.get("hops"))]
    return tuple(dict.fromkeys(url_key(str(d.get("url"))) for d in (*hops, event.data)))


@rule(
    component="form",
    version=4,
    hears=ENDS,
    args=RequestAcceptedArgs,
    index_args=lambda args: args.url.keys(),
    index_parts=lambda args: args.url.parts(),
    index_event=_paths,
    occurrence=True,
    alone=True,
)
def request_accepted(event: Event, world: World, args: RequestAcceptedArgs) -> Iterator[Reading]:
    """A request is answered by the server with a status that means acceptance.

    It does not count when it is only sent; with an error status; if it was blocked or failed; with
    a redirect, unless to the address in `redirect_to`, which itself must answer 2xx; or if the
    browser's cache, a service worker or DevTools answered in the server's place. If a worker
    passes a request on, the worker's own request and the server's answer to it count. Once the
    head of an answer has arrived, it does not matter whether the page waits for the rest. If a
    request that may change something (POST, PUT, ...) was sent and its answer was cut off before
    its head, its effect is not known: a step that it could have made worth more, or less, is null.
    So is one that hangs on the size of an uploaded file, where that is not known, on a file beyond
    the first 100 of a request, which are not told, on a body that is longer than is reported, or
    on a field whose value the daemon masks: a password, a token, a card number.
    """
    data = event.data
    hops = [mapping(hop) for hop in as_list(data.get("hops"))]
    unknown: UnseenError | None = None
    for place, hop in enumerate((*hops, data)):
        why = _doubt(hop, place < len(hops), event, args)
        if why is None:
            continue
        reading = Reading(1.0, f"request:{data.get('request')}:{place}")
        if why == CERTAIN:
            yield reading
            return
        unknown = unknown or UnseenError(why, reading)
    if unknown is not None:
        raise unknown


def _doubt(
    hop: Mapping[str, object], redirected: bool, event: Event, args: RequestAcceptedArgs
) -> str | None:
    """Return why nobody knows whether the hop is such a request: `CERTAIN` where it is one, None
    where it is none."""
    lost = event.kind == "request.failed"
    doubt = _judge(hop, args, lost=lost) if is_servers(hop) else None
    if doubt is None:
        return None
    has_file = not args.wants_file or uploads(hop, args.file, args.file_size, args.file_field)
    if has_file is False:
        return None
    if lost:
        return LOST if _may_be_accepted(hop, redirected, event, args) else None
    is_accepted = _accepted(hop, redirected, event.data, args)
    if is_accepted is False:
        return None
    if has_file is None:
        return why_unknown(hop)
    led = CERTAIN if is_accepted else explain_unknown_address(str(event.data.get("url")))
    return join_doubts((doubt, led))


def _judge(hop: Mapping[str, object], args: RequestAcceptedArgs, *, lost: bool) -> str | None:
    """Return why nobody knows whether the request is as expected: a body of which not all was
    reported, or the end of an address that is too long. `CERTAIN` where it is, None where not."""
    if not args.method.matches(str(hop.get("method"))):
        return None
    url = str(hop.get("url"))
    is_there = args.url.judge(url)
    if is_there is False:
        return None
    sent = judge_body(hop, args.body, args.body_as, args.repeated)
    came = CERTAIN if lost else judge_answer(hop, args.answer)
    return join_doubts((sent, came, CERTAIN if is_there else explain_unknown_address(url)))


def _accepted(
    hop: Mapping[str, object],
    redirected: bool,
    last: Mapping[str, object],
    args: RequestAcceptedArgs,
) -> bool | None:
    """Whether the answer means acceptance; None where that hangs on the end of an address that is
    too long."""
    if args.redirect_to is None:
        return not redirected and args.status.matches(hop.get("status"))
    if not redirected or not _OK.matches(last.get("status")):
        return False
    return _leads(last, args.redirect_to)


def _leads(last: Mapping[str, object], to: UrlMatch) -> bool | None:
    """Whether a redirect came to the address, and no service worker or DevTools made that up; None
    where that hangs on the end of an address that is too long."""
    return False if is_made_up(last) else to.judge(str(last.get("url")))


def _may_be_accepted(
    hop: Mapping[str, object], redirected: bool, event: Event, args: RequestAcceptedArgs
) -> bool:
    """Of a request that failed on its way back."""
    last, status = event.data, event.data.get("status")
    if args.redirect_to is None:
        return not redirected and is_lost(event) and (status is None or args.status.matches(status))
    if not redirected or _leads(last, args.redirect_to) is False:
        return False
    return status is None or _OK.matches(status)
