"""Kinds of the desktop: windows, widgets, notifications (AT-SPI), processes, the clipboard, the screen.

A *widget* is ``{role, name, app, path, id?, text?, value?, states?}``: AT-SPI's role name and accessible name, the
application's name, the child indices from the application down.
"""

from __future__ import annotations

from detectors.kinds.kind import Kind, kind

DESKTOP: dict[str, Kind] = {
    "app.appeared": kind("ax", "app toolkit? pid? baseline?", "An application is on the accessibility bus."),
    "app.vanished": kind("ax", "app", "It is there no more."),
    "window.opened": kind("ax", "app window role title modal? baseline?", "A window or dialog is there."),
    "window.activated": kind("ax", "app window role title baseline?", "The window has the keyboard now."),
    "window.titled": kind("ax", "app window role title", "The window's title is now this."),
    "window.closed": kind("ax", "app window role title", "The window is gone."),
    "widget.focused": kind("ax", "app window widget", "The widget has the focus now."),
    "widget.activated": kind("ax", "app window widget", "A button, a menu item, a row was activated."),
    "widget.state_changed": kind(
        "ax",
        "app window widget state on baseline?",
        "checked, selected, expanded, sensitive, pressed, ... is now so (`on`) or not.",
    ),
    "widget.text_changed": kind(
        "ax",
        "app window widget text cut? baseline?",
        "The text in the widget, once it rested: whole, at most 10,000 characters.",
    ),
    "widget.text_inserted": kind("ax", "app window widget text offset", "As the toolkit tells it.", asked=True),
    "widget.text_deleted": kind("ax", "app window widget text offset", "As the toolkit tells it.", asked=True),
    "widget.value_changed": kind("ax", "app window widget value baseline?", "A slider, a spin button; once it rested."),
    "widget.added": kind("ax", "app window widget", "A widget was added.", asked=True),
    "widget.removed": kind("ax", "app window widget", "A widget was removed.", asked=True),
    "notification.shown": kind("ax", "app title body?", "A desktop notification."),
}

MACHINE: dict[str, Kind] = {
    "process.started": kind(
        "processes", "pid parent name arguments user? baseline?", "A process runs; secrets in arguments are masked."
    ),
    "process.ended": kind("processes", "pid name", "It runs no more."),
    "clipboard.changed": kind(
        "clipboard",
        "selection text? sha256? length? app? types? baseline?",
        "`selection` (clipboard or primary) holds something new; `app`: the window class that owns it.",
    ),
    "screen.captured": kind(
        "screen",
        "step sha256 width height phash changed? tab? of format",
        "The screen at the step's end, kept by its hash beside the journal. `of`: x11 or cdp; `phash`: 64-bit "
        "perceptual hash, in hex; `changed`: share of cells that differ from the last one.",
    ),
}
