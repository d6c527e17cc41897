"""What a form's field holds, for the rules that ask: reading a ``field.filled`` event's data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from detectors.matchers import TextMatch
from detectors.matchers.masked_text import judge_text
from detectors.sdk.kept_back import SECRET_VALUE


@dataclass(frozen=True, slots=True)
class CountedFields:
    """Which fields count. ``trusted``: a user filled them in; ``hidden``: also those that nobody
    could see."""

    trusted: bool
    hidden: bool

    def leaves_out(self, data: Mapping[str, object]) -> bool:
        """Whether the field does not count, whatever it holds. One of which nobody said that it is
        hidden is seen."""
        if self.trusted and data.get("trusted") is False:
            return True
        return not self.hidden and data.get("hidden") is True


def holds(data: Mapping[str, object], wanted: TextMatch | bool, counted: CountedFields) -> bool:
    """Whether the field holds what is wanted: a text, or checked or not for a box (bool).

    Null (a password) equals nothing; of one that is ``cut`` the beginning must be enough.
    """
    if counted.leaves_out(data):
        return False
    if isinstance(wanted, bool):
        return data.get("checked") is wanted
    value = data.get("value")
    is_so = _matches_beginning if data.get("cut") is True else _matches
    if isinstance(value, list):
        return any(isinstance(item, str) and is_so(wanted, item) for item in value)
    return isinstance(value, str) and data.get("checked") is not False and is_so(wanted, value)


def _matches(wanted: TextMatch, text: str) -> bool:
    return judge_text(wanted, text) is True


def _matches_beginning(wanted: TextMatch, text: str) -> bool:
    return wanted.matches_beginning(text) is True


def unseen_reason(
    data: Mapping[str, object], wanted: TextMatch | bool, counted: CountedFields
) -> str | None:
    """Of a field that does not hold what is wanted: why nobody can know that it does not, if so."""
    if isinstance(wanted, bool) or counted.leaves_out(data):
        return None
    if data.get("value") is None and data.get("has_value") is True:
        return SECRET_VALUE
    if _may_be_masked(data, wanted):
        return SECRET_VALUE
    if data.get("value") is None and data.get("long") is not None:
        return "the field's value is too long to be kept beside the others"
    if _may_be_cut(data, wanted):
        return "only the beginning of the field's value was reported"
    return None


def _may_be_cut(data: Mapping[str, object], wanted: TextMatch) -> bool:
    """Whether what is wanted may be in the rest of the field's value."""
    if data.get("cut") is not True or data.get("checked") is False:
        return False
    value = data.get("value")
    return isinstance(value, list) or wanted.matches_beginning(str(value)) is None


def _may_be_masked(data: Mapping[str, object], wanted: TextMatch) -> bool:
    """Whether what is wanted may be what the daemon masked in the field's value."""
    value = data.get("value")
    texts = value if isinstance(value, list) else [value]
    if data.get("checked") is False:
        return False
    return any(isinstance(text, str) and judge_text(wanted, text) is None for text in texts)
