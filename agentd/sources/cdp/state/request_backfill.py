"""A tab's first moments: what it asked the network for before the daemon could listen there.

A session begins some milliseconds after its page does, and reaches the page's renderer later still.
So the browser may tell of an answer without having told of the request. What the request surely was
is put in before the answer, and the message goes its usual way; what can't be known is a gap. Sure
are

- scripts, styles, images, icons, fonts and media, which are always fetched by GET;
- a request of which the network service showed the headers, without an Origin, which everything but
  GET and HEAD carries, and whose answer had a body, which HEAD has not;
- a document that the tab's history does not call the result of a form, at the address that was
  asked for. (A redirect that leads over another site back to the very same address is not seen.)

What was over before the session began is read from the document's own list of what it loaded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentd.sources.cdp.state.protocol import (
    INNER_SCHEMES,
    HistoryEntry,
    Listed,
    ResourceListing,
)
from agentd.sources.cdp.state.state import (
    BrowserState,
    CdpObservation,
    Params,
    SessionState,
    remember,
)
from detectors.model.optional_values import pick_keys

MAX_REQUESTS = 2000
"""Requests that are looked at; a page that has more was listened to long ago."""

_GET_TYPES = frozenset(
    "Stylesheet Script Image Font Media TextTrack Manifest EventSource Prefetch".split()
)
_MAYBE_GET = frozenset(("XHR", "Fetch", "Other"))
# Initiator of an entry in a document's list → type of the request, of what is always fetched by
# GET.
_INITIATORS = {
    "script": "Script", "link": "Other", "css": "Other", "icon": "Other",
    "img": "Image", "image": "Image", "input": "Image", "body": "Image",
    "video": "Media", "audio": "Media", "track": "TextTrack",
}  # fmt: skip

LISTING = """(() => {
  const [own] = performance.getEntriesByType("navigation");
  const rest = performance.getEntriesByType("resource").slice(0, 500);
  // Called on the prototype: a form of the page may shadow the document's own names.
  const all = Document.prototype.querySelectorAll.call(document, "link[rel~=icon]");
  const icons = Array.from(all, (one) => one.href);
  if (/^https?:/.test(location.href)) icons.push(new URL("/favicon.ico", location.href).href);
  const kind = ({ initiatorType: type, name }) =>
    type === "other" && icons.includes(name) ? "icon" : type;
  const state = Object.getOwnPropertyDescriptor(Document.prototype, "readyState");
  return {
    url: location.href,
    status: own && !own.workerStart ? own.responseStatus ?? 0 : 0,
    redirects: own?.redirectCount ?? 0,
    ended: own?.responseEnd > 0,
    complete: state.get.call(document) === "complete",
    loaded: rest.map((one) => [one.name, kind(one), one.workerStart ? 0 : one.responseStatus ?? 0,
      one.redirectStart > 0]),
  };
})()"""
"""Read in the isolated world of a tab's or a frame's first document. What went through a service
worker has no status here: whether the server gave it nobody knows."""


class Message(NamedTuple):
    """One message for the network's fold."""

    method: str
    params: Params


@dataclass(slots=True)
class Unsent:
    """A request of which only the answer is told; its messages wait in ``held`` until it is known
    what it was."""

    kind: str
    held: list[Message] = field(default_factory=list)
    has_body: bool = False


