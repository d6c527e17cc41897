"""Requests as HAR entries tell them, in a HAR and in a Playwright trace alike: hops joined to
chains, told as live.

Bodies and headers are kept as far as the file has them, masked and bounded as live, but for
pictures, sound and fonts: no rule is known yet that could ask for them.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urldefrag, urlencode, urljoin

from agentd.sources.cdp.network import bodies
from agentd.sources.cdp.state.masking import Secrets
from lab.convert.html_secrets import secret_names
from lab.convert.page_state import Telling

MS = 1_000_000
"""Nanoseconds."""

_TYPES = {
    "document": "Document", "stylesheet": "Stylesheet", "image": "Image", "media": "Media", "font": "Font",
    "script": "Script", "texttrack": "TextTrack", "xhr": "XHR", "fetch": "Fetch", "eventsource": "EventSource",
    "websocket": "WebSocket", "manifest": "Manifest", "ping": "Ping", "preflight": "Preflight",
}  # fmt: skip
_DESTINATIONS = {
    "document": "Document", "iframe": "Document", "frame": "Document", "style": "Stylesheet", "image": "Image",
    "script": "Script", "font": "Font", "audio": "Media", "video": "Media", "track": "TextTrack", "empty": "Fetch",
    "manifest": "Manifest",
}  # fmt: skip
_NOT_KEPT = ("image/", "audio/", "video/", "font/", "application/font")
_BINARY = 2
"""The kind of a socket's message that is no text."""
_REDIRECTS = (301, 302, 303, 307, 308)

UNSEEN = "unseen"
"""The kind of a telling that is no event: a part of the browser's that may have changed unseen (`Tape.interrupt`)."""

Attachment = Callable[[str], bytes | None]
"""Reads what an entry names as the file of a body; None where it is not there."""


class Body(NamedTuple):
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
    body: Body | None
    answer_body: Body | None
    onward: Exchange | None = None
    continues: bool = False
    unanswered: bool = False
    """The file has neither an answer nor a failure: nobody knows what came of it."""
    messages: list[dict[str, Any]] = field(default_factory=list)

    @property
    def redirects(self) -> bool:
        """Whether the answer sends the browser elsewhere."""
        return self.status in _REDIRECTS and bool(self.location) and self.failure is None

    @property
    def commits(self) -> bool:
        """Whether the frame shows this answer as its document."""
        if self.redirects:
            return False
        if (
            self.type != "Document"
            or self.failure is not None
            or self.status in (None, 204, 205)
            or self.onward
        ):
            return False
        return (
            not self.answer_headers.get("content-disposition", "").lower().startswith("attachment")
        )


def exchange(
    entry: dict[str, Any], number: str, at: int, tab: str, attachment: Attachment
) -> Exchange:
    """An entry that was found sound, unmasked; ``at``: when it was sent."""
    request, answer = entry["request"], entry.get("response") or {}
    headers, answer_headers = _headers(request), _headers(answer)
    status = answer.get("status")
    status = status if type(status) is int and status > 0 else None
    failure = answer.get("_failureText") or answer.get("_error") or entry.get("_error")
    if failure is None and entry.get("_wasAborted"):
        failure = "net::ERR_ABORTED"
    content = answer.get("content") or {}
    mime = (
        str(content.get("mimeType") or answer_headers.get("content-type") or "")
        .partition(";")[0]
        .strip()
    )
    timings = entry.get("timings") or {}
    before = sum(_ms(timings.get(part)) for part in ("blocked", "dns", "connect", "send", "wait"))
    end = at + int(_ms(entry.get("time")) * MS)
    return Exchange(
        number=number,
        at=at,
        head=min(end, at + int(before * MS)),
        end=end,
        tab=tab,
        frame=str(entry.get("_frameref") or ""),
        method=str(request["method"]),
        url=request["url"],
        type=_type(entry, headers, mime),
        status=status,
        failure=None if failure is None else str(failure),
        mime="" if mime == "x-unknown" else mime,
        location=str(answer.get("redirectURL") or answer_headers.get("location") or ""),
        cached=bool(entry.get("_fromCache") or (entry.get("cache") or {}).get("beforeRequest")),
        headers=headers,
        answer_headers=answer_headers,
        body=_posted(request.get("postData"), headers, attachment),
        answer_body=_content(content, mime, attachment),
        unanswered=status is None and failure is None,
        messages=[one for one in entry.get("_webSocketMessages") or () if isinstance(one, dict)],
    )


def secret_fields(exchanges: Iterable[Exchange]) -> set[str]:
    """What the password fields are called in the documents that came in."""
    bodies_of = (one.answer_body for one in exchanges if one.answer_body is not None)
    pages = (body.raw.decode("utf-8", "replace") for body in bodies_of if "html" in body.mime)
    return {name for page in pages for name in secret_names(page)}


def join(exchanges: Iterable[Exchange]) -> list[Exchange]:
    """Link each redirect with the request that followed it; gives the first of every chain, all of
    them told."""
    ordered = sorted(exchanges, key=lambda one: one.at)
    for index, one in enumerate(ordered):
        if not one.redirects:
            continue
        try:
            target = urldefrag(urljoin(one.url, one.location)).url
        except ValueError:
            continue  # an address that no browser could follow
        for other in ordered[index + 1 :]:
            if not other.continues and other.tab == one.tab and urldefrag(other.url).url == target:
                one.onward, other.continues = other, True
                break
    return [one for one in ordered if not one.continues]


