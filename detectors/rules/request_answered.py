"""A request such as a benchmark describes it was taken by the server, or is the last of its
kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote, urldefrag, urljoin

from detectors.matchers import AddressesMatch, ContentMatch, StatusMatch, TextMatch
from detectors.matchers.asked import plan_entry
from detectors.matchers.location import base_of
from detectors.matchers.masked_text import MASK
from detectors.matchers.plain import text_key
from detectors.matchers.values import BodyType, Repeated
from detectors.model.errors import UnseenError
from detectors.model.safe_json import as_list, mapping
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg, is_met
from detectors.sdk.kept_back import MASKED, explain_unknown_address
from detectors.sdk.registry import rule
from detectors.sdk.request_facts import (
    CERTAIN,
    ENDS,
    LOST,
    find_doubt,
    is_lost,
    is_servers,
    join_doubts,
    judge_answer,
    judge_body,
)
from detectors.sdk.world import World

_ACCEPTED = StatusMatch(((200, 399),))
_ARRIVED = StatusMatch(((200, 299), (304, 304)))


def _cookie_headers(args: RequestAnsweredArgs) -> tuple[tuple[str, str, ContentMatch | None], ...]:
    return ("response_headers", "set-cookie", args.cookies), (
        "request_headers",
        "cookie",
        args.sent_cookies,
    )


@dataclass(frozen=True, slots=True)
class RequestAnsweredArgs:
    url: AddressesMatch = arg("The addresses that it may go to.")
    method: TextMatch | None = arg("The method, such as POST.", None)
    status: StatusMatch = arg("What the server must say; 2xx or 3xx by default.", _ACCEPTED)
    body: ContentMatch | None = arg("Facts of the request's body.", None)
    answer: ContentMatch | None = arg("Facts of the answer's body.", None)
    body_as: BodyType | None = arg(
        "How the request's body is read; without it, by its content type.", None
    )
    repeated: Repeated = arg(
        "Which value of a form's repeated field counts; if its name ends in [], each does.",
        "last",
    )
    referer: AddressesMatch | None = arg("The page that made the request.", None)
    cookies: ContentMatch | None = arg(
        "Cookies that the answer sets; of these the values are reported.", None
    )
    sent_cookies: ContentMatch | None = arg(
        "Cookies that the request carries; of these the values are reported.", None
    )
    not_to: tuple[str, ...] = arg(
        "Paths that a refusal redirects to, such as /login: then it was not taken.", ()
    )
    which: Literal["any", "last", "document", "opened"] = arg(
        "any: it was made; last: the last one to its address and method, from its page, which the"
        " server answered; document: the last page that a tab opened; opened: the same, but a page"
        " that stands open when the first step begins does not count.",
        "any",
    )

    @property
    def is_about_pages(self) -> bool:
        """Whether the last page that a tab opened counts, and no other request."""
        return self.which in ("document", "opened")

    def asks(self) -> dict[str, list[Any]]:
        """Bodies and headers are kept only where a rule needs them."""
        kept: dict[str, list[Any]] = {}
        methods: tuple[str, ...] | None = None
        if self.method is not None:
            methods = self.method.keys()
        elif self.is_about_pages:
            methods = ("get",)
        for name, content in (("request_bodies", self.body), ("response_bodies", self.answer)):
            if content is not None:
                kept[name] = [
                    plan_entry(url, methods, self.status) for url in self.url.plan_addresses
                ]
        if self.referer is not None:
            kept["request_headers"] = ["referer"]
        for name, header, content in _cookie_headers(self):
            if content is not None:
                kept[name] = [*kept.get(name, ()), header]
                kept["cookies"] = [*kept.get("cookies", ()), *content.names]
        return kept


def _index_methods(args: RequestAnsweredArgs) -> tuple[str, ...] | None:
    """Most requests of a page are GET, and most that count are not."""
    if args.method is None or args.is_about_pages:
        return None
    return args.method.keys()


def _methods(event: Event) -> tuple[str, ...]:
    method = text_key(str(event.data.get("method")))
    hops = event.data.get("hops")
    if not hops:
        return (method,)
    methods = [text_key(str(mapping(hop).get("method"))) for hop in as_list(hops)]
    return tuple(dict.fromkeys([*methods, method]))


@rule(
    component="form",
    version=7,
    hears=(*ENDS, "request.response_started"),
    args=RequestAnsweredArgs,
    index_args=_index_methods,
    index_event=_methods,
    # The page that stands open when the first step begins is a state; a request before it is
    # nobody's.
    occurrence=lambda args: args.which != "document",
    single=lambda args: args.which != "any",
    alone=True,
)
def request_answered(event: Event, world: World, args: RequestAnsweredArgs) -> Iterator[Reading]:
    """A request is answered with one of the statuses, at one of the addresses, from the page, and
    with the given content.

    A redirect counts if its status is among them, the page to which it led was loaded, and that
    page is none of `not_to`. An error, a request that was blocked, and an answer that the browser
    or a service worker made do not count. If a request that may change something was sent and its
    answer was cut off, its effect is not known; nor is what stands in a body that is longer than is
    reported, or in a field or cookie whose value the daemon masks: a password, a token, a card
    number.
    """
    data = event.data
    hops = [*(mapping(hop) for hop in as_list(data.get("hops"))), data]
    last = len(hops) - 1
    if event.kind == "request.failed":
        _check_lost(event, last, args)
    elif args.is_about_pages:
        if _is_page(data):
            yield _reading(_judge_taken(hops, last, args), "document")
    elif args.which == "last":
        for place, hop in enumerate(hops):
            if _counts(hop, args):
                yield _reading(_judge_taken(hops, place, args), _key(event, place, args))
                return
    else:
        yield from _any_hop(event, hops, args)


def _any_hop(
    event: Event, hops: list[Mapping[str, object]], args: RequestAnsweredArgs
) -> Iterator[Reading]:
    """Yield the reading of the first hop that is as expected. Raises `UnseenError` where there is
    none, and of one nobody knows."""
    unknown: UnseenError | None = None
    for place, hop in enumerate(hops):
        if not _counts(hop, args):
            continue
        doubt = _judge_taken(hops, place, args)
        if doubt is None:
            continue
        reading = Reading(1.0, _key(event, place, args))
        if doubt == CERTAIN:
            yield reading
            return
        unknown = unknown or UnseenError(doubt, reading)
    if unknown is not None:
        raise unknown


def _reading(doubt: str | None, key: str) -> Reading:
    """Return the reading of a request. Raises `UnseenError` where nobody knows whether it is as
    expected, for the reason ``doubt``."""
    if doubt:
        raise UnseenError(doubt, Reading(1.0, key))
    return Reading(float(doubt is not None), key)


def _check_lost(event: Event, last: int, args: RequestAnsweredArgs) -> None:
    """Raise `UnseenError` for a request that went out and whose answer was lost, where the rule
    hangs on it."""
    data = event.data
    if args.is_about_pages or not is_lost(event):
        return
    if not _is_meant(data, args) or not _asked_there(data, args):
        return
    level = float(_judge(data, args) is not None and data.get("status") is None)
    if level or args.which == "last":
        raise UnseenError(LOST, Reading(level, _key(event, last, args)))


def _counts(hop: Mapping[str, object], args: RequestAnsweredArgs) -> bool:
    """Whether the rule is about this request: by its address and method and, where the last one
    counts, by who answered it and from where it was asked."""
    if not _is_meant(hop, args):
        return False
    return args.which != "last" or (is_servers(hop) and _asked_there(hop, args))


def _judge_taken(
    hops: list[Mapping[str, object]], place: int, args: RequestAnsweredArgs
) -> str | None:
    """Return why nobody knows whether the request at this place of a chain of redirects is as
    expected, and accepted: `CERTAIN` where it is, None where it is not."""
    if not _is_accepted(hops, place, args):
        return None
    refusal = MASKED if _may_be_refused(hops, place, args) else CERTAIN
    return join_doubts((_judge(hops[place], args), refusal))


def _key(event: Event, place: int, args: RequestAnsweredArgs) -> str:
    return "last" if args.which == "last" else f"request:{event.data.get('request')}:{place}"


def _is_page(data: Mapping[str, object]) -> bool:
    """Whether a tab opened it: not a download, nor what was stopped."""
    if data.get("type") != "Document" or data.get("method") != "GET":
        return False
    return data.get("aborted") is not True and data.get("frame") == data.get("tab")


def _has_method(hop: Mapping[str, object], args: RequestAnsweredArgs) -> bool:
    return is_met(args.method, hop.get("method"))


def _is_meant(hop: Mapping[str, object], args: RequestAnsweredArgs) -> bool:
    return _has_method(hop, args) and args.url.may_be_at(str(hop.get("url")))


def _asked_there(hop: Mapping[str, object], args: RequestAnsweredArgs) -> bool:
    """Whether it may have been asked from the wanted page: where another page is named, it is
    another's last one."""
    if args.referer is None:
        return True
    told = mapping(hop.get("headers")).get("referer")
    return not told or args.referer.judge(str(told)) is not False


