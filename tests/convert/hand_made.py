"""Small inputs of our own, one of each format, that tests change and break."""

from __future__ import annotations

import copy
import zipfile
from pathlib import Path
from typing import Any

import orjson

SECRET = "hunter2hunter2"

Json = dict[str, Any]


def write(path: Path, value: Any) -> Path:
    """``value`` as JSON."""
    path.write_bytes(orjson.dumps(value))
    return path


def lines(path: Path, rows: list[Json]) -> Path:
    """``rows`` as JSON lines."""
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


# -- HAR


def entry(url: str, ms: int, status: int = 200, method: str = "GET", **more: Any) -> Json:
    """One HAR entry, sent ``ms`` milliseconds after the beginning, answered after 5."""
    headers = [{"name": "Accept", "value": "text/html"}, *more.pop("headers", ())]
    answer = {
        "status": status,
        "headers": more.pop("answer_headers", []),
        "redirectURL": more.pop("to", ""),
    }
    answer["content"] = {"mimeType": more.pop("mime", "text/html"), **more.pop("content", {})}
    if "_failureText" in more:
        answer["_failureText"] = more.pop("_failureText")
    request = {"method": method, "url": url, "headers": headers}
    if "posted" in more:
        request["postData"] = more.pop("posted")
    told = {"startedDateTime": f"2026-01-02T03:04:{ms // 1000:02}.{ms % 1000:03}Z", "time": 5}
    return {
        **told,
        "request": request,
        "response": answer,
        "timings": {"send": 0, "wait": 4, "receive": 1},
        **more,
    }


def har(*entries: Json, pages: list[Json] | None = None, creator: str = "Playwright") -> Json:
    """A HAR of these entries, all of one page unless told otherwise."""
    page = {
        "id": "p",
        "startedDateTime": "2026-01-02T03:04:00.000Z",
        "title": "Shop",
        "pageTimings": {"onLoad": 90},
    }
    listed = [page] if pages is None else pages
    entries = tuple({"pageref": "p", **one} if pages is None else one for one in entries)
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": creator},
            "pages": listed,
            "entries": list(entries),
        }
    }


A_HAR = har(
    entry("http://shop.example/", 0),
    entry(
        "http://shop.example/order", 100, 303, "POST", to="/thanks",
        posted={"mimeType": "application/x-www-form-urlencoded", "text": f"name=Ada&password={SECRET}"},
        headers=[{"name": "Cookie", "value": f"sid={SECRET}"}, {"name": "Authorization", "value": f"Bearer {SECRET}"}],
        answer_headers=[{"name": "Set-Cookie", "value": f"sid={SECRET}; HttpOnly"}],
    ),
    entry("http://shop.example/thanks", 110, content={"text": "<p>Thanks</p>"}),
)  # fmt: skip


# -- CDP


def cdp(method: str, at: float, session: str = "", **params: Any) -> Json:
    """One message, ``at`` seconds."""
    message: Json = {"method": method, "params": {"timestamp": at, **params}}
    return message | ({"sessionId": session} if session else {})


def asked(number: str, url: str, at: float, kind: str = "Document", **more: Any) -> Json:
    """A request that is sent."""
    request = {"url": url, "method": "GET", "headers": {}} | more.pop("request", {})
    about = {
        "requestId": number,
        "loaderId": number,
        "frameId": "F",
        "type": kind,
        "wallTime": at,
    } | more
    return cdp("Network.requestWillBeSent", at, request=request, **about)


A_LOG = [
    asked("1", "http://shop.example/", 10.0),
    cdp(
        "Network.responseReceived",
        10.1,
        requestId="1",
        response={"status": 200, "mimeType": "text/html"},
    ),
    cdp(
        "Page.frameNavigated",
        10.2,
        frame={"id": "F", "loaderId": "1", "url": "http://shop.example/"},
    ),
    cdp("Network.loadingFinished", 10.3, requestId="1"),
    cdp("Page.loadEventFired", 10.4),
    asked("2", f"http://shop.example/two?token={SECRET}", 11.0),
    cdp(
        "Network.responseReceived",
        11.1,
        requestId="2",
        response={"status": 200, "mimeType": "text/html"},
    ),
    cdp(
        "Page.frameNavigated",
        11.2,
        frame={"id": "F", "loaderId": "2", "url": "http://shop.example/two"},
    ),
    asked("3", "http://shop.example/events", 11.5, "EventSource"),
    cdp(
        "Network.responseReceived",
        11.6,
        requestId="3",
        response={"status": 200, "mimeType": "text/event-stream"},
    ),
]


# -- rrweb


def node(number: int, tag: str, *children: Json, **attributes: Any) -> Json:
    """A serialised element."""
    about = {
        "tagName": tag,
        "attributes": {name.replace("_", "-"): value for name, value in attributes.items()},
    }
    return {"type": 2, "id": number, "childNodes": list(children), **about}


def text(number: int, content: str) -> Json:
    """A serialised text."""
    return {"type": 3, "id": number, "textContent": content}


