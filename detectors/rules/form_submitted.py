"""A form was submitted by hand."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from detectors.matchers import TextMatch, UrlMatch
from detectors.matchers.masked_text import MASK, judge_text
from detectors.model.errors import UnseenError
from detectors.model.kinds.limits import MAX_SHORT, MAX_TEXT, utf16_units
from detectors.model.safe_json import as_list, mapping
from detectors.model.three_valued import all_verdict, any_verdict
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import FieldsMatch, arg
from detectors.sdk.documents import reading_if
from detectors.sdk.kept_back import explain_untold, judge_named
from detectors.sdk.registry import rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class FormSubmittedArgs:
    form: TextMatch | None = arg("The form: its accessible name, HTML name or id.", None)
    action: UrlMatch | None = arg("The address that it goes to.", None)
    fields: FieldsMatch | None = arg(
        "HTML names of fields and what they hold as it is submitted.", None
    )
    anywhere: bool = arg(
        "Also on pages of other sites than the task's `origin` and `hosts`, or of no site.",
        False,
    )

    def __post_init__(self) -> None:
        if self.form is None and self.action is None and self.fields is None:
            raise ValueError(
                "at least one of form, action, fields: without one, every form would count"
            )


@rule(
    version=5,
    component="form",
    hears=("form.submitted",),
    args=FormSubmittedArgs,
    occurrence=True,
    alone=True,
)
def form_submitted(event: Event, world: World, args: FormSubmittedArgs) -> Iterator[Reading]:
    """A form is submitted by a click or key of the user. Use request_accepted for the server's
    answer.

    A submit that a page's script causes never counts, even if Chrome marks it as trusted. Whether
    a password, or a field that the daemon masks, has the expected value is not known: the step is
    null, if everything else matches. So it is where the daemon masked a part of the form's name.
    """
    form = mapping(event.data.get("form"))
    if event.data.get("trusted") is not True:
        return
    names = [str(form[part]) for part in ("name", "attr_name", "id") if form.get(part)]
    is_form = args.form is None or judge_named(args.form, event.data, "form", names)
    if is_form is False:
        return
    action = str(form.get("action"))
    is_there = True if args.action is None else args.action.judge(action)
    if is_there is False:
        return
    reading = Reading(1.0, f"form:{names[0] if names else form.get('action')}")
    carries = args.fields is None or _carries(event, args.fields)
    if carries is None:
        raise UnseenError("a field's value is a secret, kept back, or longer than is told", reading)
    if not carries:
        return
    if is_form is None:
        raise UnseenError(explain_untold(event.data, "form"), reading)
    yield from reading_if(is_there, reading, action)


def _carries(event: Event, wanted: FieldsMatch) -> bool | None:
    """Whether each field holds what is wanted; None if that is so but for values that nobody
    knows."""
    by_name: dict[object, list[object]] = {}
    for pair in as_list(event.data.get("fields")):
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str):
            by_name.setdefault(pair[0], []).append(pair[1])
    is_cut = len(as_list(event.data.get("fields"))) >= MAX_SHORT
    return all_verdict(
        _holds(matcher, by_name.get(name, ()), is_cut) for name, matcher in wanted.fields
    )


def _holds(wanted: TextMatch | bool, values: Collection[object], is_cut: bool) -> bool | None:
    """Whether one of a field's values is what is wanted; None if one of them is a secret, or goes
    on. ``is_cut``: there may be more of them."""
    if isinstance(wanted, bool):
        return None if is_cut and not values else bool(values) is wanted
    return any_verdict((_judge(wanted, value) for value in values), more=is_cut)


def _judge(wanted: TextMatch, value: object) -> bool | None:
    """Whether a value, null a secret, is what is wanted."""
    if not isinstance(value, str):
        return None if value is None else False
    if utf16_units(value) + 1 < MAX_TEXT:
        return judge_text(wanted, value)
    is_so = wanted.matches_beginning(value)
    return None if is_so is False and MASK in value else is_so