def _judge(hop: Mapping[str, object], args: RequestAnsweredArgs) -> str | None:
    """Return why nobody knows whether the request is as expected, by all that the rule says of it:
    a body of which not all was reported, or something that was masked. `CERTAIN` where it is, None
    where it is not."""
    if not _has_method(hop, args):
        return None
    headers = mapping(hop.get("headers"))
    set_by = mapping(mapping(hop.get("response")).get("headers"))
    return join_doubts(
        (
            _judge_address(hop.get("url"), args.url),
            _judge_address(headers.get("referer"), args.referer),
            _judge_cookies(set_by.get("set-cookie"), "\n", args.cookies),
            _judge_cookies(headers.get("cookie"), ";", args.sent_cookies),
            judge_body(hop, args.body, args.body_as, args.repeated),
            judge_answer(hop, args.answer),
        )
    )


def _judge_address(url: object, wanted: AddressesMatch | None) -> str | None:
    """Return the doubt that remains of an address, as `_judge` does of the request."""
    is_so = True if wanted is None else wanted.judge(str(url))
    if is_so is None:
        return explain_unknown_address(str(url))
    return CERTAIN if is_so else None


def _judge_cookies(header: object, between: str, wanted: ContentMatch | None) -> str | None:
    """Return the doubt that remains of the cookies in a header, as `_judge` does."""
    if wanted is None:
        return CERTAIN
    return find_doubt(wanted.judge_document(_cookies(header, between)), "the cookies")


