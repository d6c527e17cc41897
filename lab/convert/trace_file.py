"""What is in a Playwright trace zip, whatever version wrote it: calls, events, snapshots, requests.

Versions 4 to 10 differ in names only where it matters here: a call's title is ``apiName`` up to 7
and ``title`` from 8 on; a snapshot's place in its call is told by its name (``before@call@9``,
``input@…``) up to 8 and by ``phase`` (``action`` for input) from 9 on; bodies lie under ``_sha1``
up to 8 and under ``_file`` from 9 on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from detectors.model.json_value import (
    JsonObject,
    JsonValue,
    object_or_empty,
    read_object,
    read_text,
    require_number,
    require_object,
    require_text,
)
from lab.convert.errors import format_value
from lab.convert.source import SourceFile, Zip

OLDEST, NEWEST = 4, 10
_PHASES = {"before": "before", "input": "action", "after": "after"}
_RUNNERS = ("Test", "Tracing", "LocalUtils")
"""Classes whose calls are the test runner's and the tracer's own, not the agent's."""


@dataclass(slots=True)
class ApiCall:
    """One call of Playwright's API. Times in milliseconds of Playwright's clock; ``end`` None: it
    never came back."""

    id: str
    title: str
    cls: str
    method: str
    params: JsonObject
    start: float
    page: str
    end: float | None = None
    failed: bool = False
    reached: bool = False
    """Whether it got as far as the input itself."""


class TraceEvent(NamedTuple):
    """What happened to a page or a dialog; ``time`` in milliseconds, ``page`` "" for none."""

    time: float
    method: str
    params: JsonObject
    page: str


@dataclass(slots=True)
class Snapshot:
    """A frame's document as it was at ``at``; ``html`` may point into earlier ones of the same
    frame."""

    call: str
    phase: str
    page: str
    frame: str
    url: str
    main: bool
    at: float
    html: JsonValue


@dataclass(slots=True)
class TraceFile:
    """One trace zip. ``entries``: requests as HAR has them, each with its time in milliseconds."""

    version: int = 0
    calls: dict[str, ApiCall] = field(default_factory=dict)
    snapshots: list[Snapshot] = field(default_factory=list)
    events: list[TraceEvent] = field(default_factory=list)
    entries: list[tuple[float, JsonObject]] = field(default_factory=list)


def load(source: SourceFile) -> TraceFile:
    """Read all that the zip holds of browser contexts. Raises `ConvertError`."""
    wanted = "wanted a Playwright trace: a zip with a .trace in it"
    pack = source.zip
    if pack is None:
        raise source.wrong("", "is no zip", wanted)
    names = [name for name in pack.names if name.endswith(".trace")]
    if not names:
        raise source.wrong("", f"a zip with {format_value(pack.names[:5])}", wanted)
    trace = TraceFile()
    for name in sorted(names):
        _load(source, pack, name, trace)
    if not trace.version:
        raise source.wrong(
            names[0], "only the test runner's steps", "wanted a trace of a browser context"
        )
    return trace


def _load(source: SourceFile, pack: Zip, name: str, trace: TraceFile) -> None:
    """Add what one .trace of the zip holds, with its .network. Raises `ConvertError`."""
    rows = pack.rows(name)
    version = _version(source, name, rows)
    if version is None:
        return
    trace.version = max(trace.version, version)
    stem = name.removesuffix(".trace")
    requests = pack.rows(f"{stem}.network")
    for number, row in enumerate([*rows, *requests], 1):
        try:
            _add_row(trace, row)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = f"{type(error).__name__} {str(error)[:200]} in {format_value(row)}"
            raise source.wrong(f"{name}: row {number}", what, "wanted a trace's") from None


