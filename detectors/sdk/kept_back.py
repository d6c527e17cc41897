"""What stands in an event, but was kept back, is not known or goes on: a condition that hangs on it
is neither true nor false."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from detectors.matchers import TextMatch, text_keys
from detectors.matchers.facts import NumberRange, Wanted, is_as_wanted, value_at
from detectors.matchers.masked import judge_json
from detectors.matchers.masked_text import HIDDEN_VALUE, MASK, judge_running_text, judge_text
from detectors.matchers.plain import ANY_KEY
from detectors.model.errors import UnseenError
from detectors.model.kinds.limits import MAX_ADDRESS
from detectors.model.kinds.shapes import Path
from detectors.model.safe_json import as_list, mapping
from detectors.model.three_valued import all_verdict, any_verdict
from detectors.model.types import Event, Reading
from detectors.sdk.condition_reads import Read
from detectors.sdk.cut_off import CUT_OFF, Beginning, find_beginnings, hangs_on, judge_beginning
from detectors.sdk.uploads import NO_SIZE, UPLOADS, is_one_of, unsized_places

SECRET_VALUE = (
    "the field's value is a secret, kept back, or a text that the page took or refused at once"
)
MASKED = "what is asked for is a secret, kept back"
"""Why nobody knows what a daemon masked."""
UNREAD_INTERNALS = "a custom element gives itself its role or its name, which can't be read"
SECRET_COPY = "what was copied is a secret, kept back"


def explain_unknown_address(address: str) -> str:
    """Return why nobody knows whether an address is the wanted one, for `UnseenError`."""
    return CUT_OFF if len(address) > MAX_ADDRESS else MASKED


def judge_fact(wanted: Wanted, value: object) -> bool | None:
    """Whether a value is what is wanted at its path; None where that hangs on what was masked."""
    if isinstance(wanted, TextMatch) and isinstance(value, str):
        return judge_text(wanted, value)
    if isinstance(wanted, TextMatch) and isinstance(value, dict | list):
        return judge_json(wanted, value)
    if isinstance(wanted, NumberRange) and value == MASK:
        return None  # a number that is masked becomes a text
    return is_as_wanted(wanted, value)


def judge_told(wanted: TextMatch, data: Mapping[str, object], field: str) -> bool | None:
    """Whether the text in ``field`` of an event's data is as wanted; None where that hangs on the
    rest of one that is cut, or on what the daemon masked in it."""
    text = str(data.get(field) or "")
    return judge_part_told(wanted, data, field, text, is_cut=data.get("cut") is True)


def judge_part_told(
    wanted: TextMatch, data: Mapping[str, object], field: str, text: str, *, is_cut: bool = False
) -> bool | None:
    """`judge_told` of a ``text`` within the field, such as an element's name."""
    is_so = wanted.matches_beginning(text) if is_cut else wanted.matches(text)
    if not is_masked_in(data, field):
        return is_so
    is_known = judge_running_text(wanted, text.replace(HIDDEN_VALUE, MASK))
    return None if is_cut and not (is_so and is_known) else is_known


def judge_element(data: Mapping[str, object], args: Any, parts: Sequence[str]) -> bool | None:
    """Whether the element that an event is about is as ``args`` want it in each of the ``parts``
    that they name; None where that hangs on what the daemon masked in it, or could not read."""
    element = mapping(data.get("element"))
    unread = as_list(data.get("unread"))
    verdicts = (
        None
        if part in unread
        else judge_part_told(wanted, data, "element", str(element.get(part) or ""))
        for part in parts
        if (wanted := getattr(args, part)) is not None
    )
    return all_verdict(verdicts)


def is_uncertain(data: Mapping[str, object]) -> bool:
    """Whether something of an event's element is not known: masked, or of an element's own."""
    return is_masked_in(data, "element") or ("unread" in data and bool(data["unread"]))


def judge_named(
    wanted: TextMatch, data: Mapping[str, object], field: str, names: Iterable[str]
) -> bool | None:
    """Whether one of the names in the part ``field`` of an event's data is as wanted; None where
    that hangs on what the daemon masked in it."""
    return any_verdict(judge_part_told(wanted, data, field, name) for name in names)


