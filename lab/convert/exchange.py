"""Requests as HAR entries describe them, in a HAR and in a Playwright trace alike: hops joined to
chains, reported as live.

Bodies and headers are kept as far as the file has them, masked and bounded as live, but for
pictures, sound and fonts: no rule is known yet that could ask for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import quote, urlencode, urljoin, urlsplit, urlunsplit

from agentd.sources.cdp.network import bodies
from agentd.sources.cdp.network.request_ends import may_have_gone_out
from agentd.sources.cdp.state.masking import Secrets
from detectors.model.json_value import (
    JsonObject,
    JsonValue,
    objects_in,
    read_list,
    read_object,
    read_text,
    require_object,
    require_text,
)
from detectors.model.optional_values import drop_empty, entries_without_none
from detectors.sdk.request_facts import writes
from lab.convert.html_secrets import secret_names
from lab.convert.page_state import UNSEEN, Telling

MAX_MS = 1e12
MS = 1_000_000
"""Nanoseconds."""

_TYPES = {
    "document": "Document", "stylesheet": "Stylesheet", "image": "Image", "media": "Media",
    "font": "Font", "script": "Script", "texttrack": "TextTrack", "xhr": "XHR", "fetch": "Fetch",
    "eventsource": "EventSource", "websocket": "WebSocket", "manifest": "Manifest", "ping": "Ping",
    "preflight": "Preflight",
}  # fmt: skip
_DESTINATIONS = {
    "document": "Document", "iframe": "Document", "frame": "Document", "style": "Stylesheet",
    "image": "Image", "script": "Script", "font": "Font", "audio": "Media", "video": "Media",
    "track": "TextTrack", "empty": "Fetch", "manifest": "Manifest",
}  # fmt: skip
_NOT_KEPT = ("image/", "audio/", "video/", "font/", "application/font")
_BINARY = 2
"""The kind of a socket's message that is no text."""
_KEPT = "/?%:@!$&'()*+,;=~[]|"
"""What stays as it is in an address's path and query."""
_PORTS = {"http": 80, "https": 443}
_FORM = "application/x-www-form-urlencoded"
_REDIRECTS = (301, 302, 303, 307, 308)
_NO_DOCUMENT = (None, 204, 205)
"""Statuses whose answer replaces no document."""
_BEFORE_HEAD = ("blocked", "dns", "connect", "send", "wait")
"""Timings of an entry that pass until the answer's head is there."""
_MIME_SIGNS = (
    ("css", "Stylesheet"),
    ("script", "Script"),
    ("image/", "Image"),
    ("font", "Font"),
)
"""What the MIME type of an answer has in it, and the kind of resource that it is then."""

Attachment = Callable[[str], bytes | None]
"""Reads what an entry names as the file of a body; None where it is not there."""


class CapturedBody(NamedTuple):
    """A body as the file has it, unmasked."""

    raw: bytes
    mime: str


@dataclass(slots=True)
class Exchange:
    """One entry. Times in nanoseconds since the beginning: sent, the answer's head, its end.
    ``frame`` may be ""."""

    number: str
    at: int
    head: int
    end: int
    tab: str
    frame: str
    method: str
    url: str
    type: str
    status: int | None
    failure: str | None
    mime: str
    location: str
    cached: bool
    headers: dict[str, str]
    answer_headers: dict[str, str]
    body: CapturedBody | None
    answer_body: CapturedBody | None
    onward: Exchange | None = None
    continues: bool = False
    unanswered: bool = False
    """The file has neither an answer nor a failure: nobody knows what came of it."""
    messages: list[JsonObject] = field(default_factory=list)

    @property
    def redirects(self) -> bool:
        """Whether the answer sends the browser elsewhere."""
        return self.status in _REDIRECTS and bool(self.location) and self.failure is None

    @property
    def commits(self) -> bool:
        """Whether the frame shows this answer as its document."""
        is_document = self.type == "Document" and self.status not in _NO_DOCUMENT
        leads_on = self.redirects or self.onward is not None
        if self.failure is not None or leads_on or not is_document:
            return False
        disposition = self.answer_headers.get("content-disposition", "")
        is_download = disposition.lower().startswith("attachment")
        return not is_download

    def last(self) -> Exchange:
        """Follow the redirects to the end of the chain."""
        end = self
        while end.onward is not None:
            end = end.onward
        return end


