"""What a tool was given and gave, as an event may hold it: bounded and masked."""

from __future__ import annotations

import hashlib
import math

import orjson

from agentd.core.wire_limits import printable
from agentd.masking.masker import MASK, Masker

MAX_TEXT = 64 << 10
"""Characters of one text that are kept."""
MAX_BYTES = 256 << 10
"""Bytes of a whole value, as JSON; of a larger one its size and digest are kept."""
MAX_DEPTH = 48
"""Lists and objects in each other."""
MAX_INTEGER = 1 << 63
_NAMES = ("name", "label", "element", "field", "key")
_VALUES = ("value", "text")
"""A form's field, as tools are given it: the name of what is filled in, and with what."""


def event_value(value: object, masker: Masker) -> object:
    """Return a JSON value within this module's bounds, its secrets masked."""
    masked = masker.mask_json(_mask_fields(_bound(value, 0), masker))
    raw = orjson.dumps(masked)
    return masked if len(raw) <= MAX_BYTES else _digest("bytes", raw)


def event_text(text: str, masker: Masker) -> str:
    """Return a text of at most `MAX_TEXT` characters, its secrets masked."""
    return masker.mask_text(_cut(text))


def _bound(value: object, depth: int) -> object:
    """Return a value cut to what an event may hold; numbers that JSON can't hold become texts."""
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, dict | list):
        return _bound_container(value, depth)
    if isinstance(value, int) and not -MAX_INTEGER <= value < MAX_INTEGER:
        return _cut(hex(value))  # decimal digits of a huge number would take seconds
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _bound_container(value: dict[str, object] | list[object], depth: int) -> object:
    """Bound what a list or an object holds; one that is too deep is left out."""
    if depth >= MAX_DEPTH:
        return f"(deeper than {MAX_DEPTH})"
    if isinstance(value, list):
        return [_bound(item, depth + 1) for item in value]
    return _bound_object(value, depth)


def _bound_object(value: dict[str, object], depth: int) -> dict[str, object]:
    """Bound an object's members; of MCP's pictures, sounds and resources the Base64 is digested."""
    is_media = isinstance(value.get("mimeType"), str)
    binary = ("data", "blob") if is_media else ("blob",)
    bounded: dict[str, object] = {}
    for key, item in value.items():
        if key in binary and isinstance(item, str):
            bounded[_cut(key)] = _digest("characters", item.encode("utf-8", "replace"))
        else:
            bounded[_cut(key)] = _bound(item, depth + 1)
    return bounded


def _cut(text: str) -> str:
    """Return a text as it can be written, of a long one the beginning."""
    text = printable(text)
    if len(text) <= MAX_TEXT:
        return text
    kept = text[:MAX_TEXT]
    # To the last whole word, for half a token would no longer show by its shape.
    end = max(kept.rfind(" "), kept.rfind("\n"))
    if end > MAX_TEXT // 2:
        kept = kept[:end]
    return f"{kept} … ({len(text)} characters)"


def _digest(unit: str, raw: bytes) -> dict[str, object]:
    return {unit: len(raw), "sha256": hashlib.sha256(raw).hexdigest()}


def _mask_fields(value: object, masker: Masker) -> object:
    """Mask what a field is filled with whose name, beside it, means a secret."""
    if isinstance(value, list):
        return [_mask_fields(item, masker) for item in value]
    if not isinstance(value, dict):
        return value
    is_secret = _is_secret_field(value, masker)
    masked: dict[str, object] = {}
    for key, item in value.items():
        is_filled = key in _VALUES and isinstance(item, str)
        masked[key] = MASK if is_secret and is_filled else _mask_fields(item, masker)
    return masked


def _is_secret_field(value: dict[str, object], masker: Masker) -> bool:
    """Whether an object names a field, and its name means a secret."""
    for key in _NAMES:
        name = value.get(key)
        if isinstance(name, str) and masker.is_secret_name(name):
            return True
    return False
