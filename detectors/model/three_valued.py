"""Three-valued logic: true, false, or None where nobody knows. What is known decides; only where it
does not, the whole is unknown, and a step that hangs on it is null, not 0."""

from __future__ import annotations

from collections.abc import Iterable


def any_verdict(verdicts: Iterable[bool | None], *, more: bool = False) -> bool | None:
    """Whether one of them is true; None where nobody knows. ``more``: there may be others that are
    not among them. Ends with the first that is true."""
    unknown = more
    for verdict in verdicts:
        if verdict:
            return True
        unknown |= verdict is None
    return None if unknown else False


def all_verdict(verdicts: Iterable[bool | None]) -> bool | None:
    """Whether each of them is true; None where nobody knows. Ends with the first that is false."""
    unknown = False
    for verdict in verdicts:
        if verdict is False:
            return False
        unknown |= verdict is None
    return None if unknown else True
