"""Kinds of what a person does on a page and sees there."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from detectors.model.kinds.browser import InFrame
from detectors.model.kinds.kind import KindTable, Masked
from detectors.model.types import Json

PAGE = KindTable("cdp")

Coordinates = list[int]
"""[x, y] in CSS pixels."""


class Element(TypedDict):
    """ARIA role, accessible name, tag, id, HTML name, input type, own visible text (at most 200
    characters); ``path``, for one that has none of these names, and for a part of a drawing without
    an id: where it stands, as in ``#toolbar>div:2>svg:1``, the numbers counting siblings of the
    same tag."""

    role: str
    name: str
    tag: str
    id: NotRequired[str]
    attr_name: NotRequired[str]
    type: NotRequired[str]
    text: NotRequired[str]
    path: NotRequired[str]


class OfElement(InFrame, Masked):
    """What happened to one element."""

    element: Element


class OnElement(OfElement):
    """What was done to one element; `trusted` is false when page script made it."""

    trusted: bool


Looks = TypedDict(
    "Looks",
    {
        "around": NotRequired[str],
        "class": NotRequired[str],
        "color": NotRequired[str],
        "point": NotRequired[Coordinates],
        "box": NotRequired[list[int]],
        "selectors": NotRequired[list[str]],
        "unread": NotRequired[list[str]],
    },
)
"""What an element stands in, how it looks, where it was clicked, which selectors it meets, and what
of it can't be read."""


@PAGE.kind("element.clicked")
class ElementClicked(OnElement, Looks):
    """A click. `trusted` is false when page script made it. Where a rule asks for `around`, or page
    text is reported: `around`, the text of what the element stands in (a row, a card, a message; at
    most 200 characters, empty where nothing says more), and of a nameless one its `class` and its
    `color`, as in #ff0000. Where a rule asks for it: `point`, where in the window it was, and
    `box`, [x, y, width, height] of the element there, in CSS pixels. `selectors`, where rules name
    some: those that are met by what was hit, by what that stands in up to the element, or by a part
    of a control. `unread`: which of the element's `role` and `name` are not known, as a custom
    element may give them by ElementInternals, which nobody can read in that moment."""


@PAGE.kind("element.double_clicked")
class ElementDoubleClicked(OnElement, Looks):
    """A double click; its clicks are reported too."""


@PAGE.kind("element.right_clicked")
class ElementRightClicked(OnElement, Looks):
    """A context menu was asked for."""


@PAGE.kind("element.pressed")
class ElementPressed(OnElement, Looks):
    """The pointer was pressed on the element and let go, and no click followed: what was pressed
    was replaced meanwhile, is disabled, or was left. `at`: where in it, [x, y] in CSS pixels;
    `moved`: how far it was let go."""

    at: Coordinates
    moved: NotRequired[Coordinates]


@PAGE.kind("element.focused", asked=True)
class ElementFocused(OnElement):
    """The element has the focus now."""


@PAGE.kind("element.hovered", asked=True)
class ElementHovered(OnElement):
    """The pointer rests on the element for 100 ms."""


@PAGE.kind("element.toggled")
class ElementToggled(OnElement):
    """A details, dialog or popover opened (`open`) or closed."""

    open: bool


@PAGE.kind("element.dropped")
class ElementDropped(InFrame, Masked):
    """`element` was dragged and dropped onto `target`; `target_ancestors`: ids of what that stands
    in, nearest first; `files`: names that came from outside; `text`: what was carried; `index`: its
    new place among its siblings, from 0. `by` is pointer where the page makes drags itself: the
    element followed the pointer, `moved` [x, y] CSS pixels, or changed its place; whether the page
    took it is not known. What the page moved while the browser carried it needs no drop."""

    element: NotRequired[Element]
    target: NotRequired[Element]
    trusted: bool
    by: NotRequired[Literal["pointer"]]
    target_ancestors: NotRequired[list[str]]
    index: NotRequired[int]
    moved: NotRequired[Coordinates]
    files: NotRequired[list[str]]
    text: NotRequired[str]


@PAGE.kind("element.appeared", asked=True)
class ElementAppeared(OfElement):
    """An element with a role came to be visible."""

    baseline: NotRequired[bool]


@PAGE.kind("element.disappeared", asked=True)
class ElementDisappeared(OfElement):
    """It is visible no more."""


@PAGE.kind("element.unobservable")
class ElementUnobservable(OfElement):
    """What is in it can't be seen from outside: a canvas, a closed shadow root, a plug-in. Told
    once each."""

    reason: str


