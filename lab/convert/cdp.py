"""Logs of raw CDP messages: the same folds as live, on somebody else's capture.

One step for each navigation of a main frame to another document; what comes before the first is
step 0 too. Bodies and headers are kept as far as the log has them: no rule is known yet that could
ask.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from agentd.sources.cdp.folds.normaliser import Normaliser
from agentd.sources.cdp.state.capture_plan import CapturePlan
from agentd.sources.cdp.state.state import CdpObservation
from detectors.model.json_value import (
    JsonObject,
    JsonValue,
    object_or_empty,
    read_object,
    require_object,
)
from detectors.model.kinds import KINDS
from detectors.model.optional_values import drop_empty
from lab.convert import cdp_log
from lab.convert.cdp_log import CdpMessage, messages, roots
from lab.convert.source import SourceFile
from lab.convert.tape import Tape

fits = cdp_log.fits


def read(source: SourceFile) -> CdpReading:
    """Check the log's messages and give its reading. Raises `ConvertError`."""
    log = messages(source)
    with source.part("messages"):
        return CdpReading(source, log)


class CdpReading:
    """A log that was read: see `lab.convert.formats.FormatReading`."""

    version = None

    def __init__(self, source: SourceFile, log: list[CdpMessage]) -> None:
        self._source = source
        self._log = log
        self.shows: Collection[str] = _shows(log)

    def tell(self, tape: Tape, mask: Sequence[str]) -> None:
        """Fold message after message, as the daemon would have."""
        fold = Normaliser("", "", CapturePlan.everything(tuple(mask), tape.shown))
        fold.browser.settled = True
        mains = _introduce(fold, self._log)
        steps, unfinished = _Steps(tape, fold, mains), _Unfinished()
        for message in cdp_log.mend_log(self._log):
            with self._source.part(f"message {message.number}, {message.method}"):
                steps.before_message(message)
                unfinished.note_message(message)
                self._put(tape, message.at, _fed(fold, message), steps, unfinished)
        self._put(tape, tape.at, _ended(fold), steps, unfinished)
        if tape.step < 0:
            tape.begin(0)
        for observation in unfinished.unfinished_answers():
            tape.tell(tape.at, observation.kind, observation.data)
        for part, reason in unfinished.unknown():
            tape.interrupt(tape.at, part, reason)

    def _put(
        self,
        tape: Tape,
        at: int,
        observations: Iterator[CdpObservation],
        steps: _Steps,
        unfinished: _Unfinished,
    ) -> None:
        for observation in observations:
            steps.after_event(at, observation)
            unfinished.note_event(observation)
            tape.tell(at, observation.kind, observation.data)


def _fed(fold: Normaliser, message: CdpMessage) -> Iterator[CdpObservation]:
    yield from fold.feed(message.session, message.method, message.params)
    yield from _without(fold)


def _ended(fold: Normaliser) -> Iterator[CdpObservation]:
    """What still waits at the log's end waits in vain."""
    yield from fold.fenced()
    yield from _without(fold)


def _without(fold: Normaliser) -> Iterator[CdpObservation]:
    """A body that the log lacks can't be had any more: what waits for it goes on without."""
    for missing in fold.network.take_missing():
        sessions = fold.browser.sessions.items()
        session = next(name for name, state in sessions if state is missing.session)
        yield from fold.feed(session, missing.command, {"requestId": missing.number})


def _introduce(fold: Normaliser, log: list[CdpMessage]) -> set[str]:
    """Tell the folds which session is which tab, where the log began later than that; gives the
    main frames."""
    pages = roots(log)
    for session, root in pages.items():
        _attach(fold, "", session, root, "page")
    announced = {
        str(message.params.get("sessionId"))
        for message in log
        if message.method == "Target.attachedToTarget"
    }
    attached = announced.union(pages)
    first = next(iter(pages), "")
    for message in log:
        session = message.session
        if session not in attached:
            attached.add(session)
            _attach(fold, first, session, session, message.target or "other")
    return set(pages.values())


def _requests_document(message: CdpMessage) -> bool:
    """Whether the browser asks for a document by this message, of a page or of a frame."""
    is_request = message.method == "Network.requestWillBeSent"
    return is_request and message.params.get("type") == "Document"


def _attach(fold: Normaliser, parent: str, session: str, target: str, kind: str) -> None:
    about = {"targetId": target, "type": kind, "url": "", "title": ""}
    for _ in fold.feed(
        parent, "Target.attachedToTarget", {"sessionId": session, "targetInfo": about}
    ):
        pass  # an attachment by itself is no event


