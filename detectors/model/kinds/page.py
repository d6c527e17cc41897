"""Kinds of what a person does on a page and sees there.

An *element* is ``{role, name, tag, id?, attr_name?, type?, text?, path?}``: ARIA role, accessible
name, tag, id, HTML name, input type, own visible text (at most 200 characters); ``path``, for one
that has none of these names, and for a part of a drawing without an id: where it stands, as in
``#toolbar>div:2>svg:1``, the numbers counting siblings of the same tag.
"""

from __future__ import annotations

from detectors.model.kinds.kind import EventKind, kind

PAGE: dict[str, EventKind] = {
    "element.clicked": kind(
        "cdp",
        "tab frame element trusted around? class? color?",
        "A click. `trusted` is false when page script made it. Where a rule asks for `around`, or"
        " page text is reported: `around`, the text of what the element stands in (a row, a card, a"
        " message; at most 200 characters, empty where nothing says more), and of a nameless one"
        " its `class` and its `color`, as in #ff0000.",
    ),
    "element.double_clicked": kind(
        "cdp",
        "tab frame element trusted around? class? color?",
        "A double click; its clicks are reported too.",
    ),
    "element.right_clicked": kind(
        "cdp", "tab frame element trusted around? class? color?", "A context menu was asked for."
    ),
    "element.pressed": kind(
        "cdp",
        "tab frame element at moved? trusted around? class? color?",
        "The pointer was pressed on the element and let go, and no click followed: what was pressed"
        " was replaced meanwhile, is disabled, or was left. `at`: where in it, [x, y] in CSS"
        " pixels; `moved`: how far it was let go.",
    ),
    "element.focused": kind(
        "cdp", "tab frame element trusted", "The element has the focus now.", asked=True
    ),
    "element.hovered": kind(
        "cdp",
        "tab frame element trusted",
        "The pointer rests on the element for 100 ms.",
        asked=True,
    ),
    "element.toggled": kind(
        "cdp",
        "tab frame element open trusted",
        "A details, dialog or popover opened (`open`) or closed.",
    ),
    "element.dropped": kind(
        "cdp",
        "tab frame element? target? trusted by? target_ancestors? index? moved? files? text?",
        "`element` was dragged and dropped onto `target`; `target_ancestors`: ids of what that"
        " stands in, nearest first; `files`: names that came from outside; `text`: what was"
        " carried; `index`: its new place among its siblings, from 0. `by` is pointer where the"
        " page makes drags itself: the element followed the pointer, `moved` [x, y] CSS pixels, or"
        " changed its place; whether the page took it is not known.",
    ),
    "element.appeared": kind(
        "cdp",
        "tab frame element baseline?",
        "An element with a role came to be visible.",
        asked=True,
    ),
    "element.disappeared": kind("cdp", "tab frame element", "It is visible no more.", asked=True),
    "element.unobservable": kind(
        "cdp",
        "tab frame element reason",
        "What is in it can't be seen from outside: a canvas, a closed shadow root, a plug-in. Told"
        " once each.",
    ),
    "attribute.changed": kind(
        "cdp",
        "tab frame element attribute value before",
        "An attribute that a rule names changed; never one by which "
        "harnesses mark elements (`bid`, `browsergym_*`, `data-testid`, ...).",
        asked=True,
    ),
    "field.filled": kind(
        "cdp",
        "tab frame element field value cut? has_value? checked? files? form? commit? trusted?"
        " hidden? baseline?",
        "A field's value is now this: `value` text (null: a secret, kept back, then `has_value`"
        " says whether there is one; list: a multiple select; `cut`: it goes on), `checked` for"
        " boxes and radios; `files`: the chosen files' [name, size]; `field`: a key stable within"
        " the frame; `commit`: on change. `trusted` is false where script set it. `hidden`: nobody"
        " could see this text field when it was filled: transparent, smaller than 2 pixels,"
        " clipped away, or where the page can't be scrolled to.",
    ),
    "field.removed": kind(
        "cdp",
        "tab frame element field",
        "A field that was reported stands in the page no more, and no other in its place. One that"
        " is drawn anew is told as field.filled, under the same `field`.",
    ),
    "field.typed": kind(
        "cdp",
        "tab frame element field text trusted",
        "Keys put this text into the field (null: a secret); runs are folded.",
        asked=True,
    ),
    "form.submitted": kind(
        "cdp",
        "tab frame form fields trusted",
        "A form was submitted. `form`: {id?, attr_name?, name?, action, method}; `fields`: [[name,"
        " value], ...]. `trusted` is carried from the click or key that caused it.",
    ),
    "page.scrolled": kind(
        "cdp",
        "tab frame element? x y",
        "Scrolling came to rest here, in CSS pixels; without `element` the document.",
        asked=True,
    ),
    "text.appeared": kind(
        "cdp", "tab frame text baseline?", "Visible text that was not there.", asked=True
    ),
    "text.disappeared": kind(
        "cdp", "tab frame text", "Text that was visible is not any more.", asked=True
    ),
    "text.selected": kind(
        "cdp", "tab frame text element?", "This text is selected now.", asked=True
    ),
    "text.copied": kind(
        "cdp",
        "tab frame text element? trusted removed?",
        "Text was copied (null: a secret); `removed`: and taken away.",
    ),
    "text.pasted": kind(
        "cdp", "tab frame text element? trusted", "Text was pasted (null: a secret)."
    ),
}
