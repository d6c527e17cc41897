"""Yes and no of what conditions are made of: counting, windows, the same thing, guards, tools,
expressions."""

from __future__ import annotations

from typing import Any

from tests.support.logs import ORIGIN, Said, clicked, created, filled, finished, titled, went


def called(tool: str, call: str = "c1", **arguments: Any) -> Said:
    """The agent calls a tool."""
    return ("agent.tool_called", {"call": call, "tool": tool, "arguments": arguments})


def returned(ok: bool = True, call: str = "c1", **more: Any) -> Said:
    """The tool comes back."""
    return ("agent.tool_returned", {"call": call, "ok": ok, **more})


def copied(text: str, tab: str = "T") -> Said:
    return ("text.copied", {"tab": tab, "frame": tab, "text": text, "trusted": True})


def read(rows: Any, when: str = "step", **more: Any) -> Said:
    start = {"baseline": True} if when == "start" else {}
    return (
        "probe.answered",
        {"probe": "cart", "when": when, "value": rows, "ms": 1, **start, **more},
    )


GO, STOP = {"element_clicked": {"name": "Go"}}, {"element_clicked": {"name": "Stop"}}
CSV = {"file_created": {"name": {"glob": "*.csv"}}}
TYPED = {"observed": {"kind": "field.filled"}}
COPY = {"observed": {"kind": "text.copied"}}
ROWS = [{"id": 1, "n": 1}, {"id": 2, "n": 5}]
FIND = {
    "type": "object",
    "required": ["q"],
    "properties": {"q": {"type": "string", "pattern": "^[a-z]+$"}},
}
HOP = {"method": "POST", "url": f"{ORIGIN}/orders", "status": 303, "location": "/x"}
SITE = {"url": "/*", "allowed": ["/orders"]}