def tellings(first: Exchange, frame: str, secrets: Secrets) -> Iterator[Telling]:
    """A chain as events, each with its time; ``frame`` is the one that asked."""
    base: dict[str, Any] = {"tab": first.tab, "frame": frame, "request": first.number}
    hops: list[dict[str, Any]] = []
    one = first
    while True:
        about = base | {"method": one.method, "url": secrets.mask_url(one.url)}
        yield Telling(one.at, "request.sent", about | {"type": first.type})
        if not one.redirects:
            break
        hop = {"method": one.method, "url": about["url"], "status": one.status}
        hop |= {"location": secrets.mask_header("location", one.location)} | _captured_fields(
            one, secrets
        )
        hops.append(hop)
        yield Telling(one.end, "request.redirected", base | hop)
        if one.onward is None:
            yield from _unseen(one, "where a redirect led to is not in the file")
            return
        one = one.onward
    yield from _messages(one, about, secrets)
    if one.unanswered:
        yield from _unseen(
            one, f"the answer to {one.method} {about['url']:.200} is not in the file"
        )
        return
    yield _end(one, about | {"type": first.type}, hops, secrets)


def _unseen(one: Exchange, reason: str) -> Iterator[Telling]:
    for part in ("request", *(("page", "frame") if one.type == "Document" else ())):
        yield Telling(one.end, UNSEEN, {"part": part, "reason": reason})


def _end(
    one: Exchange, data: dict[str, Any], hops: list[dict[str, Any]], secrets: Secrets
) -> Telling:
    if one.status is not None:
        data["status"] = one.status
    if one.cached:
        data["cached"] = True
    if one.failure is not None:
        canceled = {"canceled": True} if "ABORTED" in one.failure.upper() else {}
        return Telling(one.end, "request.failed", data | {"error": one.failure} | canceled)
    if one.mime:
        data["mime"] = one.mime
    if hops:
        data["hops"] = hops
    return Telling(one.end, "request.finished", data | _captured_fields(one, secrets))


def _messages(one: Exchange, about: dict[str, Any], secrets: Secrets) -> Iterator[Telling]:
    for message in one.messages:
        kind = "message.sent" if message.get("type") == "send" else "message.received"
        raw = str(message.get("data", "")).encode("utf-8", "replace")
        if message.get("opcode") == _BINARY:
            raw = _decoded(raw.decode()) or b""
        where = {key: about[key] for key in ("tab", "frame", "request", "url")}
        yield Telling(one.head, kind, where | bodies.body_fields(raw, "", secrets))


def _captured_fields(one: Exchange, secrets: Secrets) -> dict[str, Any]:
    """Headers and bodies of both ways."""
    kept: dict[str, Any] = {}
    if one.headers:
        kept["headers"] = secrets.mask_headers(one.headers)
    if one.body is not None:
        kept["body"] = bodies.request_body(one.body.raw, one.body.mime, secrets)
    answer: dict[str, Any] = {}
    if one.answer_headers:
        answer["headers"] = secrets.mask_headers(one.answer_headers)
    if one.answer_body is not None:
        answer["body"] = bodies.body_fields(one.answer_body.raw, one.answer_body.mime, secrets)
    return kept | ({"answer": answer} if answer else {})


def _headers(message: dict[str, Any]) -> dict[str, str]:
    """Names in lower case; values under one name joined as a browser would."""
    found: dict[str, str] = {}
    for header in message.get("headers") or ():
        if (
            not isinstance(header, dict)
            or not isinstance(header.get("name"), str)
            or header["name"].startswith(":")
        ):
            continue
        name, value = header["name"].lower(), str(header.get("value", ""))
        found[name] = (
            f"{found[name]}{chr(10) if name == 'set-cookie' else ', '}{value}"
            if name in found
            else value
        )
    return found


def _type(entry: dict[str, Any], headers: dict[str, str], mime: str) -> str:
    said = _TYPES.get(str(entry.get("_resourceType") or "").lower())
    said = said or _DESTINATIONS.get(headers.get("sec-fetch-dest", ""))
    if said is not None:
        return said
    if headers.get("accept", "").startswith("text/html"):
        return "Document"
    for sign, kind in (
        ("css", "Stylesheet"),
        ("script", "Script"),
        ("image/", "Image"),
        ("font", "Font"),
    ):
        if sign in mime:
            return kind
    return "Other"


def _ms(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and 0 < value < 1e12 else 0.0


def _posted(data: Any, headers: dict[str, str], attachment: Attachment) -> Body | None:
    if not isinstance(data, dict):
        return None
    mime = str(data.get("mimeType") or headers.get("content-type") or "")
    text, named = data.get("text"), data.get("_file") or data.get("_sha1")
    raw = (
        str(text).encode("utf-8", "replace") if text else attachment(str(named)) if named else None
    )
    if not raw and data.get("params"):
        pairs = [(str(one.get("name", "")), str(one.get("value", ""))) for one in data["params"]]
        raw = urlencode(pairs).encode()
    return Body(raw, mime) if raw else None


def _content(content: dict[str, Any], mime: str, attachment: Attachment) -> Body | None:
    if mime.startswith(_NOT_KEPT):
        return None
    text, named = content.get("text"), content.get("_file") or content.get("_sha1")
    raw: bytes | None = None
    if isinstance(text, str):
        raw = (
            _decoded(text)
            if content.get("encoding") == "base64"
            else text.encode("utf-8", "replace")
        )
    elif named:
        raw = attachment(str(named))
    return Body(raw, mime) if raw else None


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
