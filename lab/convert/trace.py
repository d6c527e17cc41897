"""Playwright traces: each call of its API is a step, and what its snapshots and requests show is
told around it.

A snapshot stands before, at and after a call. So addresses, titles and fields are told as they were
then; what came and went within one call is in no trace. Clicks are the calls' own, on the element
that the snapshot marks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agentd.sources.cdp.state.masking import Secrets
from detectors.model.json_value import read_text
from detectors.model.kinds import KINDS
from lab.convert.exchange import MS, Exchange, join, parse_exchange, secret_fields, tellings
from lab.convert.page_state import Telling
from lab.convert.source import SourceFile, Zip
from lab.convert.tape import Tape
from lab.convert.trace_facts import SnapshotFacts, SnapshotReader
from lab.convert.trace_file import Snapshot, TraceFile, load
from lab.convert.trace_pages import TracePages

SNAPSHOTS = (
    "page.navigated", "page.title_changed", "frame.detached", "element.clicked",
    "element.double_clicked", "element.right_clicked", "field.filled",
)  # fmt: skip
"""What is only seen where the trace was made with snapshots."""
_EVENTS = {
    "dialog": ("dialog.opened", "dialog.closed"),
    "download": ("download.began",),
    "page": ("tab.opened",),
}
_TELLS_EVENTS = 10
"""The version that is known to report every dialog and download; older ones are believed if they
report one."""


def fits(source: SourceFile) -> bool:
    """Whether it is a zip with a trace in it."""
    return source.zip is not None and any(name.endswith(".trace") for name in source.zip.names)


def read(source: SourceFile) -> TraceReading:
    """Check the trace's rows and give its reading. Raises `ConvertError`."""
    trace = load(source)
    assert source.zip is not None
    return TraceReading(source, trace, source.zip)


class TraceSecrets(Secrets):
    """The mask of a trace: what its password fields are called and hold is masked wherever it comes
    again. ``more``, ``shown``: as of `Masker`."""

    def __init__(
        self, more: Sequence[str], names: set[str], values: set[str], shown: frozenset[str]
    ) -> None:
        super().__init__(names=names, more=more, shown=shown)
        self._values = values

    def is_secret(self, name: str, value: str) -> bool:
        """Whether a password field of the trace held the value, or its name is a secret's."""
        return value in self._values or super().is_secret(name, value)


class _Moment(NamedTuple):
    """Something of the trace at its time, in nanoseconds; ``tellings`` begins when it is its
    turn."""

    at: int
    tellings: Iterator[Telling]


class TraceReading:
    """A trace that was read: see `lab.convert.formats.FormatReading`."""

    def __init__(self, source: SourceFile, trace: TraceFile, pack: Zip) -> None:
        self._source = source
        self._trace = trace
        self._zip = pack
        self.version: int = trace.version
        self.shows = _shows(trace)

    def tell(self, tape: Tape, mask: Sequence[str]) -> None:
        """Calls, snapshots, requests and events, in the order of their times."""
        trace = self._trace
        trace.snapshots.sort(key=lambda snapshot: snapshot.at)
        reader = SnapshotReader()
        facts = [reader.facts(snapshot) for snapshot in trace.snapshots]
        reader.secrets[1].update(_typed_secrets(trace, facts))
        origin = _origin(trace)
        exchanges = list(self._exchanges(origin))
        reader.secrets[0].update(secret_fields(exchanges))
        masker = tape.secrets = TraceSecrets(mask, *reader.secrets, tape.shown)
        pages = TracePages(trace, facts, masker)
        moments = [
            *self._calls(pages, origin),
            *_snapshots(trace.snapshots, facts, pages, origin),
            *_events(trace, pages, origin),
            *self._requests(exchanges, pages, masker),
        ]
        for moment in sorted(moments, key=lambda moment: moment.at):
            tape.play(moment.tellings)

    def _calls(self, pages: TracePages, origin: float) -> Iterator[_Moment]:
        """Yield when each call of the API began, and when it came back, if it did."""
        for call in self._trace.calls.values():
            start = _ns(call.start, origin)
            yield _Moment(start, pages.began(start, call))
            if call.end is not None:
                end = _ns(call.end, origin)
                yield _Moment(end, pages.ended(end, call))

    def _exchanges(self, origin: float) -> Iterator[Exchange]:
        """Yield the browser's requests in their order; what the harness itself asked is left
        out."""
        for number, (time, entry) in enumerate(self._trace.entries):
            if entry.get("_apiRequest") or entry.get("_apiRequestRef"):
                continue  # the harness asked, not the browser
            with self._source.part(f"request {number} of the trace"):
                tab, at = read_text(entry, "pageref"), _ns(time, origin)
                yield parse_exchange(entry, f"trace-{number}", at, tab, self._attached)

    def _requests(
        self, exchanges: list[Exchange], pages: TracePages, secrets: Secrets
    ) -> Iterator[_Moment]:
        """Yield each chain of redirects, and when its document replaced the one before."""
        for exchange in exchanges:
            exchange.tab = pages.tab_of(exchange.frame, exchange.tab)
        for first in join(exchanges):
            frame = pages.name_of(first.tab, first.frame)
            for telling in tellings(first, frame, secrets):
                yield _Moment(telling.at, iter([telling]))
            last = first.last()
            if last.commits:
                url = secrets.mask_url(last.url)
                yield _Moment(last.head, pages.committed(last.head, first.tab, frame, url))

    def _attached(self, name: str) -> bytes | None:
        return self._zip.read(name if "/" in name else f"resources/{name}")


def _typed_secrets(trace: TraceFile, facts: list[SnapshotFacts]) -> Iterator[str]:
    """What calls wrote into fields that are secret."""
    secret_calls = [
        snapshot.call
        for snapshot, seen in zip(trace.snapshots, facts, strict=True)
        if seen.target is not None and seen.target.secret
    ]
    for id in secret_calls:
        call = trace.calls.get(id)
        params = {} if call is None else call.params
        texts = (read_text(params, "value"), read_text(params, "text"))
        yield from filter(None, texts)


def _snapshots(
    snapshots: list[Snapshot], facts: list[SnapshotFacts], pages: TracePages, origin: float
) -> Iterator[_Moment]:
    for snapshot, seen in zip(snapshots, facts, strict=True):
        at = _ns(snapshot.at, origin)
        yield _Moment(at, pages.saw(at, snapshot, seen))


def _events(trace: TraceFile, pages: TracePages, origin: float) -> Iterator[_Moment]:
    for event in trace.events:
        at = _ns(event.time, origin)
        yield _Moment(at, pages.handle(at, event))


def _origin(trace: TraceFile) -> float:
    """The earliest time in the trace, in its milliseconds."""
    times = [call.start for call in trace.calls.values()]
    times += [snapshot.at for snapshot in trace.snapshots]
    times += [event.time for event in trace.events]
    times += [time for time, _ in trace.entries]
    return min(times, default=0.0)


def _ns(at: float, origin: float) -> int:
    return int((at - origin) * MS)


def _shows(trace: TraceFile) -> frozenset[str]:
    """The kinds of event that a trace of its version, and with what is in it, would show."""
    shows = {kind for kind in KINDS if kind.startswith("request.")}
    told = {event.method for event in trace.events}
    if trace.version >= _TELLS_EVENTS:
        told.update(_EVENTS)
    for method in told & _EVENTS.keys():
        shows.update(_EVENTS[method])
    if trace.snapshots:
        shows.update(SNAPSHOTS)
    return frozenset(shows)


__all__ = ["TraceReading", "fits", "read"]
