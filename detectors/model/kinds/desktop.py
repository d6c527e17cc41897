"""Kinds of the desktop: windows, widgets, notifications (AT-SPI), processes, the clipboard, the
screen.

A *widget* is ``{role, name, app, path, id?, text?, value?, states?}``: AT-SPI's role name and
accessible name, the application's name, the child indices from the application down.
"""

from __future__ import annotations

from detectors.model.kinds.kind import EventKind, kind

DESKTOP: dict[str, EventKind] = {
    "app.appeared": kind(
        "ax", "app toolkit? pid? baseline?", "An application is on the accessibility bus."
    ),
    "app.vanished": kind("ax", "app", "It is there no more."),
    "window.opened": kind(
        "ax",
        "app window role title modal? baseline?",
        "A window or dialog is there. `window`: its id on the bus, its own as long as its program"
        " runs.",
    ),
    "window.activated": kind(
        "ax", "app window role title baseline?", "The window has the keyboard now."
    ),
    "window.title_changed": kind(
        "ax", "app window role title baseline?", "The window's title is now this."
    ),
    "window.closed": kind("ax", "app window role title", "The window is gone."),
    "widget.focused": kind("ax", "app window widget", "The widget has the focus now."),
    "widget.activated": kind(
        "ax",
        "app window widget by",
        "A button or a menu item was activated. `by`: toolkit, where it tells that itself; else key"
        " or pointer: it was pressed while it had the focus, or under the pointer"
        " (docs/desktop.md).",
    ),
    "widget.state_changed": kind(
        "ax",
        "app window widget state on initial? baseline?",
        "checked, selected, expanded, sensitive, pressed is now so (`on`) or not. `initial`: it was"
        " so when the widget's window was first looked at, just after that opened.",
    ),
    "widget.text_changed": kind(
        "ax",
        "app window widget text cut? initial? baseline?",
        "The text in the widget, once it rested: whole, at most 10,000 characters; of a password"
        " `***`. `initial`: it stood there when the widget's window was first looked at, just after"
        " that opened.",
    ),
    "widget.text_inserted": kind(
        "ax", "app window widget text offset", "As the toolkit tells it.", asked=True
    ),
    "widget.text_deleted": kind(
        "ax", "app window widget text offset", "As the toolkit tells it.", asked=True
    ),
    "widget.value_changed": kind(
        "ax",
        "app window widget value initial? baseline?",
        "A slider, a spin button, a progress bar; once it rested.",
    ),
    "widget.added": kind("ax", "app window widget", "A widget was added.", asked=True),
    "widget.removed": kind("ax", "app window widget", "A widget was removed.", asked=True),
    "notification.shown": kind(
        "ax", "app title body?", "A desktop notification, taken by the notification service."
    ),
}

MACHINE: dict[str, EventKind] = {
    "process.started": kind(
        "processes",
        "pid parent? name? arguments? program? user? cut? baseline?",
        "A program runs in the process `pid` (the same pid again: it became another program)."
        " `arguments` come after the program's own name, secrets in them masked. What is missing"
        " could not be read: a process that ended at once has no name, one of another user may have"
        " no arguments.",
    ),
    "process.ended": kind("processes", "pid name?", "It runs no more."),
    "clipboard.changed": kind(
        "clipboard",
        "selection text? sha256? length? cut? app? pid? types? unread_reason? baseline?",
        "`selection` (clipboard or primary) holds something new; `length` in characters, 0: it"
        " holds nothing any more. `app`: window class, else program, of its owner; `types`: the"
        " forms that it is offered in. `text`: at most 10,000 characters, secrets masked; `sha256`"
        " of the whole text in UTF-8, not where something was masked. `unread_reason`: why there"
        " is no text: secret, timeout, refused, large, superseded, unasked, or no text at all.",
    ),
    "screen.captured": kind(
        "screen",
        "step? sha256 width height phash changed? tab? backend format bytes delay_ms? kept?"
        " baseline?",
        "The screen after the step's seal, kept as `<sha256>.<format>` beside the journal."
        " `backend`: x11 or cdp; `delay_ms`: taken so long after the seal; `phash`: 64-bit"
        " perceptual hash, in hex; `changed`: share of cells that differ from the picture before;"
        " `kept` false: the disk's cap is reached.",
    ),
}