def reading_if_told(
    is_so: bool | None, reading: Reading, data: Mapping[str, object], field: str
) -> Iterator[Reading]:
    """Yield ``reading`` where a field has the wanted text, as `judge_told` has it. Raises
    `UnseenError` for None."""
    if is_so is None:
        raise UnseenError(explain_untold(data, field), reading)
    if is_so:
        yield reading


def is_masked_in(data: Mapping[str, object], field: str) -> bool:
    """Whether the daemon masked something in a field of an event's data."""
    return "masked" in data and field in as_list(data["masked"])


def keys_of_text(data: Mapping[str, object], field: str) -> tuple[str, ...]:
    """Return the index keys of the text in a field; where something was masked in it, those of a
    text that may be any."""
    return (ANY_KEY,) if is_masked_in(data, field) else text_keys(str(data.get(field)))


def explain_untold(data: Mapping[str, object], field: str) -> str:
    """Return why nobody knows whether a field has the text, where `judge_told` is None."""
    if field == "element" and data.get("unread"):
        return UNREAD_INTERNALS
    return f"{field} has a secret, kept back" if is_masked_in(data, field) else CUT_OFF


class Hidden(NamedTuple):
    """``paths`` in the ``data`` of an event where something would stand; ``beginnings``: where only
    the beginning of something does; ``masked``: where a daemon masked a text or a part of it;
    ``reason``: why that is not known."""

    data: Mapping[str, object]
    paths: tuple[Path, ...] = ()
    reason: str = CUT_OFF
    beginnings: tuple[Beginning, ...] = ()
    masked: tuple[Path, ...] = ()

    def judge(self, steps: Path, wanted: Wanted, value: object) -> bool | None:
        """Whether ``value``, which stands at a path of the data, is what is wanted there; None
        where nobody knows."""
        if isinstance(value, str) and is_masked_in(self.data, steps[0]):
            value = value.replace(HIDDEN_VALUE, MASK)
        if is_one_of(steps, self.paths):
            return False if wanted is None or isinstance(wanted, bool) else None
        beginning = hangs_on(steps, self.data, self.beginnings)
        if beginning is None:
            return judge_fact(wanted, value)
        is_so = judge_beginning(steps, wanted, value, beginning)
        return None if is_so is False and steps in self.masked else is_so

    def hides(self, steps: Path) -> bool:
        """Whether nobody knows all that stands at a path of the data."""
        is_cut = hangs_on(steps, self.data, self.beginnings) is not None
        return is_cut or steps in self.masked or is_one_of(steps, self.paths)

    @property
    def open_ends(self) -> tuple[Beginning, ...]:
        """The beginnings, and the texts that are masked: of both only a part is known."""
        return (*self.beginnings, *map(Beginning, self.masked))


def find_hidden(event: Event, places: Collection[Read]) -> Hidden:
    """Return what is hidden in an event, of the sizes of uploads and of what goes on that which
    ``places`` lead to."""
    data = event.data
    hidden = Hidden(data, beginnings=find_beginnings(event, places))
    if masked := _masked_places(data, places):
        why = f"{'.'.join(masked[0])} is a secret, kept back"
        hidden = hidden._replace(masked=masked, reason=why)
    if event.kind == "field.filled" and data.get("value") is None and data.get("has_value") is True:
        return hidden._replace(paths=(("value",),), reason=SECRET_VALUE)
    if event.kind == "clipboard.changed" and data.get("unread_reason") == "secret":
        secret = (("text",), ("sha256",), ("length",))
        return hidden._replace(paths=secret, reason=SECRET_COPY)
    if unread := as_list(data.get("unread")):
        parts = tuple(("element", str(part)) for part in unread)
        return hidden._replace(paths=parts, reason=UNREAD_INTERNALS)
    if event.kind in UPLOADS and (unsized := unsized_places(event, places)):
        return hidden._replace(paths=unsized, reason=NO_SIZE)
    return hidden


def _masked_places(data: Mapping[str, object], places: Collection[Read]) -> tuple[Path, ...]:
    """Which of the places lead to a text that a daemon masked, or a part of it."""
    texts = {place.path: value_at(data, place.path) for place in places}
    return tuple(
        path
        for path, text in texts.items()
        if isinstance(text, str) and (MASK in text or _is_hidden(data, path, text))
    )


def _is_hidden(data: Mapping[str, object], path: Path, text: str) -> bool:
    """Whether a secret field's value was hidden in a text of a page."""
    return HIDDEN_VALUE in text and is_masked_in(data, path[0])