YES: dict[str, list[tuple[Any, list[Said], float]]] = {
    "all_of": [
        ({"within": {"steps": 0}, "of": [GO, STOP]}, [clicked("Go"), clicked("Stop")], 1),
        ({"within": {"seconds": 1}, "of": [GO, STOP]}, [clicked("Stop"), clicked("Go")], 1),
    ],
    "sequence": [
        ({"within": {"seconds": 0.002}, "of": [GO, STOP]}, [clicked("Go"), clicked("Go"), clicked("Stop")], 1),
        ({"within": {"seconds": 0.001}, "of": [GO, STOP]}, [clicked("Go"), *[titled("x")] * 9, clicked("Go"), clicked("Stop")], 1),
    ],
    "count": [
        ({"at_least": 2, "of": [CSV]}, [created("a.csv"), created("b.csv")], 1),
        ({"at_least": 4, "of": [CSV]}, [created("a.csv")], 0.25),
        ({"at_least": 2, "distinct": False, "of": [GO]}, [clicked("Go"), clicked("Go")], 1),
        ({"at_least": 2, "at_most": 2, "of": [GO, STOP]}, [clicked("Go"), clicked("Stop")], 1),
    ],
    "hold": [({"window": {"seconds": 0.003}, "of": [{"url_reached": {"url": "/a"}}]}, [went("/a"), *[clicked("x")] * 9], 1)],
    "same": [
        ({"by": "tab", "of": [{"url_reached": {"url": "/a"}}, GO]}, [went("/a", "1"), clicked("Go", tab="1")], 1),
        ({"by": "value", "order": "given", "of": [COPY, TYPED]}, [copied("QX-77"), filled("N", "QX-77")], 1),
        ({"by": "value", "order": "given", "part": True, "of": [COPY, TYPED]}, [copied("Order QX-77 is on"), filled("N", "QX-77")], 1),
        ({"by": "path", "of_first": "from", "of": [{"observed": {"kind": "file.moved"}}, {"file_created": {"name": "a"}}]},
         [created("b", "file.moved", **{"from": "a"}), created("a")], 1),
    ],
    "other_file_changed": [
        ({"allowed": {"path": "out/**"}}, [created("out.csv")], 1),
        ({"allowed": "a.csv"}, [created("a.csv", "file.moved", **{"from": "b.csv"})], 1),
        ({}, [created("a.csv", "file.deleted")], 1),
        ({"allowed": "b.csv"}, [("file.vanished", {"root": "downloads", "path": "a.csv", "name": "a.csv"})], 1),
        ({"root": "downloads"}, [created("a.csv", "file.modified")], 1),
    ],
    "other_request_made": [
        (SITE, [finished("POST", "/delete", 200)], 1),
        (SITE, [finished("POST", "/delete?" + "&" * 1100, 200)], 1),
        (SITE, [finished("POST", "/delete?" + "x" * 9000, 200)], 1),
        (SITE, [finished("DELETE", "/orders/7", 204)], 1),
        ({"url": "/*"}, [finished("GET", "/x", 200, hops=[HOP])], 1),
    ],
    "probe_kept": [
        ({"probe": "cart"}, [read(ROWS, "start"), read(ROWS), clicked("Go")], 1),
        ({"probe": "cart"}, [read(ROWS, "start"), read(ROWS[::-1]), clicked("Go")], 1),
        ({"probe": "cart", "by": "id"}, [read(ROWS, "start"), read(ROWS[::-1]), clicked("Go")], 1),
        ({"probe": "cart", "by": "id", "rows": ["1"]}, [read(ROWS, "start"), read(ROWS[1:]), clicked("Go")], 1),
        ({"probe": "cart", "by": "id", "rows": ["3"]}, [read(ROWS, "start"), read([*ROWS, {"id": 3}]), clicked("Go")], 1),
        ({"probe": "cart", "keys": ["n"]}, [read(ROWS, "start"), read([{"id": 1, "n": 9}, ROWS[1]]), clicked("Go")], 1),
        ({"probe": "cart", "path": "a.b"}, [read({"a": {"b": 1}}, "start"), read({"a": {"b": 1}, "c": 2}), clicked("Go")], 1),
    ],
    "tool_called": [
        ({"tool": "find"}, [called("find", q="lamp")], 1),
        ({"tool": "find", "arguments": {"q": {"contains": "lamp"}}}, [called("find", q="desk lamp")], 1),
        ({"tool": "find", "schema": FIND}, [called("find", q="lamp")], 1),
        ({"tool": "find", "schema": FIND, "wrong": True}, [called("find", q=7)], 1),
        ({"other_than": {"one_of": ["find", "buy"]}}, [called("rm")], 1),
    ],
    "tool_returned": [
        ({"tool": "find"}, [called("find"), returned()], 1),
        ({"tool": "find", "result": {"items.0.id": 7}}, [called("find"), returned(result={"items": [{"id": 7}]})], 1),
        ({"ok": False, "error": {"contains": "timeout"}}, [called("find"), returned(False, error="a timeout")], 1),
    ],
    "cel": [
        ({"kind": "request.finished", "expression": "data.method == 'POST' && data.status < 300"}, [finished("POST", "/a", 201)], 1),
        ({"kind": "field.filled", "expression": "double(data.value) > 2.0 && url == ''"}, [filled("N", "3")], 1),
        ({"kind": "form.submitted", "expression": "data.fields.exists(f, f[0] == 'q' && f[1].size() > 1)"},
         [("form.submitted", {"tab": "T", "frame": "T", "form": {}, "fields": [["q", "ab"]], "trusted": True})], 1),
    ],
}  # fmt: skip

