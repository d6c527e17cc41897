"""What is in a Playwright trace zip, whatever version wrote it: calls, events, snapshots, requests.

Versions 4 to 10 differ in names only where it matters here: a call's title is ``apiName`` up to 7
and ``title`` from 8 on; a snapshot's place in its call is told by its name (``before@call@9``,
``input@…``) up to 8 and by ``phase`` (``action`` for input) from 9 on; bodies lie under ``_sha1``
up to 8 and under ``_file`` from 9 on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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
    params: dict[str, Any]
    start: float
    page: str
    end: float | None = None
    failed: bool = False
    reached: bool = False
    """Whether it got as far as the input itself."""


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
    html: Any


@dataclass(slots=True)
class TraceFile:
    """One trace zip. ``events``: what happened to pages and dialogs, as rows."""

    version: int = 0
    calls: dict[str, ApiCall] = field(default_factory=dict)
    snapshots: list[Snapshot] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    entries: list[dict[str, Any]] = field(default_factory=list)


def load(source: SourceFile) -> TraceFile:
    """Read all that the zip holds of browser contexts. Raises `ConvertError`."""
    pack = source.zip
    names = [name for name in pack.names if name.endswith(".trace")] if pack is not None else []
    if pack is None or not names:
        found = "is no zip" if pack is None else f"a zip with {format_value(pack.names[:5])}"
        raise source.wrong("", found, "wanted a Playwright trace: a zip with a .trace in it")
    trace = TraceFile()
    for name in sorted(names):
        _load(source, pack, name, trace)
    if not trace.version:
        raise source.wrong(
            names[0], "only the test runner's steps", "wanted a trace of a browser context"
        )
    return trace


def _load(source: SourceFile, pack: Zip, name: str, trace: TraceFile) -> None:
    rows = pack.rows(name)
    options = next((row for row in rows if row.get("type") == "context-options"), None)
    if options is None:
        if not any(row.get("class") in _RUNNERS for row in rows):
            wanted = "wanted a Playwright trace, which begins with them"
            raise source.wrong(name, "no context-options", wanted)
        return
    if options.get("origin") == "testRunner":
        return
    version = options.get("version")
    if type(version) is not int or not OLDEST <= version <= NEWEST:
        what = f"is a Playwright trace of version {format_value(version)}, which is not known"
        raise source.wrong(name, what, f"wanted a trace of version {OLDEST} to {NEWEST}")
    trace.version = max(trace.version, version)
    stem = name.removesuffix(".trace")
    for number, row in enumerate([*rows, *pack.rows(f"{stem}.network")], 1):
        try:
            _add_row(trace, row)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = f"{type(error).__name__} {str(error)[:200]} in {format_value(row)}"
            raise source.wrong(f"{name}: row {number}", what, "wanted a trace's") from None


def _add_row(trace: TraceFile, row: dict[str, Any]) -> None:
    match row.get("type"):
        case "before" | "action" if row["class"] not in _RUNNERS:
            call = _call(row)
            trace.calls[call.id] = call
            if row["type"] == "action":
                _finish_call(call, row)
        case "input" if row["callId"] in trace.calls:
            trace.calls[row["callId"]].reached = True
        case "after" if row["callId"] in trace.calls:
            _finish_call(trace.calls[row["callId"]], row)
        case "event":
            trace.events.append(_event(row))
        case "frame-snapshot":
            trace.snapshots.append(_snapshot(row["snapshot"]))
        case "resource-snapshot" if isinstance(row["snapshot"].get("request"), dict):
            _check_entry(row["snapshot"])
            trace.entries.append(row["snapshot"])


def _event(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "time": float(row["time"]),
        "class": row["class"],
        "method": row["method"],
        "params": row.get("params") or {},
        "page": str(row.get("pageId") or ""),
    }


def _check_entry(entry: dict[str, Any]) -> None:
    """Raise what reading the entry's time, method or address raises, where they are not sound."""
    float(entry["_monotonicTime"])
    str(entry["request"]["method"])
    entry["request"]["url"].strip()


def _call(row: dict[str, Any]) -> ApiCall:
    params = row.get("params")
    title = row.get("apiName") or row.get("title") or f"{row['class']}.{row['method']}"
    return ApiCall(
        id=str(row["callId"]),
        title=str(title),
        cls=str(row["class"]),
        method=str(row["method"]),
        params=params if isinstance(params, dict) else {},
        start=float(row["startTime"]),
        page=str(row.get("pageId") or ""),
    )


def _finish_call(call: ApiCall, row: dict[str, Any]) -> None:
    call.end = float(row["endTime"]) if row.get("endTime") else None
    call.failed = bool(row.get("error"))
    if row.get("point"):
        call.reached = True


def _snapshot(row: dict[str, Any]) -> Snapshot:
    name = str(row.get("snapshotName") or "")
    phase = row.get("phase") or _PHASES.get(name.partition("@")[0], "")
    return Snapshot(
        call=str(row.get("callId") or name.partition("@")[2]),
        phase=str(phase),
        page=str(row["pageId"]),
        frame=str(row["frameId"]),
        url=str(row.get("frameUrl") or ""),
        main=bool(row.get("isMainFrame")),
        at=float(row["timestamp"]),
        html=row["html"],
    )
