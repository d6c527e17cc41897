"""What the service takes of one event and of one frame. A segment that it refuses it refuses for
ever, and all that follows with it: so nothing that is longer or deeper is ever numbered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from detectors.model.codec import LIGHT_BYTES, MAX_VALUES_BYTES, encode_event, values_bytes

EVENT_BYTES = (4 << 20) - (1 << 16)
"""The longest line of an event: even unpacked it fits into a frame of 4 MiB, the service's most."""
EVENT_DEPTH = 200
"""How deep a line may nest."""
_HEADER_BYTES = 1 << 12
"""More than a segment's header comes to."""

_Container = Mapping[object, object] | list[object] | tuple[object, ...]
_CONTAINERS = (Mapping, list, tuple)


class UnfitError(ValueError):
    """An event that no segment can hold; ``wanted`` says what could."""

    def __init__(self, what: str, wanted: str) -> None:
        super().__init__(f"{what}, wanted {wanted}")
        self.what, self.wanted = what, wanted


def line_of(seq: int, source: str, kind: str, at: int, data: Mapping[str, object]) -> bytes:
    """Encode an event as its line in the log. Raises `UnfitError` for one that no segment holds."""
    try:
        line = encode_event(seq, source, kind, at, data)
    except TypeError:
        line = _encode_printable(seq, source, kind, at, data)
    if len(line) > EVENT_BYTES:
        raise UnfitError(f"an event longer than {EVENT_BYTES} bytes", "a shorter one")
    if _has_heavy_values(line):
        raise UnfitError(
            f"an event whose values take more than {MAX_VALUES_BYTES} bytes of memory",
            "fewer of them",
        )
    # Nearly every line opens fewer brackets than that, and is done with here.
    if line.count(b"{") + line.count(b"[") > EVENT_DEPTH and deeper(data, EVENT_DEPTH - 1):
        raise _too_deep()
    return line


def _has_heavy_values(line: bytes) -> bool:
    """Whether a line may come to more than its share of a segment once its values are read; short
    lines need no count."""
    if len(line) <= LIGHT_BYTES - _HEADER_BYTES:
        return False
    return values_bytes(line) > MAX_VALUES_BYTES - _HEADER_BYTES


def _encode_printable(
    seq: int, source: str, kind: str, at: int, data: Mapping[str, object]
) -> bytes:
    """Encode what orjson refuses, as half a surrogate pair, which pages and file names can hold."""
    if deeper(data, EVENT_DEPTH - 1):
        raise _too_deep()
    try:
        return encode_event(seq, source, kind, at, printable(data))
    except TypeError as error:
        raise UnfitError(
            f"an event that is no JSON ({error})", "texts, lists, objects, numbers of 64 bits"
        ) from None


def _too_deep() -> UnfitError:
    return UnfitError(f"an event nested deeper than {EVENT_DEPTH}", "a flatter one")


def deeper(value: object, most: int) -> bool:
    """Return whether lists and objects in ``value`` nest deeper than ``most``.

    It goes level by level, so no depth exhausts the stack.
    """
    level = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(most):
        # By identity: what holds one list many times is looked at once a level.
        inner = {id(item): item for container in level for item in _containers_in(container)}
        level = list(inner.values())
        if not level:
            return False
    return bool(level)


def _containers_in(container: _Container) -> Iterator[_Container]:
    """Yield the objects and lists that stand directly in another one."""
    items = container.values() if isinstance(container, Mapping) else container
    return (item for item in items if isinstance(item, _CONTAINERS))


def printable(value: object) -> Any:
    """Return a JSON value with every lone surrogate replaced by a question mark."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {printable(str(key)): printable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [printable(item) for item in value]
    return value
