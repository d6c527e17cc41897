"""What an answer may be: any JSON, not too long, without secrets."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from agentd.masking import Masker

MOST = 64 << 10
"""Bytes of an answer that are read, and that its JSON may have."""


class ProbeFailedError(Exception):
    """The fact could not be read; carries why."""


class Answer(NamedTuple):
    """``cut``: there was more than `MOST`."""

    value: Any
    cut: bool = False


def text_of(data: bytes, as_: str, what: str, *, cut: bool = False) -> Any:
    """``data`` as text, or read as JSON with ``as_`` "json"; raises `ProbeFailedError`. Cut JSON is no JSON: None."""
    if as_ == "json":
        if cut:
            return None
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise ProbeFailedError(f"{what} is no JSON: {error}") from None
    try:
        return data.decode()
    except UnicodeDecodeError:
        if cut:
            return data.decode(errors="ignore")  # the end may have been cut within a character
        raise ProbeFailedError(f"{what} is no UTF-8 text") from None


def told(answer: Answer, masker: Masker) -> dict[str, Any]:
    """An event's ``value`` and ``cut``: masked, and nothing at all of what is too long to be kept whole."""
    value = masker.mask_json(answer.value)
    if not answer.cut:
        try:
            long = len(orjson.dumps(value)) > MOST
        except TypeError:  # half a surrogate pair, which a page can hold
            long = len(repr(value)) > MOST
        if not long:
            return {"value": value}
        value = None
    return {"value": value, "cut": True}
