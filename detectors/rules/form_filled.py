"""A form is filled, by fractions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from detectors.matchers import UrlMatch
from detectors.matchers.masked_text import HIDDEN_VALUE, MASK, is_made_of, split_at_masks
from detectors.model.errors import UnseenError
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import FieldsMatch, arg
from detectors.sdk.documents import judge_page, loaded_arg, reading_on_page
from detectors.sdk.form_values import CountedFields, holds, unseen_reason
from detectors.sdk.kept_back import MASKED
from detectors.sdk.registry import rule
from detectors.sdk.world import World, field_keys


@dataclass(frozen=True, slots=True)
class FormFilledArgs:
    fields: FieldsMatch = arg(
        "Each expected field, by accessible name, HTML name or id, and what it is to hold."
    )
    trusted: bool = arg(
        "Only input by a user counts; false: a value that a script fills in counts too.", True
    )
    url: UrlMatch | None = arg("Only in a frame at this address.", None)
    loaded: bool | None = loaded_arg()
    hidden: bool = arg(
        "Also a text field that is not visible: transparent, smaller than 2 pixels, clipped away,"
        " off the page.",
        False,
    )
    anywhere: bool = arg(
        "Also on pages of other sites than the task's `origin` and `hosts`, or of no site.",
        False,
    )


@rule(
    version=8,
    component="form",
    hears=("field.filled", "field.removed"),
    args=FormFilledArgs,
    index_args=lambda args: args.fields.keys,
    index_event=field_keys,
)
def form_filled(event: Event, world: World, args: FormFilledArgs) -> Iterator[Reading]:
    """The fields of a form have the expected values. The level is filled / expected: with half of
    the fields right it is one half. All fields are in one frame.

    A field that is emptied again, or is no longer in the page, reduces the level, but progress
    once credited is not paid twice. While a form is filled in parts, a field that a later part
    replaced counts as it was left, unless another field of its name is there. A text field that is
    not visible does not count, as for field_filled. The value of a password field is not known: a
    step that fills one whose value the rule expects is null. So is one that fills a field with a
    value longer than is reported, where the rule hangs on the rest, and one that fills a field of
    whose label the daemon masked a part that decides whether it is an expected one.
    """
    frame = str(event.data.get("frame"))
    is_there = judge_page(args.url, event, world)
    if is_there is False:
        return
    fields, keys = args.fields.fields, args.fields.keys
    named = _named(world.fields(frame), set(keys), gone_too=event.kind == "field.filled")
    counted = CountedFields(args.trusted, args.hidden)
    masked = [data for data in world.fields(frame).values() if data.get("masked")]
    found = [
        _filled(named.get(key, ()), value, counted) or _may_be_filled(masked, key, value, counted)
        for key, (_, value) in zip(keys, fields, strict=True)
    ]
    right = [one for one in found if isinstance(one, int)]
    hidden = [one for one in found if isinstance(one, tuple)]
    reading = Reading(len(right) / len(found), f"doc:{frame}", tuple(sorted(set(right))))
    if hidden:
        could = reading._replace(level=(len(right) + len(hidden)) / len(found))
        raise UnseenError(hidden[0][1], could, reading, max(seq for seq, _ in hidden))
    yield from reading_on_page(is_there, reading, event, world)


def _named(known: Mapping[str, Any], keys: set[str], *, gone_too: bool) -> dict[str, list[object]]:
    """The fields of each of these names, in one walk: pages may have many. With ``gone_too`` those
    that stand in the page no more, where none of their name does."""
    found: dict[str, list[Any]] = {}
    gone: dict[str, list[object]] = {}
    for data in known.values():
        for name in data["names"]:
            if name in keys:
                (gone if data.get("gone") else found).setdefault(name, []).append(data)
    return gone | found if gone_too else found


def _may_be_filled(
    masked: Sequence[Any], key: str, wanted: Any, counted: CountedFields
) -> tuple[int, str] | None:
    """The seq of a field that may be the one of that name, but for what was masked in its own, and
    may hold what is wanted, with the reason why nobody knows."""
    for data in masked:
        if not data.get("gone") and any(_can_be_named(key, name) for name in data["names"]):
            if holds(data, wanted, counted):
                return int(data["seq"]), MASKED
            if (why := unseen_reason(data, wanted, counted)) is not None:
                return int(data["seq"]), why
    return None


def _can_be_named(key: str, name: str) -> bool:
    text = name.replace(HIDDEN_VALUE, MASK)
    return MASK in text and is_made_of(key, split_at_masks(text))


def _filled(
    named: Sequence[Any], wanted: Any, counted: CountedFields
) -> int | tuple[int, str] | None:
    """The seq of the field of that name if it holds what is wanted, of several (radios) any of
    them; with the reason where nobody knows."""
    for data in named:
        if holds(data, wanted, counted):
            return int(data["seq"])
    hidden = (
        (int(data["seq"]), why)
        for data in named
        if (why := unseen_reason(data, wanted, counted)) is not None
    )
    return next(hidden, None)
