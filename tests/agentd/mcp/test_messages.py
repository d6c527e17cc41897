"""What messages say of tool calls: by the specification, and where a harness or a server is sloppy."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentd.masking.masker import MASK, Masker
from agentd.mcp.event_values import MAX_BYTES, MAX_TEXT, event_text, event_value
from agentd.mcp.messages import Cancellation, Message, ToolRequest, ToolReturn, read_messages

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "go"}}
TEXT = {"type": "text", "text": "done"}
PICTURE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
READ: dict[str, tuple[Any, list[Message]]] = {
    "a call": (
        {**CALL, "params": {"name": "go", "arguments": {"x": 1}}},
        [ToolRequest("1", "go", {"x": 1})],
    ),
    "a call without arguments": (CALL, [ToolRequest("1", "go", {})]),
    "an id of text": ({**CALL, "id": "1"}, [ToolRequest('"1"', "go", {})]),
    "a batch": (
        [CALL, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, {**CALL, "id": 3}],
        [ToolRequest("1", "go", {}), ToolRequest("3", "go", {})],
    ),
    "a call again with the input that was wanted": (
        {**CALL, "params": {"name": "go", "inputResponses": {}, "requestState": "s"}},
        [ToolRequest("1", "go", {}, True, "s")],
    ),
    "another request": ({**CALL, "method": "tools/list"}, []),
    "a call that nobody can answer": ({key: CALL[key] for key in CALL if key != "id"}, []),
    "a call with an id that is none": ({**CALL, "id": None}, []),
    "a call whose parameters are none": ({**CALL, "params": [1]}, [ToolRequest("1", "", {})]),
    "a result": (
        {"id": 1, "result": {"content": [TEXT, TEXT]}},
        [ToolReturn("1", {"text": "done\ndone"}, None)],
    ),
    "a result with more than text": (
        {"id": 1, "result": {"content": [PICTURE], "structuredContent": {"n": 2}}},
        [ToolReturn("1", {"text": "", "structured": {"n": 2}, "other": [PICTURE]}, None)],
    ),
    "a tool that failed": (
        {"id": 1, "result": {"content": [TEXT], "isError": True}},
        [ToolReturn("1", {"text": "done"}, "done")],
    ),
    "a tool that failed in silence": (
        {"id": 1, "result": {"content": [], "isError": True}},
        [ToolReturn("1", {"text": ""}, "the tool failed")],
    ),
    "an error of the protocol": (
        {"id": 1, "error": {"code": -32602, "message": "no such tool"}},
        [ToolReturn("1", None, "-32602 no such tool")],
    ),
    "a result that wants input first": (
        {"id": 1, "result": {"resultType": "input_required", "requestState": "s"}},
        [ToolReturn("1", None, None, True, "s")],
    ),
    "a cancellation": (
        {"method": "notifications/cancelled", "params": {"requestId": 1, "reason": "late"}},
        [Cancellation("1", "late")],
    ),
    "progress": ({"method": "notifications/progress", "params": {"progressToken": 1}}, []),
    "a request of the server": ({"id": 1, "method": "sampling/createMessage"}, []),
    "a number": (7, []),
}


@pytest.mark.parametrize(("message", "expected"), READ.values(), ids=READ)
def test_read(message: Any, expected: list[Message]) -> None:
    assert read_messages(json.dumps(message).encode()) == expected


SLOPPY: dict[str, bytes] = {
    "not a number": b'{"x": NaN}',
    "half a surrogate pair": b'{"x": "\\ud83d"}',
    "a long integer": b'{"x": ' + b"9" * 5_000 + b"}",
    "deep": b"[" * 5_000 + b"]" * 5_000,
    "deep, with brackets in texts": b'[{"]": ' * 3_000 + b'"}"' + b"}]" * 3_000,
}


@pytest.mark.parametrize("arguments", SLOPPY.values(), ids=SLOPPY)
def test_no_arguments_hide_a_call(arguments: bytes) -> None:
    """An agent chooses the arguments: none of them keeps its call from being a step."""
    params = b'{"name":"go","arguments":' + arguments + b"}"
    raw = b'{"jsonrpc":"2.0","method":"tools\\/call","params":' + params + b',"id":1}'
    (call,) = read_messages(raw)
    assert isinstance(call, ToolRequest)
    assert (call.request, call.tool) == ("1", "go")
    kept = orjson.dumps(event_value(call.arguments, Masker()))
    assert len(kept) <= MAX_BYTES


@given(st.binary() | st.text().map(str.encode))
def test_what_is_no_message_says_nothing(raw: bytes) -> None:
    assert read_messages(raw) == []
    assert read_messages(b'{"id":1,"method":"tools/call"' + raw) in (
        [],
        [ToolRequest("1", "", {})],
    )


HUGE = [{"x": "y" * 1_000} for _ in range(1_000)]
VALUES: dict[str, tuple[Any, Any]] = {
    "plain": (
        {"url": "http://a/b", "n": [1, None, True]},
        {"url": "http://a/b", "n": [1, None, True]},
    ),
    "a secret by its name": ({"password": "hunter2"}, {"password": MASK}),
    "a field by the name beside it": (
        {"fields": [{"name": "Password", "value": "hunter2"}, {"name": "City", "value": "Bonn"}]},
        {"fields": [{"name": "Password", "value": MASK}, {"name": "City", "value": "Bonn"}]},
    ),
    "typed into a described element": (
        {"element": "Card number", "ref": "e5", "text": "4111111111111111"},
        {"element": "Card number", "ref": "e5", "text": MASK},
    ),
    "by the operator's word": ({"pin": "1234"}, {"pin": MASK}),
    "a picture": (
        PICTURE,
        {
            **PICTURE,
            "data": {
                "characters": 4,
                "sha256": "96e3186af2815065fbc894de1bdadda7830527fffdba6bdd709789cf0ee79a6a",
            },
        },
    ),
    "not finite": ([float("nan"), float("inf")], ["nan", "inf"]),
    "half a surrogate pair": ("\ud83d", "?"),
}


@pytest.mark.parametrize(("value", "expected"), VALUES.values(), ids=VALUES)
def test_a_value_as_an_event_has_it(value: Any, expected: Any) -> None:
    assert event_value(value, Masker(["pin"])) == expected


def test_what_is_long_is_cut() -> None:
    text = event_text("word " * MAX_TEXT, Masker())
    assert len(text) < MAX_TEXT + 40
    assert text.endswith(f"word … ({5 * MAX_TEXT} characters)")
    digest = event_value(HUGE, Masker())
    assert isinstance(digest, dict)
    assert digest["bytes"] > MAX_BYTES
    deep: Any = 1
    for _ in range(400):
        deep = [deep]
    assert "deeper than 48" in str(event_value(deep, Masker()))