def parse_exchange(
    entry: JsonObject, number: str, at: int, tab: str, attachment: Attachment
) -> Exchange:
    """Read an entry that was found sound, unmasked; ``at``: when it was sent."""
    request, answer = read_object(entry, "request"), read_object(entry, "response")
    headers, answer_headers = _headers(request), _headers(answer)
    status = _status(answer)
    failure = _failure(entry, answer)
    content = read_object(answer, "content")
    mime = _mime(content, answer_headers)
    head, end = _times(entry, at)
    cache = read_object(entry, "cache")
    return Exchange(
        number=number,
        at=at,
        head=head,
        end=end,
        tab=tab,
        frame=read_text(entry, "_frameref"),
        method=str(request["method"]),
        url=require_text(request["url"], "request.url"),
        type=_type(entry, headers, mime),
        status=status,
        failure=failure,
        mime="" if mime == "x-unknown" else mime,
        location=read_text(answer, "redirectURL", answer_headers.get("location", "")),
        cached=bool(entry.get("_fromCache") or cache.get("beforeRequest")),
        headers=headers,
        answer_headers=answer_headers,
        body=_posted(request.get("postData"), headers, attachment),
        answer_body=_content(content, mime, attachment),
        unanswered=status is None and failure is None,
        messages=objects_in(entry.get("_webSocketMessages")),
    )


def _status(answer: JsonObject) -> int | None:
    """Return an answer's status; None where the file has none, or has 0 or less for none."""
    status = answer.get("status")
    return status if type(status) is int and status > 0 else None


def _failure(entry: JsonObject, answer: JsonObject) -> str | None:
    """The error with which a request ended, in the words of whoever wrote the file."""
    failure = answer.get("_failureText") or answer.get("_error") or entry.get("_error")
    if failure is not None:
        return str(failure)
    if entry.get("_wasAborted"):
        return "net::ERR_ABORTED"
    return None


def _mime(content: JsonObject, answer_headers: dict[str, str]) -> str:
    mime = read_text(content, "mimeType", answer_headers.get("content-type", ""))
    return mime.partition(";")[0].strip()


def _times(entry: JsonObject, at: int) -> tuple[int, int]:
    """When the answer's head was there, and its end; the request was sent ``at``."""
    timings = read_object(entry, "timings")
    before = sum(_ms(timings.get(part)) for part in _BEFORE_HEAD)
    end = at + int(_ms(entry.get("time")) * MS)
    return min(end, at + int(before * MS)), end


def secret_fields(exchanges: Iterable[Exchange]) -> set[str]:
    """What the password fields are called in the documents that came in."""
    names: set[str] = set()
    for exchange in exchanges:
        body = exchange.answer_body
        if body is not None and "html" in body.mime:
            names |= secret_names(body.raw.decode("utf-8", "replace"))
    return names


def join(exchanges: Iterable[Exchange]) -> list[Exchange]:
    """Link each redirect with the request that followed it; gives the first of every chain, all of
    them told."""
    ordered = sorted(exchanges, key=lambda exchange: exchange.at)
    for index, exchange in enumerate(ordered):
        if not exchange.redirects:
            continue
        follower = _follower(exchange, ordered[index + 1 :])
        if follower is not None:
            exchange.onward = follower
            follower.continues = True
    return [exchange for exchange in ordered if not exchange.continues]


def _follower(exchange: Exchange, later: Iterable[Exchange]) -> Exchange | None:
    """The request with which the browser followed a redirect, by its tab and address."""
    try:
        target = _as_requested(urljoin(exchange.url, exchange.location))
    except ValueError:
        return None  # an address that no browser could follow
    candidates = (
        other
        for other in later
        if not other.continues and other.tab == exchange.tab and _is_at(other.url, target)
    )
    return next(candidates, None)


def _is_at(url: str, target: str) -> bool:
    """Whether a request's address is ``target``, as `_as_requested` writes that."""
    try:
        return _as_requested(url) == target
    except ValueError:
        return False