@PAGE.kind("element.state_changed", asked=True, since=2)
class ElementStateChanged(OfElement):
    """How an element stands now that a rule names; reported whenever it stands otherwise, and at
    the latest when a step ends. `visible`: a person could see it, were the page scrolled to it (a
    box or its label, an option's list); `in_view`: at least half of it shows without scrolling; the
    others are missing where it has no such state. `classes`: its CSS classes; `selectors`: those of
    the rules that it meets; `key`: stable in its document, and taken over by what is drawn in its
    place; `gone`: it is no longer in the document; `initial`: so it came."""

    key: str
    visible: bool
    in_view: bool
    checked: NotRequired[bool]
    expanded: NotRequired[bool]
    selected: NotRequired[bool]
    pressed: NotRequired[bool]
    disabled: NotRequired[bool]
    classes: NotRequired[list[str]]
    selectors: NotRequired[list[str]]
    gone: NotRequired[bool]
    initial: NotRequired[bool]
    baseline: NotRequired[bool]


@PAGE.kind("attribute.changed", asked=True)
class AttributeChanged(OfElement):
    """An attribute that a rule names changed; never one by which harnesses mark elements (`bid`,
    `browsergym_*`, `data-testid`, ...)."""

    attribute: str
    value: str | None
    before: str | None


@PAGE.kind("field.filled")
class FieldFilled(OfElement):
    """A field's value is now this: `value` text (null: a secret, kept back, then `has_value` says
    whether there is one, or a text that the page took or refused at once; list: a multiple select;
    `cut`: it goes on), `checked` for boxes and
    radios; `files`: the chosen files' [name, size]; `field`: a key stable within the frame;
    `commit`: on change. `trusted` is false where script set it. `hidden`: the user could not see
    this text field when it was filled: transparent, smaller than 2 pixels, clipped away, or where
    the page can't be scrolled to. `around`, where a rule asks for it of fields: as in
    element.clicked; `selectors`: those of the rules that the field meets, or a chosen option of
    it."""

    field: str
    value: str | list[str] | None
    around: NotRequired[str]
    selectors: NotRequired[list[str]]
    cut: NotRequired[bool]
    has_value: NotRequired[bool]
    checked: NotRequired[bool]
    files: NotRequired[list[list[str | int]]]
    form: NotRequired[str]
    commit: NotRequired[bool]
    trusted: NotRequired[bool]
    hidden: NotRequired[bool]
    baseline: NotRequired[bool]


@PAGE.kind("field.removed")
class FieldRemoved(OfElement):
    """A field that was reported is no longer in the page, and no other is in its place. One that is
    drawn anew is reported as field.filled, under the same `field`."""

    field: str


@PAGE.kind("field.typed", asked=True)
class FieldTyped(OnElement):
    """Keys put this text into the field (null: a secret); runs are folded."""

    field: str
    text: str | None


class FormTarget(TypedDict):
    """A form and where it goes."""

    id: NotRequired[str]
    attr_name: NotRequired[str]
    name: NotRequired[str]
    action: str
    method: str


@PAGE.kind("form.submitted")
class FormSubmitted(InFrame, Masked):
    """A form was submitted. `form`: {id?, attr_name?, name?, action, method}; `fields`: [[name,
    value], ...]. `trusted` is carried from the click or key that caused it."""

    form: FormTarget
    fields: list[list[Json]]
    trusted: bool


@PAGE.kind("page.scrolled", asked=True)
class PageScrolled(InFrame, Masked):
    """Scrolling came to rest here, in CSS pixels; without `element` the document."""

    element: NotRequired[Element]
    x: int
    y: int


@PAGE.kind("text.appeared", asked=True)
class TextAppeared(InFrame, Masked):
    """Visible text that was not there."""

    text: str
    baseline: NotRequired[bool]


@PAGE.kind("text.disappeared", asked=True)
class TextDisappeared(InFrame, Masked):
    """Text that was visible is not any more."""

    text: str


@PAGE.kind("text.shown", asked=True, since=2)
class TextShown(InFrame, Masked):
    """A block of the page (a paragraph, a heading, a row, a list's item) shows this text now; an
    empty one once it is gone or hidden. Reported whenever it shows another, and at the latest when
    a step ends. `key`: stable in its document; `cut`: the text goes on; `initial`: so it came."""

    key: str
    text: str
    cut: NotRequired[bool]
    initial: NotRequired[bool]
    baseline: NotRequired[bool]


@PAGE.kind("text.selected", asked=True)
class TextSelected(InFrame, Masked):
    """This text is selected now."""

    text: str
    element: NotRequired[Element]


class TextTaken(InFrame, Masked):
    """`text` is null where it is a secret."""

    text: str | None
    element: NotRequired[Element]
    trusted: bool


@PAGE.kind("text.copied")
class TextCopied(TextTaken):
    """Text was copied (null: a secret); `removed`: and taken away."""

    removed: NotRequired[bool]


@PAGE.kind("text.pasted")
class TextPasted(TextTaken):
    """Text was pasted (null: a secret)."""
