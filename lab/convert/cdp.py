"""Logs of raw CDP messages: the same folds as live, on somebody else's capture.

One step for each navigation of a main frame to another document; what comes before the first is
step 0 too. Bodies and headers are kept as far as the log has them: no rule is known yet that could
ask.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from agentd.sources.cdp.folds.normaliser import Normaliser
from agentd.sources.cdp.state.capture_plan import CapturePlan
from agentd.sources.cdp.state.masking import Secrets
from agentd.sources.cdp.state.state import CdpObservation
from detectors.model.kinds import KINDS
from lab.convert import cdp_log
from lab.convert.cdp_log import Message, messages, roots
from lab.convert.source import Source
from lab.convert.tape import Tape

fits = cdp_log.fits


def read(source: Source) -> CdpReading:
    """The log, checked. Raises `ConvertError`."""
    log = messages(source)
    with source.part("messages"):
        return CdpReading(source, log)


class CdpReading:
    """A log that was read: see `lab.convert.formats.Reading`."""

    version = None

    def __init__(self, source: Source, log: list[Message]) -> None:
        self._source = source
        self._log = log
        self.shows: Collection[str] = _shows(log)

    def tell(self, tape: Tape, mask: Sequence[str]) -> None:
        """Fold message after message, as the daemon would have."""
        fold = Normaliser("", "", CapturePlan.everything())
        fold.browser.secrets = Secrets(more=mask)
        fold.browser.settled = True
        mains = _introduce(fold, self._log)
        steps, unfinished = _Steps(tape, fold, mains), _Unfinished()
        for message in cdp_log.mended(self._log):
            with self._source.part(f"message {message.number}, {message.method}"):
                steps.before_message(message)
                unfinished.note_message(message)
                self._put(tape, message.at, _fed(fold, message), steps, unfinished)
        self._put(tape, tape.at, _ended(fold), steps, unfinished)
        if tape.step < 0:
            tape.begin(0)
        for seen in unfinished.unfinished_answers():
            tape.tell(tape.at, seen.kind, seen.data)
        for part, reason in unfinished.unknown():
            tape.interrupt(tape.at, part, reason)

    def _put(
        self,
        tape: Tape,
        at: int,
        told: Iterator[CdpObservation],
        steps: _Steps,
        unfinished: _Unfinished,
    ) -> None:
        for seen in told:
            steps.after_event(at, seen)
            unfinished.note_event(seen)
            tape.tell(at, seen.kind, seen.data)


def _fed(fold: Normaliser, message: Message) -> Iterator[CdpObservation]:
    yield from fold.feed(message.session, message.method, message.params)
    yield from _without(fold)


def _ended(fold: Normaliser) -> Iterator[CdpObservation]:
    """What still waits at the log's end waits in vain."""
    yield from fold.fenced()
    yield from _without(fold)


def _without(fold: Normaliser) -> Iterator[CdpObservation]:
    """A body that the log lacks can't be had any more: what waits for it goes on without."""
    for one in fold.network.take_missing():
        name = next(name for name, state in fold.browser.sessions.items() if state is one.session)
        yield from fold.feed(name, one.command, {"requestId": one.number})