def _as_requested(url: str) -> str:
    """Write an address as a browser requests it: without dots as parts of its path, its host in
    small letters, letters beyond ASCII percent-encoded, no usual port. Raises ValueError."""
    parts = urlsplit(url)
    place = (parts.hostname or "").encode("idna").decode()
    if parts.port not in (None, _PORTS.get(parts.scheme)):
        place = f"{place}:{parts.port}"
    path = quote(parts.path, safe=_KEPT) or "/"
    if "/." in path:
        rooted = "/" + path.lstrip("/")
        path = urlsplit(urljoin("http://host/", rooted)).path
    query = quote(parts.query, safe=_KEPT)
    return urlunsplit((parts.scheme, place, path, query, ""))


def tellings(first: Exchange, frame: str, secrets: Secrets) -> Iterator[Telling]:
    """A chain as events, each with its time; ``frame`` is the one that asked."""
    base: dict[str, JsonValue] = {"tab": first.tab, "frame": frame, "request": first.number}
    hops: list[JsonObject] = []
    exchange = first
    while True:
        about = base | {"method": exchange.method, "url": secrets.mask_url(exchange.url)}
        yield Telling(exchange.at, "request.sent", about | {"type": first.type})
        if not exchange.redirects:
            break
        hop: dict[str, JsonValue] = {
            "method": exchange.method,
            "url": about["url"],
            "status": exchange.status,
            "location": secrets.mask_header("location", exchange.location),
            **_captured_fields(exchange, secrets),
        }
        hops.append(hop)
        yield Telling(exchange.end, "request.redirected", base | hop)
        if exchange.onward is None:
            yield from _unseen(exchange, "where a redirect led to is not in the file")
            return
        exchange = exchange.onward
    yield from _messages(exchange, about, secrets)
    if exchange.unanswered:
        asked = f"{exchange.method} {about['url']:.200}"
        yield from _unseen(exchange, f"the answer to {asked} is not in the file")
        return
    yield _end(exchange, about | {"type": first.type}, hops, secrets)


def _unseen(exchange: Exchange, reason: str) -> Iterator[Telling]:
    """Tell that nobody knows how a request ended, nor, of a document, what its frame showed."""
    parts = ["request"]
    if exchange.type == "Document":
        parts += ["page", "frame"]
    for part in parts:
        yield Telling(exchange.end, UNSEEN, {"part": part, "reason": reason})


def _end(
    exchange: Exchange, data: dict[str, JsonValue], hops: list[JsonObject], secrets: Secrets
) -> Telling:
    """Tell how the request ended; ``data``: what is known of it so far, which grows."""
    known: dict[str, JsonValue] = {"status": exchange.status, "error": exchange.failure}
    of_answer: dict[str, JsonValue] = {"cached": exchange.cached, "hops": hops}
    data |= entries_without_none(known)
    data |= drop_empty(of_answer)
    if exchange.failure is None:
        data |= drop_empty({"mime": exchange.mime}) | _captured_fields(exchange, secrets)
        return Telling(exchange.end, "request.finished", data)
    optional = {
        "canceled": "ABORTED" in exchange.failure.upper(),
        "sent": writes(data) and may_have_gone_out(data),
    }
    return Telling(exchange.end, "request.failed", data | drop_empty(optional))


def _messages(exchange: Exchange, about: JsonObject, secrets: Secrets) -> Iterator[Telling]:
    """Tell each message of a WebSocket, at the time of the answer's head."""
    where = {key: about[key] for key in ("tab", "frame", "request", "url")}
    for message in exchange.messages:
        is_sent = message.get("type") == "send"
        kind = "message.sent" if is_sent else "message.received"
        text = str(message.get("data", ""))
        raw = text.encode("utf-8", "replace")
        if message.get("opcode") == _BINARY:
            raw = bodies.decode_base64(raw.decode()) or b""
        fields = bodies.body_fields(raw, "", secrets)
        yield Telling(exchange.head, kind, where | fields)


