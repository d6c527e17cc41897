"""What a JSON-RPC message says of tool calls. Pure; what is no such message says nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import orjson

from detectors.model.json_value import (
    as_items,
    list_or_empty,
    object_or_empty,
    read_text,
    text_or_none,
)
from detectors.model.optional_values import drop_empty

CANCELLED = "notifications/cancelled"
MAX_DIGITS = 400
"""Digits of an integer that is read as a number."""
MAX_DEPTH = 64
"""Lists and objects in each other that are read of a message that Python finds too deep."""
_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


class ToolRequest(NamedTuple):
    """A request `tools/call`. ``request``: its id, as JSON text, for 1 and "1" differ.

    ``is_continued``: it is asked again with the input that the server wanted; ``state``: which one.
    """

    request: str
    tool: str
    arguments: object
    is_continued: bool = False
    state: str | None = None


class ToolReturn(NamedTuple):
    """An answer to any request. ``error`` None: it succeeded.

    ``needs_input``: the server wants input first, under ``state``, and the client asks again.
    """

    request: str
    result: object
    error: str | None
    needs_input: bool = False
    state: str | None = None


class Cancellation(NamedTuple):
    """The client no longer waits for the answer to ``request``."""

    request: str
    reason: str


Message = ToolRequest | ToolReturn | Cancellation


def read_messages(raw: bytes) -> list[Message]:
    """Return what a message, or a batch of them, says of tool calls; [] where it is malformed."""
    return [message for value in _objects(raw) if (message := _as_message(value)) is not None]


def _objects(raw: bytes) -> Iterator[Mapping[str, object]]:
    """Yield the messages of a body: one, or several in a list."""
    value = _parse(raw)
    for item in as_items(value):
        if isinstance(item, dict):
            yield item


def _parse(raw: bytes) -> object:
    """Parse as leniently as servers do: NaN, half surrogate pairs and long integers are none of
    orjson's."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(raw, parse_int=_parse_integer)
    except RecursionError:
        return _parse_flattened(raw)
    except ValueError:
        return None


def _parse_integer(digits: str) -> int | str:
    """Return a number, or its digits where Python would refuse to read so many."""
    return int(digits) if len(digits) < MAX_DIGITS else digits


def _parse_flattened(raw: bytes) -> object:
    """Parse without what lies deeper than `MAX_DEPTH`: a call is not hidden by what it is given."""
    kept = bytearray()
    depth = start = 0
    for token in _BRACKET.finditer(raw):
        bracket = token.group()
        if bracket in (b"[", b"{"):
            depth += 1
            if depth == MAX_DEPTH:
                kept += raw[start : token.start()] + b"null"
        elif bracket in (b"]", b"}"):
            if depth == MAX_DEPTH:
                start = token.end()
            depth -= 1
    try:
        return json.loads(kept + raw[start:], parse_int=_parse_integer)
    except ValueError:
        return None


def _as_message(value: Mapping[str, object]) -> Message | None:
    """Return a message as a call of a tool, a cancellation or a return; None for all others."""
    method = value.get("method")
    if method is None:
        return _as_return(value)
    params = value.get("params")
    params = object_or_empty(params)
    if method == "tools/call" and _is_id(value.get("id")):
        state = params.get("requestState")
        return ToolRequest(
            _id_text(value["id"]),
            str(params.get("name", "")),
            params.get("arguments", {}),
            "requestState" in params or "inputResponses" in params,
            text_or_none(state),
        )
    if method == CANCELLED and _is_id(params.get("requestId")):
        return Cancellation(_id_text(params["requestId"]), read_text(params, "reason"))
    return None


def _as_return(value: Mapping[str, object]) -> ToolReturn | None:
    """Return the answer to a call: its result, its error, or that it waits for input. None for what
    answers nothing."""
    if not _is_id(value.get("id")):
        return None
    request = _id_text(value["id"])
    if "error" in value:
        return ToolReturn(request, None, _describe_error(value["error"]))
    result = value.get("result")
    if not isinstance(result, dict):
        return ToolReturn(request, result, None)
    if result.get("resultType") == "input_required":
        state = result.get("requestState")
        return ToolReturn(request, None, None, True, text_or_none(state))
    summary = summarize_result(result)
    if result.get("isError") is True:
        return ToolReturn(request, summary, str(summary["text"]) or "the tool failed")
    return ToolReturn(request, summary, None)


def summarize_result(result: Mapping[str, object]) -> dict[str, object]:
    """Return a tool's result as an event has it: its texts joined, what is structured, and of
    pictures, sounds and resources what they are."""
    texts: list[str] = []
    others: list[object] = []
    content = result.get("content")
    for block in list_or_empty(content):
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            texts.append(block["text"])
        else:
            others.append(block)
    summary: dict[str, object] = {"text": "\n".join(texts)}
    if "structuredContent" in result:
        summary["structured"] = result["structuredContent"]
    return summary | drop_empty({"other": others})


def _describe_error(error: object) -> str:
    """Return an error of JSON-RPC as its code and message."""
    if isinstance(error, dict):
        return f"{error.get('code')} {error.get('message')}"
    return str(error)


def _is_id(value: object) -> bool:
    """Whether a value can be the id of a request: a text or a number."""
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _id_text(value: object) -> str:
    return json.dumps(value)
