"""How many examples a property is tried on."""

from __future__ import annotations

SHARE = 4
"""`make test` tries a property on one example in so many: other ones each time."""
MIN_EXAMPLES = 10


class _Suite:
    is_whole = True


def choose(marks: str) -> None:
    """All examples, unless ``marks``, pytest's own ``-m``, leaves the slow suites out."""
    _Suite.is_whole = marks != "not slow"


def is_whole() -> bool:
    """Whether the slow suites run too."""
    return _Suite.is_whole


def examples(count: int) -> int:
    """``count`` in `make test-all`, a share of it in `make test`."""
    return count if is_whole() else max(count // SHARE, min(count, MIN_EXAMPLES))