def _captured_fields(exchange: Exchange, secrets: Secrets) -> dict[str, JsonValue]:
    """Headers and bodies of both ways."""
    captured: dict[str, JsonValue] = {"headers": secrets.mask_headers(exchange.headers)}
    if exchange.body is not None:
        captured["body"] = bodies.request_body(exchange.body.raw, exchange.body.mime, secrets)
    answer: dict[str, JsonValue] = {"headers": secrets.mask_headers(exchange.answer_headers)}
    if exchange.answer_body is not None:
        raw, mime = exchange.answer_body
        answer["body"] = bodies.body_fields(raw, mime, secrets)
    return drop_empty(captured | {"response": drop_empty(answer)})


def _headers(message: JsonObject) -> dict[str, str]:
    """Names in lower case; values under one name joined as a browser would."""
    headers: dict[str, list[str]] = defaultdict(list)
    for header in objects_in(read_list(message, "headers")):
        name = header.get("name")
        if isinstance(name, str) and not name.startswith(":"):
            value = str(header.get("value", ""))
            headers[name.lower()].append(value)
    cookies = headers.pop("set-cookie", [])
    joined = {name: ", ".join(values) for name, values in headers.items()}
    if cookies:
        joined["set-cookie"] = "\n".join(cookies)
    return joined


def _type(entry: JsonObject, headers: dict[str, str], mime: str) -> str:
    """The kind of resource in CDP's words: as the file has it, else guessed."""
    stated = read_text(entry, "_resourceType").lower()
    destination = headers.get("sec-fetch-dest", "")
    known = _TYPES.get(stated) or _DESTINATIONS.get(destination)
    if known is not None:
        return known
    accepted = headers.get("accept", "")
    if accepted.startswith("text/html"):
        return "Document"
    return next((kind for sign, kind in _MIME_SIGNS if sign in mime), "Other")


def _ms(value: JsonValue) -> float:
    """A duration in milliseconds; 0 for what is none, or is longer than any request lasts."""
    if not isinstance(value, int | float):
        return 0.0
    is_possible = 0 < value < MAX_MS
    return float(value) if is_possible else 0.0


def _posted(
    data: JsonValue, headers: dict[str, str], attachment: Attachment
) -> CapturedBody | None:
    """Return the body that a request sent, as bytes or as the fields of a form; None for none."""
    if not isinstance(data, dict):
        return None
    mime = read_text(data, "mimeType", headers.get("content-type", ""))
    raw = _posted_bytes(data, attachment)
    if not raw:
        raw, mime = _posted_fields(data), _FORM
    return CapturedBody(raw, mime) if raw else None


def _posted_bytes(data: JsonObject, attachment: Attachment) -> bytes | None:
    """What a request carried: a text, plain or as base64, or a file beside the entry."""
    text, attached = read_text(data, "text"), _attached_name(data)
    if text:
        is_base64 = data.get("encoding") == "base64"
        return bodies.decode_base64(text) if is_base64 else text.encode("utf-8", "replace")
    return attachment(attached) if attached else None


def _posted_fields(data: JsonObject) -> bytes:
    """The fields of a form whose body the file has in parts alone, as a form's body; files left
    out."""
    fields = [require_object(part, "params") for part in read_list(data, "params")]
    pairs = [
        (str(field.get("name", "")), str(field.get("value", "")))
        for field in fields
        if not field.get("fileName")
    ]
    return urlencode(pairs).encode()


def _content(content: JsonObject, mime: str, attachment: Attachment) -> CapturedBody | None:
    """Return an answer's body; None for none, and for kinds that no rule asks about."""
    if mime.startswith(_NOT_KEPT):
        return None
    raw = _content_bytes(content, attachment)
    return CapturedBody(raw, mime) if raw else None


def _content_bytes(content: JsonObject, attachment: Attachment) -> bytes | None:
    """What an answer carried: a text, plain or as base64, or a file beside the entry."""
    text, attached = content.get("text"), _attached_name(content)
    if isinstance(text, str):
        is_base64 = content.get("encoding") == "base64"
        return bodies.decode_base64(text) if is_base64 else text.encode("utf-8", "replace")
    return attachment(attached) if attached else None


def _attached_name(part: JsonObject) -> str:
    """The name of the file in which a body lies; "" where there is none."""
    return str(part.get("_file") or part.get("_sha1") or "")