NO: dict[str, list[tuple[Any, list[Said]]]] = {
    "all_of": [({"within": {"seconds": 0.001}, "of": [GO, STOP]}, [clicked("Go"), *[titled("x")] * 3, clicked("Stop")])],
    "sequence": [
        ({"within": {"seconds": 0.001}, "of": [GO, STOP]}, [clicked("Go"), *[titled("x")] * 3, clicked("Stop")]),
        ({"within": {"seconds": 9}, "of": [GO, STOP]}, [clicked("Stop"), clicked("Go")]),
    ],
    "count": [
        ({"at_least": 2, "distinct": False, "of": [GO]}, [clicked("Stop"), clicked("Stop")]),
        ({"at_least": 1, "of": [CSV]}, [clicked("Go")]),
    ],
    "hold": [
        ({"window": {"seconds": 0.003}, "of": [{"url_reached": {"url": "/a"}}]}, [went("/a"), clicked("x"), went("/b"), *[clicked("x")] * 9]),
        ({"window": {"steps": 1}, "of": [GO]}, [clicked("Go")]),
    ],
    "same": [
        ({"by": "tab", "of": [{"url_reached": {"url": "/a"}}, GO]}, [went("/a", "1"), went("/b", "2"), clicked("Go", tab="2")]),
        ({"by": "value", "order": "given", "of": [COPY, TYPED]}, [filled("N", "QX-77"), copied("QX-77")]),
        ({"by": "value", "of": [COPY, TYPED]}, [copied("QX-77"), filled("N", "QX-78")]),
        ({"by": "value", "part": True, "of": [COPY, TYPED]}, [copied("Order QX-771"), filled("N", "QX-77")]),
        ({"by": "value", "part": True, "of": [COPY, TYPED]}, [copied("a b c"), filled("N", "b")]),
        ({"by": "value", "of": [COPY, TYPED]}, [copied(""), filled("N", "")]),
    ],
    "other_file_changed": [
        ({"allowed": {"path": "out/**"}}, [created("out/a/b.csv"), created("out/c.csv", "file.deleted")]),
        ({"root": "home"}, [created("a.csv")]),
        ({}, [("folder.deleted", {"root": "downloads", "path": "d", "name": "d"})]),
    ],
    "other_request_made": [
        (SITE, [finished("POST", "/orders", 201)]),
        (SITE, [finished("POST", "/orders?" + "x" * 9000, 201)]),
        (SITE, [finished("GET", "/delete", 200)]),
        (SITE, [finished("POST", "/delete", 403)]),
        (SITE, [("request.failed", {"tab": "T", "request": "r", "method": "POST", "url": f"{ORIGIN}/delete", "error": "x"})]),
    ],
    "probe_kept": [
        ({"probe": "cart"}, [read(ROWS, "start"), read([ROWS[1], *ROWS]), clicked("Go")]),
        ({"probe": "cart"}, [read(ROWS, "start"), read([*ROWS[:1], {"id": 2, "n": 7}]), clicked("Go")]),
        ({"probe": "cart", "by": "id", "rows": ["1"]}, [read(ROWS, "start"), read(ROWS[:1]), clicked("Go")]),
        ({"probe": "cart", "by": "id", "rows": ["3"]}, [read(ROWS, "start"), read([*ROWS, {"id": 4}]), clicked("Go")]),
        ({"probe": "cart", "keys": ["n"]}, [read(ROWS, "start"), read([{"id": 7, "n": 1}, ROWS[1]]), clicked("Go")]),
        ({"probe": "cart"}, [read(ROWS), clicked("Go")]),
    ],
    "tool_called": [
        ({"tool": "find"}, [called("Find"), called("finder")]),
        ({"tool": "find", "arguments": {"q": "lamp"}}, [called("find", q="lamps"), called("find")]),
        ({"tool": "find", "schema": FIND}, [called("find"), called("find", q=7), called("find", q="a" * 5000 + "!")]),
        ({"tool": "find", "schema": FIND, "wrong": True}, [called("find", q="lamp")]),
        ({"other_than": {"one_of": ["find", "buy"]}}, [called("buy")]),
    ],
    "tool_returned": [
        ({"tool": "find"}, [called("buy"), returned()]),
        ({"tool": "find"}, [called("find"), returned(False)]),
        ({"tool": "find"}, [called("find"), returned(call="c2")]),
    ],
    "cel": [
        ({"kind": "request.finished", "expression": "data.cached == false"}, [finished("POST", "/a", 201)]),
        ({"kind": "element.clicked", "expression": "data.element.name != 'trusted'"}, [clicked("Go", trusted=False)]),
        ({"kind": "request.finished", "expression": "1 / (data.status - 201) == 0"}, [finished("POST", "/a", 201)]),
        ({"kind": "element.clicked", "expression": "true"}, [clicked("Go", trusted=False)]),
    ],
}  # fmt: skip
