"""Which conditions depend on what a source can't observe for a while: a gap leaves those unknown,
and no other."""

from __future__ import annotations

from detectors.matchers import TextMatch
from detectors.model.kinds import KINDS

_PARTS_BY_ARGUMENT = {"ax": "app", "probe": "probe", "reader": "path"}
"""Source → the argument of a rule that names a part of it."""


def depends_on(hears: tuple[str, ...], args: object, source: str, of: str | None) -> bool:
    """Whether a rule that hears ``hears`` under ``args`` needs ``source``, or with ``of`` that part
    of it.

    A part is a kind such as `page.title_changed`, a noun such as `request` (cdp), an application's
    name (ax), a probe's id (probe), the path that a rule reads (reader), the `text` that was copied
    (clipboard).
    """
    heard = [kind for kind in hears if kind in KINDS and KINDS[kind].source == source]
    if not heard or of is None:
        return bool(heard)
    if source == "cdp":
        return any(of in (kind, kind.partition(".")[0]) for kind in heard)
    if of in KINDS:
        return of in heard
    if source in _PARTS_BY_ARGUMENT:
        return _may_be(getattr(args, _PARTS_BY_ARGUMENT[source], None), of)
    if source == "clipboard":
        reads = getattr(args, "reads", None)
        return hasattr(args, of) or (reads is not None and reads.may_read(of))
    return True


def _may_be(wanted: object, name: str) -> bool:
    """Whether an argument that names a part may mean the one called ``name``; without one it means
    any."""
    if isinstance(wanted, TextMatch):
        return wanted.matches(name)
    return wanted is None or wanted == name