@dataclass(slots=True)
class Arrival:
    """One session's. ``expected``: the address for which the tab was opened; ``opened``: another
    page opened it; ``prepared``: it is prerendered, which is done by GET; ``document``: the one
    that stood there when its renderer could be heard, ``inner`` where that is no document of the
    network's (a frame's `srcdoc`); ``known``: its first document is accounted for; ``completed``:
    the requests that were put in, with their addresses; ``missed``: why there is a gap, ``said``
    once; ``over``: it is the first document no more; ``downloads``: the tab has begun a download;
    ``silent``: it did not answer in time, which is said."""

    expected: str = ""
    opened: bool = False
    prepared: bool = False
    document: str = ""
    inner: str = ""
    known: bool = False
    completed: dict[str, str] = field(default_factory=dict)
    missed: str = ""
    said: bool = False
    downloads: bool = False
    silent: bool = False
    over: bool = False
    _sent: dict[str, None] = field(default_factory=dict)
    _urls: Counter[str] = field(default_factory=Counter)
    _origins: dict[str, str] = field(default_factory=dict)
    _unsent: dict[str, Unsent] = field(default_factory=dict)
    _ended: dict[str, None] = field(default_factory=dict)
    _answered: dict[str, None] = field(default_factory=dict)
    _strays: dict[str, None] = field(default_factory=dict)
    _is_heard: bool = False
    _is_listed: bool = False
    _begun: dict[str, str] = field(default_factory=dict)

    def message(self, browser: BrowserState, method: str, params: Params) -> Iterator[Message]:
        """Take one message of the network's domain; gives what the fold is to take instead."""
        number = params.get("requestId", "")
        message = Message(method, params)
        if method == "Network.requestWillBeSent":
            yield from self._handle_request(params)
        elif method == "Network.requestWillBeSentExtraInfo":
            if len(self._origins) < MAX_REQUESTS:
                self._origins[number] = _method(params.get("headers", {}))
        elif method == "Network.responseReceived":
            yield from self._answer(browser, message)
            return
        elif number in self._unsent:
            yield from self._goes_on(message)
            return
        elif method == "Network.loadingFailed":
            if not self._is_told(browser, number):
                self._miss("a request failed of which nothing was heard before")
        elif method == "Network.loadingFinished":
            self._end(number)
            if not self._is_told(browser, number):
                self._note_stray(number)
        yield message

    def _note_stray(self, number: str) -> None:
        """A request is over of which nothing was heard: the document's list will have it, if that
        is not over."""
        self._strays[number] = None
        if self._is_listed:
            self._miss("a request was over of which nothing was heard before")

    @property
    def unheard(self) -> bool:
        """Whether the page has not answered yet, and nothing was said of that."""
        return not self._is_heard and not self.silent

    def fenced(self) -> Iterator[CdpObservation]:
        """The page had time to answer: one that did not may stand in a dialog that opened before it
        was listened to."""
        if self.unheard:
            self.silent = True
            reason = "a new tab does not answer; it may stand in a dialog that nobody heard of"
            yield CdpObservation("gap.began", {"source": "cdp", "part": "dialog", "reason": reason})

    def answered(self, *, gone: bool = False) -> Iterator[CdpObservation]:
        """It answers now, or is gone."""
        if self.silent and (self._is_heard or gone):
            self.silent = False
            yield CdpObservation("gap.ended", {"source": "cdp", "part": "dialog"})

    def began(self, loader: str, url: str) -> None:
        """A navigation of the tab itself, to the document ``loader``, has begun."""
        self._begun[loader] = url

    def start_listening(self, browser: BrowserState, loader: str, url: str) -> None:
        """The renderer can be heard from here on; ``loader`` and ``url`` are of the document that
        stands there."""
        self.document, self._is_heard = loader, True
        order = list(self._begun)
        before = order[: order.index(loader)] if loader in order else []
        if any(is_outer(self._begun[one]) and one not in browser.errors for one in before):
            self._miss("a document was left before its requests could be heard")
        if not is_outer(url):
            self.document, self.inner = "", loader

    def listed(
        self, browser: BrowserState, session: SessionState, params: Listed
    ) -> Iterator[Message]:
        """The first document's list is there, and the tab's history if it has one."""
        listing = params["listing"]
        entries = params.get("entries") or []
        entry = entries[params.get("currentIndex", 0)] if entries else None
        loader, frame = params["loaderId"], session.root
        if not is_outer(listing["url"]):
            if loader == self.inner:
                yield from self._resources(loader, frame, listing["loaded"])
            return
        self._expects(entries)
        if loader not in browser.loaders:
            yield from self._document(loader, frame, listing, entry)
        if listing["ended"] and loader in browser.loaders and loader not in self._ended:
            yield from self._ends(loader, frame, listing)
        if loader == self.document:
            yield from self._resources(loader, frame, listing["loaded"])
        self._drop_documents()
        self.known = True
        self._is_listed = bool(params.get("last"))
        if listing["complete"]:
            self._strays.clear()

    def _drop_documents(self) -> None:
        """Forget documents whose sending was not reported: the list has what came of them."""
        for number in list(self._unsent):
            if self._unsent[number].kind == "Document":
                self._drop(number)

    def replaced(self, browser: BrowserState, loader: str, url: str) -> Iterator[Message]:
        """Another document comes after the one of ``loader`` and ``url``."""
        if not is_outer(url):
            return  # the empty one that every tab begins with
        if loader != self.document and loader in browser.loaders:
            self.known = True  # it came when its renderer could be heard already
        yield from self.close(browser)
        self.over = True

    def close(self, browser: BrowserState) -> Iterator[Message]:
        """The tab is gone, or its first document is, before that was accounted for."""
        for number, unsent in list(self._unsent.items()):
            asked = _plain(self.expected) == _plain(unsent.held[0].params["response"]["url"])
            if asked and self._origins.get(number) == "GET":  # as of a tab opened for a download
                yield from self._release(number)
            else:
                self._drop(number)
        if self._strays:
            self._miss("a request was over of which nothing was heard before")
        if not self.known and (self._is_unheard_popup() or self._may_lack_requests(browser)):
            self._miss("a tab's first document was gone before its requests were known")
        self.known = True

    def _is_unheard_popup(self) -> bool:
        """Whether another page opened the tab empty, and nothing was heard of it since: that page
        may have sent a form there, or started a download."""
        return self.opened and not is_outer(self.expected) and not self._is_heard

    def _may_lack_requests(self, browser: BrowserState) -> bool:
        """Whether the tab had, began or was opened for a document whose requests nobody heard."""
        if self.document:
            return True
        if is_outer(self.expected) and not self._urls[_plain(self.expected)]:
            return True
        begun = [loader for loader, url in self._begun.items() if is_outer(url)]
        unheard = [loader for loader in begun if loader not in browser.errors]
        if self._is_heard:
            unheard = [loader for loader in unheard if loader not in browser.loaders]
        return bool(unheard)

    def may_have_downloaded(self, url: str) -> bool:
        """Whether a tab that is gone, on ``url`` at last, was opened for a download of which
        nothing was heard."""
        has_begun = any(is_outer(one) for one in self._begun.values())
        wanted = is_outer(self.expected) or has_begun or self._is_unheard_popup()
        return wanted and not self.downloads and not is_outer(url)

    # -- what is seen of a request

    def _handle_request(self, params: Params) -> Iterator[Message]:
        """Note a request that was heard; a redirect whose beginning was missed is filled in where
        that is safe."""
        number = params["requestId"]
        if number not in self._sent and "redirectResponse" in params:
            hop = params["redirectResponse"]["url"]
            if self._origins.get(number) == "GET":
                yield self._completing(number, {**params, "redirectResponse": None}, hop)
            else:
                self._miss("a redirect was heard of without the request before it")
        self._urls[_plain(params["request"]["url"])] += 1
        if len(self._sent) < MAX_REQUESTS:
            self._sent[number] = None

    def _answer(self, browser: BrowserState, one: Message) -> Iterator[Message]:
        """Fill in the request that an answer shows; where its method is not sure, hold it until
        more is known."""
        number, url = one.params["requestId"], one.params["response"]["url"]
        remember(self._answered, number, None, MAX_REQUESTS)
        if url.startswith(INNER_SCHEMES) or self._is_told(browser, number):
            remember(self._sent, number, None, MAX_REQUESTS)
            yield one
            return
        kind = one.params.get("type", "Other")
        self._urls[_plain(url)] += 1
        if kind in _GET_TYPES or url.partition("?")[0].endswith("/favicon.ico"):
            yield self._completing(number, one.params, url)
            yield one
        else:
            self._unsent[number] = Unsent(kind, [one])

    def _goes_on(self, one: Message) -> Iterator[Message]:
        """Hold what comes of such a request, and decide at its end whether it was a GET."""
        number = one.params["requestId"]
        unsent = self._unsent[number]
        unsent.held.append(one)
        if one.method == "Network.dataReceived" and one.params.get("dataLength"):
            unsent.has_body = True
        if one.method not in ("Network.loadingFinished", "Network.loadingFailed"):
            return
        if unsent.kind == "Document" and not self.known:
            return  # its list and the tab's history will tell
        if unsent.kind in _MAYBE_GET and self._origins.get(number) == "GET" and unsent.has_body:
            yield from self._release(number)
        else:
            self._drop(number)

    def _release(self, number: str) -> Iterator[Message]:
        """Give a held request with all that came of it."""
        unsent = self._unsent.pop(number)
        first = unsent.held[0].params
        yield self._completing(number, first, first["response"]["url"])
        yield from unsent.held
        if unsent.held[-1].method == "Network.loadingFinished":
            self._end(number)

    def _end(self, number: str) -> None:
        self._ended[number] = None

    def _drop(self, number: str) -> None:
        del self._unsent[number]
        self._miss("a request was answered of which nothing was heard before")

    # -- what the document's own list says

    def _expects(self, entries: list[HistoryEntry]) -> None:
        """Note a gap where the document that was expected is nowhere to be seen."""
        asked = {_plain(entry.get("userTypedURL", "")) for entry in entries}
        wanted = _plain(self.expected)
        if is_outer(wanted) and not self._urls[wanted] and wanted not in asked:
            self._miss("a document was left before its requests could be heard")

    def _document(
        self, loader: str, frame: str, listing: ResourceListing, entry: HistoryEntry | None
    ) -> Iterator[Message]:
        """The first document itself: fetched by GET from just there, or not known."""
        url = listing["url"]
        is_sure = self.prepared or (
            self._is_fetched_by_get(loader, entry)
            and _plain(entry.get("userTypedURL", "") if entry else "") == _plain(url)
        )
        if not is_sure or listing["redirects"]:
            self._miss("how a tab's first document was asked for is not known")
        elif loader in self._unsent:
            yield from self._release(loader)
        elif listing["status"]:
            yield from self._made_up(loader, loader, frame, url, "Document", listing["status"])
        else:
            self._miss("how a tab's first document was answered is not known")
        self._unsent.pop(loader, None)

    def _is_fetched_by_get(self, loader: str, entry: HistoryEntry | None) -> bool:
        """Whether a document was fetched by GET, says the network, or else the tab's history."""
        if loader in self._origins:
            return self._origins[loader] == "GET"
        how = entry.get("transitionType") if entry else None
        return how not in (None, "form_submit", "reload")

    def _ends(self, loader: str, frame: str, listing: ResourceListing) -> Iterator[Message]:
        """Its request was told, its end fell into the time when nobody listened."""
        if loader not in self._answered and listing["status"]:
            answer = {
                "url": listing["url"],
                "status": listing["status"],
                "headers": {},
                "mimeType": "",
            }
            base = {"requestId": loader, "loaderId": loader, "frameId": frame, "type": "Document"}
            yield Message("Network.responseReceived", {**base, "response": answer})
        yield Message("Network.loadingFinished", {"requestId": loader})

    def _resources(self, loader: str, frame: str, loaded: list[Any]) -> Iterator[Message]:
        """What the list has beyond what was heard."""
        heard = Counter(self._urls)
        may_be_redirected = self._ends_unlisted(loader, loaded)
        for name, initiator, status, redirected in loaded:
            url = _plain(name)
            kind = _INITIATORS.get(initiator, "")
            if heard[url]:
                heard[url] -= 1
            elif initiator in ("iframe", "frame"):
                continue  # theirs are reported as documents
            elif kind and status and not redirected and not may_be_redirected:
                self._urls[url] += 1
                number = f"{loader}.listed.{len(self.completed)}"
                yield from self._made_up(number, loader, frame, name, kind, status)
            elif is_outer(name):
                self._miss("a request was over before the tab could be listened to")

    def _ends_unlisted(self, loader: str, loaded: list[Any]) -> bool:
        """Whether the end of a request that was put in is not in the list: that of a redirect is
        listed under its beginning."""
        names = {_plain(name) for name, *_ in loaded}
        others = (number for number in self._ended if number != loader)
        return any(
            _plain(self.completed[number]) not in names
            for number in others
            if number in self.completed
        )

    # -- putting in what is sure

    def _completing(self, number: str, params: Params, url: str) -> Message:
        """Return the message that the browser would have sent for a GET that was missed."""
        self._sent[number] = None
        self.completed[number] = url
        about = {"url": url, "method": "GET", "headers": {}}
        kept = pick_keys(params, ("loaderId", "frameId", "type", "timestamp"))
        return Message("Network.requestWillBeSent", {**kept, "requestId": number, "request": about})

    def _made_up(
        self, number: str, loader: str, frame: str, url: str, kind: str, status: int
    ) -> Iterator[Message]:
        base = {"requestId": number, "loaderId": loader, "frameId": frame, "type": kind}
        yield self._completing(number, base, url)
        answer = {"url": url, "status": status, "headers": {}, "mimeType": ""}
        yield Message("Network.responseReceived", {**base, "response": answer})
        yield Message("Network.loadingFinished", base)

    def _is_told(self, browser: BrowserState, number: str) -> bool:
        """Whether a request was heard of, or so many were that nobody can say."""
        return number in self._sent or number in browser.loaders or len(self._sent) >= MAX_REQUESTS

    def _miss(self, reason: str) -> None:
        """Note the first reason why requests may be missing."""
        self.missed = self.missed or reason


def _method(headers: Params) -> str:
    """Return the method that headers give away: as they say it, else GET where they have no
    origin."""
    names = {name.lower(): value for name, value in headers.items()}
    return str(names.get(":method") or ("" if "origin" in names else "GET"))


def _plain(url: str) -> str:
    return url.partition("#")[0]


def is_outer(url: str) -> bool:
    """Whether what is there comes from the network."""
    return url.startswith(("http:", "https:"))
