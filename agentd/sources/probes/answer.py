"""What an answer may be: any JSON, not too long, without secrets."""

from __future__ import annotations

from typing import Any, NamedTuple, NotRequired, TypedDict

import orjson

from agentd.masking import Masker
from detectors.model.kinds.limits import MAX_PROBE_BYTES
from detectors.model.types import Json


class ProbeFailedError(Exception):
    """The fact could not be read; carries why."""


class ProbeAnswer(NamedTuple):
    """``cut``: there was more than `MAX_PROBE_BYTES`, and nothing of it is told: part of a fact is
    another one."""

    value: Any
    cut: bool = False


def text_of(data: bytes, as_: str, what: str) -> object:
    """``data`` as text, or read as JSON with ``as_`` "json"; raises `ProbeFailedError`."""
    if as_ == "json":
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise ProbeFailedError(f"{what} is no JSON: {error}") from None
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ProbeFailedError(f"{what} is no UTF-8 text") from None


class KeptAnswer(TypedDict):
    """What an event keeps of an answer; with ``cut`` nothing of it."""

    value: Json
    cut: NotRequired[bool]


def answer_fields(answer: ProbeAnswer, masker: Masker) -> KeptAnswer:
    """An event's ``value`` and ``cut``: masked, and nothing at all of what is too long to be kept
    whole."""
    if not answer.cut:
        value = masker.mask_json(answer.value)
        try:
            long = len(orjson.dumps(value)) > MAX_PROBE_BYTES
        except TypeError:  # half a surrogate pair, which a page can hold
            long = len(repr(value)) > MAX_PROBE_BYTES
        if not long:
            return {"value": value}
    return {"value": None, "cut": True}
