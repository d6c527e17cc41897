"""What stands in an event, but was kept back, is not known or goes on: a condition that hangs on it
is neither true nor false."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from detectors.matchers.facts import Wanted, is_as_wanted
from detectors.model.kinds.shapes import Path
from detectors.model.types import Event
from detectors.sdk.condition_reads import Read
from detectors.sdk.cut_off import CUT_OFF, Beginning, find_beginnings, hangs_on, judge_beginning
from detectors.sdk.uploads import NO_SIZE, UPLOADS, is_one_of, unsized_places

SECRET_VALUE = "the field's value is a secret, kept back"
SECRET_COPY = "what was copied is a secret, kept back"


class Hidden(NamedTuple):
    """``paths`` in the ``data`` of an event where something would stand; ``beginnings``: where only
    the beginning of something does; ``reason``: why that is not known."""

    data: Mapping[str, object]
    paths: tuple[Path, ...] = ()
    reason: str = CUT_OFF
    beginnings: tuple[Beginning, ...] = ()

    def judge(self, steps: Path, wanted: Wanted, value: object) -> bool | None:
        """Whether ``value``, which stands at a path of the data, is what is wanted there; None
        where nobody knows."""
        if is_one_of(steps, self.paths):
            return False if wanted is None or isinstance(wanted, bool) else None
        beginning = hangs_on(steps, self.data, self.beginnings)
        if beginning is None:
            return is_as_wanted(wanted, value)
        return judge_beginning(steps, wanted, value, beginning)

    def hides(self, steps: Path) -> bool:
        """Whether nobody knows all that stands at a path of the data."""
        is_cut = hangs_on(steps, self.data, self.beginnings) is not None
        return is_cut or is_one_of(steps, self.paths)


def find_hidden(event: Event, places: Collection[Read]) -> Hidden:
    """Return what is hidden in an event, of the sizes of uploads and of what goes on that which
    ``places`` lead to."""
    data = event.data
    hidden = Hidden(data, beginnings=find_beginnings(event, places))
    if event.kind == "field.filled" and data.get("value") is None and data.get("has_value") is True:
        return hidden._replace(paths=(("value",),), reason=SECRET_VALUE)
    if event.kind == "clipboard.changed" and data.get("unread_reason") == "secret":
        secret = (("text",), ("sha256",), ("length",))
        return hidden._replace(paths=secret, reason=SECRET_COPY)
    if event.kind in UPLOADS and (unsized := unsized_places(event, places)):
        return hidden._replace(paths=unsized, reason=NO_SIZE)
    return hidden