def did(ms: int, source: int, **data: Any) -> Json:
    """An incremental event."""
    return {"type": 3, "timestamp": ms, "data": {"source": source, **data}}


PAGE = node(
    2, "html",
    node(3, "head", node(4, "title", text(5, "Shop"))),
    node(
        6, "body",
        node(7, "label", text(8, "Name "), node(9, "input", name="name")),
        node(10, "input", type="password", name="pin", aria_label="PIN"),
        node(11, "button", text(12, "Order")),
        node(13, "div", id="out"),
        node(15, "label", text(16, "Terms "), node(17, "input", type="checkbox", name="terms")),
    ),
)  # fmt: skip

A_STREAM = [
    {"type": 4, "timestamp": 1000, "data": {"href": "http://shop.example/", "width": 9, "height": 9}},
    {"type": 2, "timestamp": 1001, "data": {"node": {"type": 0, "id": 1, "childNodes": [PAGE]}, "initialOffset": {}}},
    did(1100, 2, type=1, id=9),
    did(1101, 2, type=5, id=9),
    did(1150, 2, type=2, id=9),
    did(1200, 5, id=9, text="A", isChecked=False),
    did(1300, 5, id=9, text="Ada", isChecked=False),
    did(1400, 2, type=5, id=10),
    did(1410, 5, id=10, text=SECRET, isChecked=False),
    did(1500, 2, type=1, id=11),
    did(1550, 2, type=2, id=11),
    did(1600, 0, adds=[{"parentId": 13, "nextId": None, "node": text(14, "Thank you, Ada")}], removes=[], texts=[],
        attributes=[]),
    did(1700, 2, type=2, id=11),
]  # fmt: skip


# -- Playwright traces


SHOP_HTML = [
    "HTML",
    {},
    ["HEAD", {}, ["TITLE", {}, "Shop"]],
    [
        "BODY",
        {},
        [
            "INPUT",
            {
                "__playwright_value_": "",
                "name": "q",
                "aria-label": "Search",
            },
        ],
        ["BUTTON", {}, "Go"],
    ],
]


def trace_rows(version: int) -> list[Json]:
    """A fill and a click, as a trace of ``version`` tells them."""
    phase = version >= 9
    options: Json = {
        "type": "context-options",
        "version": version,
        "browserName": "chromium",
        "options": {},
    }
    if version >= 7:
        options |= {"origin": "library", "monotonicTime": 100.0}

    def before(number: int, method: str, at: float, **params: Any) -> Json:
        title = {"title": f"Frame {method}"} if version >= 8 else {"apiName": f"page.{method}"}
        row = {
            "type": "before",
            "callId": f"call@{number}",
            "class": "Frame",
            "method": method,
            "startTime": at,
        }
        return {**row, **title, "params": params, "pageId": "page@1"}

    def after(number: int, at: float) -> Json:
        return {"type": "after", "callId": f"call@{number}", "endTime": at} | (
            {"log": []} if version < 6 else {}
        )

    def shot(
        number: int, place: str, at: float, html: Any, url: str = "http://shop.example/"
    ) -> Json:
        snapshot: Json = {
            "callId": f"call@{number}",
            "pageId": "page@1",
            "frameId": "frame@1",
            "frameUrl": url,
        }
        named = {"before": "before", "action": "action" if phase else "input", "after": "after"}[
            place
        ]
        snapshot |= {"phase": named} if phase else {"snapshotName": f"{named}@call@{number}"}
        told = {"html": html, "timestamp": at, "isMainFrame": True, "viewport": {}}
        return {"type": "frame-snapshot", "snapshot": snapshot | told}

    def mark(number: int) -> str:
        return "" if phase else f"call@{number}"

    def field(value: str, target: int | None = None) -> Any:
        marked = {} if target is None else {"__playwright_target__": mark(target)}
        return [
            "INPUT",
            {"__playwright_value_": value, "name": "q", "aria-label": "Search"} | marked,
        ]

    # Nodes of the first snapshot, as they end: 0 "Shop", 1 TITLE, 2 HEAD, 3 INPUT, 4 "Go", 5
    # BUTTON, 6 BODY, 7 HTML.
    return [
        options,
        before(1, "fill", 110.0, selector="[name=q]", value="lamp"),
        shot(1, "before", 111.0, copy.deepcopy(SHOP_HTML)),
        shot(1, "action", 112.0, ["HTML", {}, [[1, 2]], ["BODY", {}, field("", 1), [[1, 5]]]]),
        {"type": "input", "callId": "call@1"},
        after(1, 120.0),
        shot(1, "after", 121.0, ["HTML", {}, [[2, 2]], ["BODY", {}, field("lamp", 1), [[2, 5]]]]),
        before(2, "click", 130.0, selector="button"),
        shot(2, "action", 132.0, ["HTML", {}, [[3, 2]], ["BODY", {}, field("lamp"), [
            "BUTTON", {"__playwright_target__": mark(2)}, [[3, 4]]]]]),
        {"type": "input", "callId": "call@2", "point": {"x": 1, "y": 1}},
        after(2, 140.0),
        shot(2, "after", 141.0, [[1, 5]], "http://shop.example/#found"),
    ]  # fmt: skip