def _version(source: SourceFile, name: str, rows: list[JsonObject]) -> int | None:
    """Return the version of a browser context's trace; None for the test runner's own. Raises
    `ConvertError` for one that is not known."""
    options = next((row for row in rows if row.get("type") == "context-options"), None)
    if options is None:
        if any(row.get("class") in _RUNNERS for row in rows):
            return None
        wanted = "wanted a Playwright trace, which begins with them"
        raise source.wrong(name, "no context-options", wanted)
    if options.get("origin") == "testRunner":
        return None
    version = options.get("version")
    if type(version) is int and OLDEST <= version <= NEWEST:
        return version
    what = f"is a Playwright trace of version {format_value(version)}, which is not known"
    raise source.wrong(name, what, f"wanted a trace of version {OLDEST} to {NEWEST}")


def _add_row(trace: TraceFile, row: JsonObject) -> None:
    """Note what a row says; rows of the test runner and of kinds that tell nothing are left out."""
    kind = str(row.get("type"))
    if kind in ("before", "action"):
        if row["class"] not in _RUNNERS:
            _begin_call(trace, row)
    elif kind in ("input", "after"):
        known = trace.calls.get(str(row["callId"]))
        if known is not None:
            _go_on(known, row)
    elif kind == "event":
        trace.events.append(_event(row))
    elif kind == "frame-snapshot":
        trace.snapshots.append(_snapshot(require_object(row["snapshot"], "snapshot")))
    elif kind == "resource-snapshot":
        entry = require_object(row["snapshot"], "snapshot")
        if isinstance(entry.get("request"), dict):
            trace.entries.append((_entry_time(entry), entry))


def _begin_call(trace: TraceFile, row: JsonObject) -> None:
    """Note a call of the API; older versions have its beginning and end in one row."""
    call = _call(row)
    trace.calls[call.id] = call
    if row["type"] == "action":
        _finish_call(call, row)


def _go_on(call: ApiCall, row: JsonObject) -> None:
    """Note that a call got as far as the input, or that it came back."""
    if row["type"] == "input":
        call.reached = True
    else:
        _finish_call(call, row)


def _event(row: JsonObject) -> TraceEvent:
    return TraceEvent(
        time=_number(row["time"], "time"),
        method=str(row["method"]),
        params=read_object(row, "params"),
        page=read_text(row, "pageId"),
    )


def _entry_time(entry: JsonObject) -> float:
    """The entry's time, its method and address checked. Raises KeyError, TypeError, ValueError."""
    request = read_object(entry, "request")
    str(request["method"])
    require_text(request["url"], "request.url")
    return _number(entry["_monotonicTime"], "_monotonicTime")


def _number(value: JsonValue, where: str) -> float:
    """A number, also one that is written as a text. Raises TypeError or ValueError."""
    return float(value) if isinstance(value, str) else float(require_number(value, where))


def _call(row: JsonObject) -> ApiCall:
    """Read a row as a call of the API; its name is said in three ways by the versions."""
    params = row.get("params")
    title = row.get("apiName") or row.get("title") or f"{row['class']}.{row['method']}"
    return ApiCall(
        id=str(row["callId"]),
        title=str(title),
        cls=str(row["class"]),
        method=str(row["method"]),
        params=object_or_empty(params),
        start=_number(row["startTime"], "startTime"),
        page=read_text(row, "pageId"),
    )


def _finish_call(call: ApiCall, row: JsonObject) -> None:
    """Note when a call came back, whether it failed, and whether it got as far as the input."""
    end = row.get("endTime")
    call.end = _number(end, "endTime") if end else None
    call.failed = bool(row.get("error"))
    if row.get("point"):
        call.reached = True


def _snapshot(row: JsonObject) -> Snapshot:
    name = read_text(row, "snapshotName")
    phase = _PHASES.get(name.partition("@")[0], "")
    return Snapshot(
        call=read_text(row, "callId", name.partition("@")[2]),
        phase=read_text(row, "phase", phase),
        page=str(row["pageId"]),
        frame=str(row["frameId"]),
        url=read_text(row, "frameUrl"),
        main=bool(row.get("isMainFrame")),
        at=_number(row["timestamp"], "timestamp"),
        html=row["html"],
    )
