"""A field holds a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from detectors.matchers import TextMatch, UrlMatch
from detectors.model.errors import UnseenError
from detectors.model.safe_json import mapping
from detectors.model.three_valued import all_verdict
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.documents import judge_page, loaded_arg, reading_on_page
from detectors.sdk.form_values import CountedFields, holds, unseen_reason
from detectors.sdk.kept_back import explain_untold, judge_named, judge_part_told
from detectors.sdk.registry import rule
from detectors.sdk.selectors import check_selector, meets_selector
from detectors.sdk.surroundings import stands_in
from detectors.sdk.world import World, field_keys


@dataclass(frozen=True, slots=True)
class FieldFilledArgs:
    field: TextMatch | None = arg("The field: its accessible name (label), HTML name or id.", None)
    path: TextMatch | None = arg(
        "Where a field stands that has no name and no id: `element.path` of its event, such as"
        " '#list>li:2>input:1'.",
        None,
    )
    selector: str | None = arg(
        "A CSS selector of the field, or of an option that is chosen in it; within an open shadow"
        " root it counts from there.",
        None,
    )
    around: TextMatch | None = arg(
        "The text of what contains it, where that has more than its own: of a row, a card, a list's"
        " item.",
        None,
    )
    value: TextMatch | None = arg(
        "The text that it holds; for a multiple select, one of the chosen.", None
    )
    checked: bool | None = arg("For a box or radio: whether it is checked.", None)
    trusted: bool = arg(
        "Only input by a user counts; false: a value that a script fills in counts too, as by"
        " `select_option` of Playwright and other automation libraries.",
        True,
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

    def __post_init__(self) -> None:
        if (self.value is None) == (self.checked is None):
            raise ValueError("either value or checked")
        named = (self.field, self.path, self.around, self.selector)
        if all(part is None for part in named):
            raise ValueError("field, or path, around or selector for one without a name and an id")
        if self.selector is not None:
            check_selector(self.selector)

    @property
    def wanted_content(self) -> TextMatch | bool | None:
        """What the field is to hold: a text, or checked or not for a box."""
        return self.value if self.checked is None else self.checked

    def asks(self) -> dict[str, list[Any]]:
        """What a field stands in is page text, and a selector is the page's to find: told where a
        rule needs it."""
        around = {} if self.around is None else {"around": ["fields"]}
        return around if self.selector is None else {**around, "selectors": [self.selector]}


@rule(
    version=8,
    component="form",
    hears=("field.filled",),
    args=FieldFilledArgs,
    index_args=lambda args: None if args.field is None else args.field.keys(),
    index_parts=lambda args: None if args.field is None else args.field.parts(),
    index_event=field_keys,
)
def field_filled(event: Event, world: World, args: FieldFilledArgs) -> Iterator[Reading]:
    """A text field, select, box or radio gets the value. True until it has another.

    A password or a card number never reaches the log: whether it is the `value` is not known, and
    the step is null. `field` and `value` define whether case and white space count; the field is
    found by any of its names. A text field that is not visible while it is filled does not count:
    a second one of the same label pays nothing. Boxes, selects, dates and files always count,
    since pages lay a transparent one over what they draw. Of a value that is longer than is
    reported, what hangs on the rest is not known. Of a text that the page takes out of the field at
    once and shows nowhere else, nobody knows whether it refused it: the step is null. So is one in
    which the daemon masked a secret in the label, where the rest of that can be the field's.

    A field without a name and an id, such as a box in a list's row, is found by what stands around
    it, or by its path.
    """
    wanted = args.wanted_content
    is_there = judge_page(args.url, event, world)
    is_field = _judge_field(event, args)
    if wanted is None or is_there is False or is_field is False:
        return
    held = _as_held(event, world)
    counted = CountedFields(args.trusted, args.hidden)
    reading = Reading(1.0, f"field:{event.data.get('frame')}:{event.data.get('field')}")
    is_so, why = holds(held, wanted, counted), unseen_reason(held, wanted, counted)
    if not is_so and why is None:
        return
    if not _is_placed(event.data, args, reading):
        return
    if is_field is None:
        raise UnseenError(explain_untold(event.data, "element"), reading)
    if is_so:
        yield from reading_on_page(is_there, reading, event, world)
    elif why is not None:
        raise UnseenError(why, reading)


def _is_placed(data: Mapping[str, Any], args: FieldFilledArgs, reading: Reading) -> bool:
    """Whether the field stands where the rule names it: by what is around it and by its selector.
    Raises `UnseenError` with the ``reading`` where nobody knows."""
    if args.around is not None and not stands_in(data.get("around"), args.around, reading):
        return False
    return args.selector is None or meets_selector(data, args.selector, reading)


def _as_held(event: Event, world: World) -> dict[str, Any]:
    """The event's data with who filled the field and whether it is visible as the world holds it: a
    script's echo of what the user typed leaves it the user's."""
    fields = world.fields(str(event.data.get("frame")))
    known = fields.get(str(event.data.get("field")), {"trusted": False})
    return {**event.data, "trusted": known["trusted"], "hidden": known.get("hidden", False)}


def _judge_field(event: Event, args: FieldFilledArgs) -> bool | None:
    """Whether the event is about the field that the rule names; None where that hangs on what the
    daemon masked in its names."""
    path = str(mapping(event.data.get("element")).get("path") or "")
    is_at = args.path is None or judge_part_told(args.path, event.data, "element", path)
    if is_at is False or args.field is None:
        return is_at
    is_named = judge_named(args.field, event.data, "element", _plain_names(event))
    return all_verdict((is_at, is_named))


def _plain_names(event: Event) -> Iterator[str]:
    element = mapping(event.data.get("element"))
    for part in ("name", "attr_name", "id"):
        if isinstance(element.get(part), str) and element[part]:
            yield element[part]
