"""Playwright traces: each call of its API is a step, and what its snapshots and requests show is
told around it.

A snapshot stands before, at and after a call. So addresses, titles and fields are told as they were
then; what came and went within one call is in no trace. Clicks are the calls' own, on the element
that the snapshot marks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from agentd.sources.cdp.state.masking import Secrets
from detectors.model.kinds import KINDS
from lab.convert.exchange import MS, Exchange, exchange, join, secret_fields, tellings
from lab.convert.page_state import Telling
from lab.convert.source import Source, Zip
from lab.convert.tape import Tape
from lab.convert.trace_facts import Facts, Reader
from lab.convert.trace_file import Snapshot, TraceFile, load
from lab.convert.trace_pages import TracePages

SNAPSHOTS = (
    "page.navigated", "page.titled", "frame.detached", "element.clicked", "element.double_clicked",
    "element.right_clicked", "field.filled",
)  # fmt: skip
"""What is only seen where the trace was made with snapshots."""
_EVENTS = {
    "dialog": ("dialog.opened", "dialog.closed"),
    "download": ("download.began",),
    "page": ("tab.opened",),
}
_TELLS_EVENTS = 10
"""The version that is known to tell of every dialog and download; older ones are believed if they tell of one."""


def fits(source: Source) -> bool:
    """Whether it is a zip with a trace in it."""
    return source.zip is not None and any(name.endswith(".trace") for name in source.zip.names)


def read(source: Source) -> TraceReading:
    """The trace, checked. Raises `ConvertError`."""
    trace = load(source)
    assert source.zip is not None
    return TraceReading(source, trace, source.zip)


class TraceSecrets(Secrets):
    """The mask of a trace: what its password fields are called and hold is masked wherever it comes
    again."""

    def __init__(self, more: Sequence[str], names: set[str], values: set[str]) -> None:
        super().__init__(names=names, more=more)
        self._values = values

    def is_secret(self, name: str, value: str) -> bool:
        """See `Secrets.is_secret`."""
        return value in self._values or super().is_secret(name, value)


class _Moment(NamedTuple):
    """Something of the trace at its time, in nanoseconds."""

    at: int
    tell: Callable[[int], Iterator[Telling]]


class TraceReading:
    """A trace that was read: see `lab.convert.formats.Reading`."""

    def __init__(self, source: Source, trace: TraceFile, pack: Zip) -> None:
        self._source = source
        self._trace = trace
        self._zip = pack
        self.version: int = trace.version
        self.shows = _shows(trace)

    def tell(self, tape: Tape, mask: Sequence[str]) -> None:
        """Calls, snapshots, requests and events, in the order of their times."""
        trace = self._trace
        trace.snapshots.sort(key=lambda one: one.at)
        reader = Reader()
        facts = [reader.facts(snapshot) for snapshot in trace.snapshots]
        for snapshot, seen in zip(trace.snapshots, facts, strict=True):
            call = trace.calls.get(snapshot.call)
            if seen.target is not None and seen.target.secret and call is not None:
                reader.secrets[1].update(
                    str(call.params[name]) for name in ("value", "text") if call.params.get(name)
                )
        origin = _origin(trace)
        exchanges = list(self._exchanges(origin))
        reader.secrets[0].update(secret_fields(exchanges))
        masker = tape.secrets = TraceSecrets(mask, *reader.secrets)
        pages = TracePages(trace, facts, masker)
        moments = [
            *self._calls(pages, origin),
            *_snapshots(trace.snapshots, facts, pages, origin),
            *_events(trace, pages, origin),
            *self._requests(exchanges, pages, masker),
        ]
        for moment in sorted(moments, key=lambda one: one.at):
            for told in moment.tell(moment.at):
                _put(tape, told)

    def _calls(self, pages: TracePages, origin: float) -> Iterator[_Moment]:
        for call in self._trace.calls.values():
            yield _Moment(_ns(call.start, origin), lambda at, call=call: pages.began(at, call))  # type: ignore[misc]
            if call.end is not None:
                yield _Moment(_ns(call.end, origin), lambda at, call=call: pages.ended(at, call))  # type: ignore[misc]

    def _exchanges(self, origin: float) -> Iterator[Exchange]:
        for number, entry in enumerate(self._trace.entries):
            if entry.get("_apiRequest") or entry.get("_apiRequestRef"):
                continue  # the harness asked, not the browser
            at = _ns(float(entry["_monotonicTime"]), origin)
            with self._source.part(f"request {number} of the trace"):
                yield exchange(
                    entry, f"trace-{number}", at, str(entry.get("pageref") or ""), self._attached
                )

    def _requests(
        self, exchanges: list[Exchange], pages: TracePages, secrets: Secrets
    ) -> Iterator[_Moment]:
        for one in exchanges:
            one.tab = pages.tab_of(one.frame, one.tab)
        for first in join(exchanges):
            frame = pages.name_of(first.tab, first.frame)
            for told in tellings(first, frame, secrets):
                yield _Moment(told.at, lambda at, told=told: iter([told]))  # type: ignore[misc]
            last = first
            while last.onward is not None:
                last = last.onward
            if last.commits:
                where = (first.tab, frame, secrets.mask_url(last.url))
                yield _Moment(last.head, lambda at, where=where: pages.committed(at, *where))  # type: ignore[misc]

    def _attached(self, name: str) -> bytes | None:
        return self._zip.read(name if "/" in name else f"resources/{name}")


def _put(tape: Tape, told: Telling) -> None:
    match told.kind:
        case "step.began":
            tape.begin(told.at, told.data)
        case "step.ended":
            tape.end(told.at)
        case "unseen":
            tape.interrupt(told.at, **told.data)
        case _:
            tape.tell(told.at, told.kind, told.data)


def _snapshots(
    snapshots: list[Snapshot], facts: list[Facts], pages: TracePages, origin: float
) -> Iterator[_Moment]:
    for snapshot, seen in zip(snapshots, facts, strict=True):
        what = (snapshot, seen)
        yield _Moment(_ns(snapshot.at, origin), lambda at, what=what: pages.saw(at, *what))  # type: ignore[misc]


def _events(trace: TraceFile, pages: TracePages, origin: float) -> Iterator[_Moment]:
    for row in trace.events:
        yield _Moment(_ns(row["time"], origin), lambda at, row=row: pages.handle(at, row))  # type: ignore[misc]


def _origin(trace: TraceFile) -> float:
    """The earliest time in the trace, in its milliseconds."""
    times = [call.start for call in trace.calls.values()]
    times += [snapshot.at for snapshot in trace.snapshots]
    times += [row["time"] for row in trace.events]
    times += [float(entry["_monotonicTime"]) for entry in trace.entries]
    return min(times, default=0.0)


def _ns(at: float, origin: float) -> int:
    return int((at - origin) * MS)


def _shows(trace: TraceFile) -> frozenset[str]:
    told = {row["method"] for row in trace.events}
    shows = {kind for kind in KINDS if kind.startswith("request.")}
    for method, kinds in _EVENTS.items():
        if method in told or trace.version >= _TELLS_EVENTS:
            shows |= set(kinds)
    if trace.snapshots:
        shows |= set(SNAPSHOTS)
    return frozenset(shows)


__all__ = ["TraceReading", "fits", "read"]