def _cookies(header: object, between: str) -> Mapping[str, object]:
    """Names and values of the cookies in a header."""
    parts = (line.partition(";")[0].partition("=") for line in str(header or "").split(between))
    return {name.strip(): unquote(value) for name, mark, value in parts if mark}


def _is_accepted(hops: list[Mapping[str, object]], place: int, args: RequestAnsweredArgs) -> bool:
    """Whether the server took it: its status is wanted and, of a redirect, where it led to is no
    refusal."""
    hop, last = hops[place], hops[-1]
    if not args.status.matches(hop.get("status")) or not is_servers(hop):
        return False
    if place == len(hops) - 1:
        return True
    try:
        led = _led_to(hop, last)
    except ValueError:  # what is no address led nowhere
        return False
    refused = any(base_of(url).endswith(path.lower()) for url in led for path in args.not_to)
    return not refused and _ARRIVED.matches(last.get("status"))


def _may_be_refused(
    hops: list[Mapping[str, object]], place: int, args: RequestAnsweredArgs
) -> bool:
    """Whether an accepted redirect may have led to a refusal, for what the daemon masked in its
    address."""
    if place == len(hops) - 1:
        return False
    masked = [base_of(url) for url in _led_to(hops[place], hops[-1])]
    ends = [url.rpartition(MASK)[2] for url in masked if MASK in url]
    return any(path.lower().endswith(end) for end in ends for path in args.not_to)


def _led_to(hop: Mapping[str, object], last: Mapping[str, object]) -> list[str]:
    """Return where a redirect led: as it says, and as the last of its chain was asked."""
    said = urldefrag(urljoin(str(hop.get("url")), str(hop.get("location")))).url
    return [said, str(last.get("url"))]
