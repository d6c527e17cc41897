"""Somebody with a hand clicked an element."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from detectors.matchers import TextMatch, UrlMatch, text_key
from detectors.matchers.plain import ANY_KEY
from detectors.model.safe_json import mapping
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.documents import judge_page, loaded_arg, reading_on_page
from detectors.sdk.kept_back import is_uncertain, judge_element, reading_if_told
from detectors.sdk.registry import Keys, rule
from detectors.sdk.selectors import check_selector, meets_selector
from detectors.sdk.surroundings import stands_in
from detectors.sdk.world import World

_NAMING = ("name", "role", "text", "id", "tag", "path")


@dataclass(frozen=True, slots=True)
class ElementClickedArgs:
    name: TextMatch | None = arg("The accessible name.", None)
    role: TextMatch | None = arg("The ARIA role, such as button or link.", None)
    text: TextMatch | None = arg("The element's own visible text.", None)
    id: TextMatch | None = arg("The HTML id.", None)
    tag: TextMatch | None = arg("The tag, lower case.", None)
    path: TextMatch | None = arg(
        "Where an element stands that has no name and no id: `element.path` of its event, such as"
        " '#toolbar>div:2>svg:1'.",
        None,
    )
    selector: str | None = arg(
        "A CSS selector, such as '.cart > button:nth-child(2)', of the element, of what was hit in"
        " it, or of a part of a control; within an open shadow root it counts from there.",
        None,
    )
    around: TextMatch | None = arg(
        "The text of what contains it, where that has more than its own: of a row, a card, a"
        " message.",
        None,
    )
    url: UrlMatch | None = arg("Only in a frame at this address.", None)
    loaded: bool | None = loaded_arg()
    presses: bool = arg(
        "A press that no click followed, as on what the page replaces meanwhile, counts too.", False
    )
    anywhere: bool = arg(
        "Also on pages of other sites than the task's `origin` and `hosts`, or of no site.",
        False,
    )

    def __post_init__(self) -> None:
        named = (self.name, self.role, self.text, self.id, self.tag, self.path, self.selector)
        if all(part is None for part in named):
            raise ValueError(
                "at least one of name, role, text, id, tag, path, selector: without one, every"
                " click would count"
            )
        if self.selector is not None:
            check_selector(self.selector)

    def asks(self) -> dict[str, list[Any]]:
        """What an element stands in is page text, and a selector is the page's to find: told where
        a rule needs it."""
        around = {} if self.around is None else {"around": [True]}
        return around if self.selector is None else {**around, "selectors": [self.selector]}


def _index_keys(args: ElementClickedArgs) -> Keys | None:
    for part, matcher in (("name", args.name), ("text", args.text), ("id", args.id)):
        keys = matcher.keys() if matcher else None
        if keys is not None:
            return tuple(f"{part}:{key}" for key in keys)
    return None


def _index_parts(args: ElementClickedArgs) -> Keys | None:
    for matcher in (args.name, args.text, args.id):
        parts = matcher.parts() if matcher else None
        if parts is not None:
            return parts
    return None


def _event_keys(event: Event) -> Keys:
    if is_uncertain(event.data):
        return (ANY_KEY,)
    element = mapping(event.data.get("element"))
    return tuple(
        [f"{part}:{text_key(str(element.get(part) or ''))}" for part in ("name", "text", "id")]
    )


def _hears(args: ElementClickedArgs) -> tuple[str, ...]:
    return ("element.clicked", "element.pressed") if args.presses else ("element.clicked",)


@rule(
    version=6,
    component="ui",
    hears=("element.clicked", "element.pressed"),
    hears_of=_hears,
    args=ElementClickedArgs,
    index_args=_index_keys,
    index_parts=_index_parts,
    index_event=_event_keys,
    occurrence=True,
)
def element_clicked(event: Event, world: World, args: ElementClickedArgs) -> Iterator[Reading]:
    """A trusted click on the element. A click that a page's script makes (`isTrusted: false`)
    never counts. Of a custom element that gives itself a role or a name by ElementInternals these
    are not known: the step is null where they decide, and `text`, `id` and `selector` count as
    ever."""
    if event.data.get("trusted") is not True:
        return
    if event.kind == "element.pressed" and not args.presses:
        return
    element = mapping(event.data.get("element"))
    is_element = judge_element(event.data, args, _NAMING)
    is_there = judge_page(args.url, event, world)
    if is_element is False or is_there is False:
        return
    name = element.get("name") or element.get("id")
    reading = Reading(1.0, f"click:{element.get('role')}:{name}")
    if args.around is not None and not stands_in(event.data.get("around"), args.around, reading):
        return
    if args.selector is None or meets_selector(event.data, args.selector, reading):
        for there in reading_on_page(is_there, reading, event, world):
            yield from reading_if_told(is_element, there, event.data, "element")