def _introduce(fold: Normaliser, log: list[Message]) -> set[str]:
    """Tell the folds which session is which tab, where the log began later than that; gives the
    main frames."""
    found = roots(log)
    for session, root in found.items():
        _attach(fold, "", session, root, "page")
    attached = {
        str(one.params.get("sessionId")) for one in log if one.method == "Target.attachedToTarget"
    }
    first = next(iter(found), "")
    for message in log:
        if message.session not in found and message.session not in attached:
            attached.add(message.session)
            _attach(fold, first, message.session, message.session, message.target or "other")
    return set(found.values())


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

    def before_message(self, message: Message) -> None:
        """A document's request begins its step before anything is told of it."""
        params = message.params
        if message.method != "Network.requestWillBeSent" or params.get("type") != "Document":
            return
        if "redirectResponse" in params or not self._is_main(str(params.get("frameId"))):
            return
        self._loaders.add(str(params.get("loaderId")))
        self._begin(message.at, str(params["request"]["url"]))

    def after_event(self, at: int, seen: CdpObservation) -> None:
        """A document that came without a request, from a cache or another scheme, begins one
        too."""
        data = seen.data
        if seen.kind == "page.navigated" and data["main"] and not data["same_document"]:
            self._mains.add(data["frame"])
            if data.get("loader") not in self._loaders:
                self._loaders.add(str(data.get("loader")))
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
        self._sent: dict[str, dict[str, Any]] = {}
        self._heads: dict[str, dict[str, Any]] = {}
        self._coming: dict[str, str] = {}
        """By frame the request of the document that it set out for."""

    def note_message(self, message: Message) -> None:
        """Look at a raw message for the head of an answer, and for a document that is asked for."""
        if (
            message.method == "Network.requestWillBeSent"
            and message.params.get("type") == "Document"
        ):
            self._coming[str(message.params.get("frameId"))] = str(message.params.get("requestId"))
        if message.method == "Network.responseReceived":
            answer = message.params.get("response") or {}
            head = {"status": answer.get("status")}
            if answer.get("mimeType"):
                head["mime"] = answer["mimeType"]
            if answer.get("fromDiskCache"):
                head["cached"] = True
            self._heads[str(message.params.get("requestId"))] = head

    def note_event(self, seen: CdpObservation) -> None:
        """Look at what is told for requests that begin and end."""
        number = seen.data.get("request")
        if seen.kind == "request.sent":
            self._sent[str(number)] = seen.data
            self._heads.pop(str(number), None)
        elif seen.kind in ("request.finished", "request.failed", "request.answered"):
            self._sent.pop(str(number), None)
            status = seen.data.get("status")
            if seen.kind == "request.failed" or status in _NO_DOCUMENT or _is_attachment(seen.data):
                self._coming = {
                    frame: one for frame, one in self._coming.items() if one != str(number)
                }
        elif seen.kind in ("page.navigated", "page.failed", "frame.detached", "download.began"):
            self._coming.pop(str(seen.data.get("frame")), None)

    def unfinished_answers(self) -> Iterator[CdpObservation]:
        """One `request.answered` each, in the order in which they were sent."""
        for number, data in self._sent.items():
            if self._is_answered(number):
                yield CdpObservation("request.answered", data | self._heads[number])

    def unknown(self) -> Iterator[tuple[str, str]]:
        """Parts of the browser's of which the log does not say how it went on, each with the
        reason."""
        open_ = [data for number, data in self._sent.items() if not self._is_answered(number)]
        if open_:
            yield (
                "request",
                f"the log ends before the answer to {open_[0]['method']} {open_[0]['url']:.200}",
            )
        if self._coming:
            for part in ("page", "frame"):
                yield part, "the log ends before a document that was asked for came in"

    def _is_answered(self, number: str) -> bool:
        return number in self._heads and type(self._heads[number]["status"]) is int


_NO_DOCUMENT = (204, 205)


def _is_attachment(data: Mapping[str, Any]) -> bool:
    answer = data.get("answer")
    headers = answer.get("headers") if isinstance(answer, Mapping) else None
    said = headers.get("content-disposition", "") if isinstance(headers, Mapping) else ""
    return str(said).lower().startswith("attachment")


_PAGE = (
    "page.navigated",
    "page.failed",
    "frame.detached",
    "dialog.opened",
    "dialog.closed",
    "download.began",
)
_TOLD_BY = {
    "Page.lifecycleEvent": ("page.parsed", "page.loaded", "page.idled"),
    "Page.domContentEventFired": ("page.parsed",),
    "Page.loadEventFired": ("page.loaded",),
    "Page.downloadProgress": ("download.progressed", "download.finished", "download.canceled"),
}
"""Kinds that are only told where such a message is."""


def _shows(log: list[Message]) -> frozenset[str]:
    """What the log would show, by the domains that were switched on."""
    methods = {message.method for message in log}
    domains = {message.domain for message in log}
    shows: set[str] = set()
    if "Network" in domains:
        shows |= {kind for kind in KINDS if kind.startswith(("request.", "message.", "auth."))}
    if "Page" in domains:
        shows |= set(_PAGE)
    for method, kinds in _TOLD_BY.items():
        shows |= set(kinds) if method in methods else set()
    if methods & {"Target.targetCreated", "Target.targetInfoChanged"}:
        shows |= {"tab.opened", "tab.closed", "tab.crashed", "page.titled"}
    return frozenset(shows)
