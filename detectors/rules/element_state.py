"""An element of a page stands so now: visible, checked, expanded, selected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from detectors.matchers import TextMatch, UrlMatch
from detectors.model.kinds.limits import MAX_CLASSES
from detectors.model.safe_json import as_list
from detectors.model.three_valued import any_verdict
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.documents import judge_page, loaded_arg, reading_on_page
from detectors.sdk.kept_back import judge_element, judge_part_told, reading_if_told
from detectors.sdk.registry import rule
from detectors.sdk.selectors import check_selector
from detectors.sdk.world import World, shown_key

_NAMING = ("name", "role", "text", "id", "tag", "path")
_SET = ("checked", "expanded", "selected", "pressed", "disabled")
"""States that somebody sets; how an element comes is nobody's deed there."""


@dataclass(frozen=True, slots=True)
class ElementStateArgs:
    name: TextMatch | None = arg("The accessible name.", None)
    role: TextMatch | None = arg("The ARIA role, such as checkbox, tab or dialog.", None)
    text: TextMatch | None = arg("The element's own visible text.", None)
    id: TextMatch | None = arg("The HTML id.", None)
    tag: TextMatch | None = arg("The tag, lower case.", None)
    path: TextMatch | None = arg(
        "Where an element stands that has no name and no id: `element.path` of its event.", None
    )
    selector: str | None = arg(
        "A CSS selector, such as '#panel .row:nth-child(2)'; within an open shadow root it counts"
        " from there.",
        None,
    )
    visible: bool | None = arg(
        "Whether a person can see it, were the page scrolled to it; by default it must be so, but"
        " with `hidden`.",
        None,
    )
    in_view: bool | None = arg("Whether at least half of it shows without scrolling.", None)
    checked: bool | None = arg("Whether a box, radio or switch is on.", None)
    expanded: bool | None = arg("Whether what it opens is open: details, a menu, a dialog.", None)
    selected: bool | None = arg("Whether an option, a tab or a row is chosen.", None)
    pressed: bool | None = arg("Whether a toggle button is pressed.", None)
    disabled: bool | None = arg("Whether it can't be used.", None)
    css_class: TextMatch | None = arg("One of its CSS classes.", None)
    initial: bool | None = arg(
        "Whether the state in which it came into the page counts; by default only of `visible` and"
        " `in_view`, since a page may come with the others.",
        None,
    )
    hidden: bool = arg("Also an element that nobody can see.", False)
    url: UrlMatch | None = arg("Only in a frame at this address.", None)
    loaded: bool | None = loaded_arg()
    anywhere: bool = arg(
        "Also on pages of other sites than the task's `origin` and `hosts`, or of no site.",
        False,
    )

    def __post_init__(self) -> None:
        named = [getattr(self, part) for part in _NAMING]
        if self.selector is None and all(part is None for part in named):
            raise ValueError(
                "at least one of name, role, text, id, tag, path, selector: without one, any"
                " element would count"
            )
        if self.selector is not None:
            check_selector(self.selector)

    def asks(self) -> dict[str, list[Any]]:
        """Name the elements whose state is to be reported, nothing of how they are to stand."""
        if self.selector is not None:
            return {"elements": [{"selector": self.selector}]}
        if (ids := _literal(self.id)) is not None:
            return {"elements": [{"id": id} for id in ids]}
        roles = _literal(self.role)
        return {"elements": [{} if roles is None else {"roles": roles}]}

    def counts_initial(self) -> bool:
        """Return whether the state in which an element came counts."""
        if self.initial is not None:
            return self.initial
        return self.css_class is None and all(getattr(self, name) is None for name in _SET)


@rule(version=4, component="ui", hears=("element.state_changed",), args=ElementStateArgs)
def element_state(event: Event, world: World, args: ElementStateArgs) -> Iterator[Reading]:
    """An element is in a state now: visible, in view, checked, expanded, selected, pressed,
    disabled, of a class. True until it is otherwise, is gone, or its page is left.

    Whoever made it so: a page can show and check anything, so it is weak evidence, beside a click
    or an accepted request. What an element was when it came into the page is its author's doing,
    and earns nothing but where only `visible` and `in_view` are asked for, or with `initial`. An
    element that nobody can see (transparent, smaller than 2 pixels, clipped away) does not count,
    unless that is asked for.
    """
    data = event.data
    if data.get("initial") is True and not args.counts_initial():
        return
    is_element = _judge_element(data, args)
    is_there = judge_page(args.url, event, world)
    if is_element is False or is_there is False or not _stands_so(data, args):
        return
    is_of_class = _judge_class(data, args)
    if is_of_class is False:
        return
    reading = Reading(1.0, shown_key("element", data))
    for there in reading_on_page(is_there, reading, event, world):
        for of_class in reading_if_told(is_of_class, there, data, "classes"):
            yield from reading_if_told(is_element, of_class, data, "element")


def _judge_element(data: Mapping[str, object], args: ElementStateArgs) -> bool | None:
    """Return whether the event is about an element that the rule names; None where that hangs on
    what was masked."""
    if args.selector is not None and args.selector not in as_list(data.get("selectors")):
        return False
    return judge_element(data, args, _NAMING)


def _stands_so(data: Mapping[str, object], args: ElementStateArgs) -> bool:
    """Return whether the element stands as the rule asks."""
    visible = True if args.visible is None and not args.hidden else args.visible
    asked = {
        "visible": visible,
        "in_view": args.in_view,
        **{name: getattr(args, name) for name in _SET},
    }
    return all(state is None or data.get(name) is state for name, state in asked.items())


def _judge_class(data: Mapping[str, object], args: ElementStateArgs) -> bool | None:
    """Return whether the element has the CSS class; None where that hangs on what was masked, or on
    a class beyond those that are told."""
    if args.css_class is None:
        return True
    classes = as_list(data.get("classes"))
    verdicts = (judge_part_told(args.css_class, data, "classes", str(one)) for one in classes)
    return any_verdict(verdicts, more=len(classes) >= MAX_CLASSES)


def _literal(matcher: TextMatch | None) -> list[str] | None:
    """Return the only texts that a matcher can mean; None where those can't be listed."""
    if matcher is None or matcher.mode not in ("equals", "one_of") or matcher.ignore_case:
        return None
    return list(matcher.texts)
