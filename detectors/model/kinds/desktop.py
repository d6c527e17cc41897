"""Kinds of the desktop: windows, widgets, notifications (AT-SPI), processes, the clipboard, the
screen."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from detectors.model.kinds.kind import KindTable, Masked

DESKTOP = KindTable("ax")
PROCESSES = KindTable("processes")
CLIPBOARD = KindTable("clipboard")
SCREEN = KindTable("screen")


class Widget(TypedDict):
    """AT-SPI's role name and accessible name, the application's name, the child indices from the
    application down."""

    role: str
    name: str
    app: str
    path: list[int]
    id: NotRequired[str]
    text: NotRequired[str]
    value: NotRequired[float]
    states: NotRequired[list[str]]


class OfApp(TypedDict):
    """`app`: the application's accessible name."""

    app: str


@DESKTOP.kind("app.appeared")
class AppAppeared(OfApp):
    """An application is on the accessibility bus."""

    toolkit: NotRequired[str]
    pid: NotRequired[int]
    baseline: NotRequired[bool]


@DESKTOP.kind("app.vanished")
class AppVanished(OfApp):
    """It is there no more."""


class OfWindow(OfApp):
    """`window`: its id on the bus, its own as long as its program runs."""

    window: str


class TitledWindow(OfWindow, Masked):
    """A window by its role and title."""

    role: str
    title: str


@DESKTOP.kind("window.opened")
class WindowOpened(TitledWindow):
    """A window or dialog is there. `window`: its id on the bus, its own as long as its program
    runs."""

    modal: NotRequired[bool]
    baseline: NotRequired[bool]


@DESKTOP.kind("window.activated")
class WindowActivated(TitledWindow):
    """The window has the keyboard now."""

    baseline: NotRequired[bool]


@DESKTOP.kind("window.title_changed")
class WindowTitleChanged(TitledWindow):
    """The window's title is now this."""

    baseline: NotRequired[bool]


@DESKTOP.kind("window.closed")
class WindowClosed(TitledWindow):
    """The window is gone."""


class OfWidget(OfWindow):
    """What happened to one widget."""

    widget: Widget


class StateOfWidget(OfWidget):
    """`initial`: it was so when the widget's window was first looked at."""

    initial: NotRequired[bool]
    baseline: NotRequired[bool]


@DESKTOP.kind("widget.focused")
class WidgetFocused(OfWidget):
    """The widget has the focus now."""


@DESKTOP.kind("widget.activated")
class WidgetActivated(OfWidget):
    """A button or a menu item was activated. `by`: toolkit, where it reports that itself; else key
    or pointer: it was pressed while it had the focus, or under the pointer (docs/desktop.md)."""

    by: str


WidgetState = Literal["checked", "selected", "expanded", "pressed", "sensitive"]
"""The states of a widget that are reported; AT-SPI has many more."""


@DESKTOP.kind("widget.state_changed")
class WidgetStateChanged(StateOfWidget):
    """checked, selected, expanded, sensitive, pressed is now so (`on`) or not. `initial`: it was so
    when the widget's window was first looked at, just after that opened."""

    state: WidgetState
    on: bool


@DESKTOP.kind("widget.text_changed")
class WidgetTextChanged(StateOfWidget, Masked):
    """The text in the widget, once it rested: whole, at most 10,000 characters; of a password
    `***`. `initial`: it stood there when the widget's window was first looked at, just after that
    opened."""

    text: str
    cut: NotRequired[bool]


class EditOfText(OfWidget):
    """`offset`: in characters from the text's beginning."""

    text: str
    offset: int


@DESKTOP.kind("widget.text_inserted", asked=True)
class WidgetTextInserted(EditOfText):
    """A text was inserted, as the toolkit reports it. `offset`: where, in characters."""


@DESKTOP.kind("widget.text_deleted", asked=True)
class WidgetTextDeleted(EditOfText):
    """A text was deleted, as the toolkit reports it. `offset`: where, in characters."""


@DESKTOP.kind("widget.value_changed")
class WidgetValueChanged(StateOfWidget):
    """A slider, a spin button, a progress bar; once it rested."""

    value: float


@DESKTOP.kind("widget.added", asked=True)
class WidgetAdded(OfWidget):
    """A widget was added."""


@DESKTOP.kind("widget.removed", asked=True)
class WidgetRemoved(OfWidget):
    """A widget was removed."""


@DESKTOP.kind("notification.shown")
class NotificationShown(OfApp, Masked):
    """A desktop notification, taken by the notification service."""

    title: str
    body: NotRequired[str]


@PROCESSES.kind("process.started")
class ProcessStarted(Masked):
    """A program runs in the process `pid` (the same pid again: it became another program).
    `arguments` come after the program's own name, secrets in them masked. What is missing could not
    be read: a process that ended at once has no name, one of another user may have no arguments."""

    pid: int
    parent: NotRequired[int]
    name: NotRequired[str]
    arguments: NotRequired[list[str]]
    program: NotRequired[str]
    user: NotRequired[str]
    cut: NotRequired[bool]
    baseline: NotRequired[bool]


@PROCESSES.kind("process.ended")
class ProcessEnded(TypedDict):
    """It runs no more."""

    pid: int
    name: NotRequired[str]


@CLIPBOARD.kind("clipboard.changed")
class ClipboardChanged(TypedDict):
    """`selection` (clipboard or primary) holds something new; `length` in characters, 0: it holds
    nothing any more. `app`: window class, else program, of its owner; `types`: the forms that it is
    offered in. `text`: at most 10,000 characters, secrets masked; `sha256` of the whole text in
    UTF-8, not where something was masked. `unread_reason`: why there is no text: secret, timeout,
    refused, large, superseded, unasked, or no text at all."""

    selection: str
    text: NotRequired[str]
    sha256: NotRequired[str]
    length: NotRequired[int]
    cut: NotRequired[bool]
    app: NotRequired[str]
    pid: NotRequired[int]
    types: NotRequired[list[str]]
    unread_reason: NotRequired[str]
    baseline: NotRequired[bool]


class ScreenRegion(TypedDict):
    """`region`: [x, y, width, height] in pixels; `gray`: base64 of its 64 × 64 mean brightnesses;
    `phash`: its 64-bit perceptual hash, in hex; `text`: what is written in it, as it was read from
    the pixels, where a rule asks for that: a line for each piece, at most 10,000 characters,
    secrets masked."""

    region: list[int]
    gray: str
    phash: str
    text: NotRequired[str]
    cut: NotRequired[bool]


@SCREEN.kind("screen.captured")
class ScreenCaptured(TypedDict):
    """The screen after the step's seal, kept as `<sha256>.<format>` beside the journal. `backend`:
    x11 or cdp; `delay_ms`: taken so long after the seal; `phash`: 64-bit perceptual hash, in hex;
    `changed`: share of cells that differ from the picture before; `regions`: those that rules ask
    for, as far as they are on the screen; `kept` false: the disk's cap is reached."""

    step: NotRequired[int]
    sha256: str
    width: int
    height: int
    phash: str
    changed: NotRequired[float]
    regions: NotRequired[list[ScreenRegion]]
    tab: NotRequired[str]
    backend: str
    format: str
    bytes: int
    delay_ms: NotRequired[int]
    kept: NotRequired[bool]
    baseline: NotRequired[bool]