def trace_zip(
    path: Path, rows: list[Json], network: list[Json] | None = None, *, packed: bool = False
) -> Path:
    """A trace zip of these rows; its text stands in clear unless it is to be ``packed``."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as pack:
        pack.writestr("trace.trace", b"".join(orjson.dumps(row) + b"\n" for row in rows))
        pack.writestr("trace.network", b"".join(orjson.dumps(row) + b"\n" for row in network or ()))
    return path


# -- AT-SPI


def said(
    t: float, kind: str, role: str, name: str, d1: int = 0, d2: int = 0, any: str = ""
) -> Json:
    """An accessibility event."""
    return {
        "t": t,
        "src": "atspi",
        "type": kind,
        "d1": d1,
        "d2": d2,
        "role": role,
        "name": name,
        "any": any,
    }


def changed(t: float, *events: str, name: str, cookie: int = 0, folder: bool = False) -> Json:
    """An inotify event."""
    return {"t": t, "src": "fs", "ev": list(events), "name": name, "cookie": cookie, "dir": folder}


A_CAPTURE = [
    changed(0.0, "CREATE", name="note.txt"),
    changed(0.01, "CLOSE_WRITE", name="note.txt"),
    said(0.5, "object:text-changed:insert", "text", "", 0, 5, "hello"),
    said(0.6, "window:activate", "frame", "note.txt - Editor", any="note.txt - Editor"),
    {"t": 1.0, "src": "mark", "what": "ready"},
    {"t": 1.1, "src": "input", "cmd": ["type", " you"]},
    said(1.2, "object:text-changed:insert", "text", "", 5, 4, " you"),
    {"t": 2.0, "src": "input", "cmd": ["key", "ctrl+s"]},
    changed(2.1, "CREATE", name=".goutputstream-ABCDEF"),
    changed(2.2, "MOVED_FROM", name=".goutputstream-ABCDEF", cookie=7),
    changed(2.2, "MOVED_TO", name="note.txt", cookie=7),
    {
        "t": 3.0,
        "src": "truth",
        "files": {"note.txt": "hello you"},
        "texts": [["text", "", "hello you"]],
    },
]

A_FLOW = {
    "title": "Shop",
    "steps": [
        {"type": "navigate", "url": "http://shop.example/", "assertedEvents": [
            {"type": "navigation", "url": "http://shop.example/", "title": ""}]},
        {"type": "change", "value": "Ada", "selectors": [["aria/Name"], ["#name"]], "target": "main"},
        {"type": "change", "value": SECRET, "selectors": [["aria/Password"], ["#password"]], "target": "main"},
        {"type": "click", "selectors": [['aria/Order[role="button"]'], ["#order"]], "target": "main"},
    ],
}  # fmt: skip


# -- ATIF


def turn(number: int, message: str = "", **more: Any) -> Json:
    """A step of the agent, ``number`` seconds after the beginning."""
    at = f"2026-01-02T03:04:{number:02}.000Z"
    return {"step_id": number, "timestamp": at, "source": "agent", "message": message, **more}


def called(call: str, tool: str, **arguments: Any) -> Json:
    """A tool call."""
    return {"tool_call_id": call, "function_name": tool, "arguments": arguments}


def came_back(call: str, content: Any, **extra: Any) -> Json:
    """What a tool call came back with."""
    return {"source_call_id": call, "content": content, **({"extra": extra} if extra else {})}


def trajectory(*steps: Json, **more: Any) -> Json:
    """A trajectory of these steps."""
    agent = {"name": "terminus", "version": "2.0"}
    return {"schema_version": "ATIF-v1.8", "agent": agent, "steps": list(steps), **more}


A_TRAJECTORY = trajectory(
    {"step_id": 1, "source": "user", "message": "What is six times seven?"},
    turn(
        2,
        "I look it up.",
        tool_calls=[called("c1", "login", user="ada", password=SECRET), called("c2", "multiply", a=6, b=7)],
        observation={"results": [
            came_back("c1", f'{{"token": "{SECRET}"}}', is_error=False),
            came_back("c2", [{"type": "text", "text": "42"}], is_error=False),
            {"content": "the clock strikes"},
        ]},
    ),
    turn(3, tool_calls=[called("c3", "fly")], observation={"results": [came_back("c3", "no such tool", error="no such tool")]}),
    turn(4, "It is 42."),
)  # fmt: skip


def one_of_each(folder: Path) -> dict[str, Path]:
    """A file of every format, by the format's name."""
    return {
        "har": write(folder / "a.har", A_HAR),
        "cdp": write(folder / "log.json", A_LOG),
        "trace": trace_zip(folder / "trace.zip", trace_rows(8)),
        "rrweb": write(folder / "events.json", A_STREAM),
        "atspi": lines(folder / "capture.jsonl", A_CAPTURE),
        "flow": write(folder / "flow.json", A_FLOW),
        "atif": write(folder / "trajectory.json", A_TRAJECTORY),
    }