class _Steps:
    """Begins a step where a main frame sets out for another document, or is found there."""

    def __init__(self, tape: Tape, fold: Normaliser, mains: set[str]) -> None:
        self._tape = tape
        self._fold = fold
        self._mains = mains
        self._loaders: set[str] = set()

    def before_message(self, message: CdpMessage) -> None:
        """A document's request begins its step before anything is told of it."""
        params = message.params
        if not _requests_document(message) or "redirectResponse" in params:
            return
        if self._is_main(str(params.get("frameId"))):
            request = require_object(params["request"], "request")
            self._loaders.add(str(params.get("loaderId")))
            self._begin(message.at, str(request["url"]))

    def after_event(self, at: int, observation: CdpObservation) -> None:
        """A document that came without a request, from a cache or another scheme, begins one
        too."""
        data = observation.data
        is_navigation = observation.kind == "page.navigated" and data["main"]
        if is_navigation and not data["same_document"]:
            self._mains.add(data["frame"])
            loader = data.get("loader")
            if loader not in self._loaders:
                self._loaders.add(str(loader))
                self._begin(at, data["url"])
        if self._tape.step < 0:
            self._tape.begin(at)

    def _begin(self, at: int, url: str) -> None:
        self._tape.end(at)
        self._tape.begin(at, {"navigate": self._fold.browser.secrets.mask_url(url)})

    def _is_main(self, frame: str) -> bool:
        known = self._fold.browser.frames.get(frame)
        return frame in self._mains if known is None else known.parent is None


class _Unfinished:
    """What was under way when the log ended: requests without their end, and documents that no
    frame shows yet."""

    def __init__(self) -> None:
        self._sent: dict[str, dict[str, JsonValue]] = {}
        self._heads: dict[str, dict[str, JsonValue]] = {}
        self._coming: dict[str, str] = {}
        """By frame the request of the document that it set out for."""

    def note_message(self, message: CdpMessage) -> None:
        """Look at a raw message for the head of an answer, and for a document that is asked for."""
        params = message.params
        request = str(params.get("requestId"))
        if _requests_document(message):
            self._coming[str(params.get("frameId"))] = request
        if message.method == "Network.responseReceived":
            answer = read_object(params, "response")
            optional = {
                "mime": answer.get("mimeType"),
                "cached": bool(answer.get("fromDiskCache")),
            }
            self._heads[request] = {"status": answer.get("status"), **drop_empty(optional)}

    def note_event(self, observation: CdpObservation) -> None:
        """Look at what is told for requests that begin and end."""
        data = observation.data
        request = str(data.get("request"))
        match observation.kind:
            case "request.sent":
                self._sent[request] = data
                self._heads.pop(request, None)
            case "request.failed":
                self._sent.pop(request, None)
                self._expect_no_document(request)
            case "request.finished" | "request.response_started":
                self._sent.pop(request, None)
                if data.get("status") in _NO_DOCUMENT or _is_attachment(data):
                    self._expect_no_document(request)
            case "page.navigated" | "page.failed" | "frame.detached" | "download.began":
                self._coming.pop(str(data.get("frame")), None)

    def _expect_no_document(self, request: str) -> None:
        """Forget the frame that waited for a document by this request."""
        waiting = [frame for frame, number in self._coming.items() if number == request]
        for frame in waiting:
            del self._coming[frame]

    def unfinished_answers(self) -> Iterator[CdpObservation]:
        """One `request.response_started` each, in the order in which they were sent."""
        for number, data in self._sent.items():
            if self._is_answered(number):
                yield CdpObservation("request.response_started", data | self._heads[number])

    def unknown(self) -> Iterator[tuple[str, str]]:
        """Parts of the browser's of which the log does not say how it went on, each with the
        reason."""
        unanswered = (data for number, data in self._sent.items() if not self._is_answered(number))
        first = next(unanswered, None)
        if first is not None:
            asked = f"{first['method']} {first['url']:.200}"
            yield "request", f"the log ends before the answer to {asked}"
        if self._coming:
            for part in ("page", "frame"):
                yield part, "the log ends before a document that was asked for came in"

    def _is_answered(self, number: str) -> bool:
        return number in self._heads and type(self._heads[number]["status"]) is int


_NO_DOCUMENT = (204, 205)


def _is_attachment(data: JsonObject) -> bool:
    answer = data.get("response")
    headers = object_or_empty(answer).get("headers")
    if not isinstance(headers, Mapping):
        return False
    return str(headers.get("content-disposition", "")).lower().startswith("attachment")


_NETWORK = tuple(kind for kind in KINDS if kind.startswith(("request.", "message.", "auth.")))
_TABS = ("tab.opened", "tab.closed", "tab.crashed", "page.title_changed")
_PAGE = (
    "page.navigated",
    "page.failed",
    "frame.detached",
    "dialog.opened",
    "dialog.closed",
    "download.began",
)
_SHOWN_BY = {
    "Network": _NETWORK,
    "Page": _PAGE,
    "Target.targetCreated": _TABS,
    "Target.targetInfoChanged": _TABS,
    "Page.lifecycleEvent": ("page.parsed", "page.loaded", "page.network_idle"),
    "Page.domContentEventFired": ("page.parsed",),
    "Page.loadEventFired": ("page.loaded",),
    "Page.downloadProgress": ("download.progressed", "download.finished", "download.canceled"),
}
"""A domain, or a method: the kinds that a log tells where it has such messages."""


def _shows(log: list[CdpMessage]) -> frozenset[str]:
    """What the log would show, by the domains that were switched on."""
    signs: set[str] = set()
    for message in log:
        signs.update((message.method, message.domain))
    shown = [_SHOWN_BY[sign] for sign in signs & _SHOWN_BY.keys()]
    return frozenset(chain.from_iterable(shown))
