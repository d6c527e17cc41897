"""A trace's pages while its moments are told in order: steps, addresses, titles, fields, clicks,
dialogs."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urldefrag

from agentd.masking import MASK, Masker
from detectors.model.json_value import JsonObject, JsonValue, read_text
from lab.convert.page_state import PageFrames, Telling
from lab.convert.trace_facts import CallTarget, Field, SnapshotFacts
from lab.convert.trace_file import ApiCall, Snapshot, TraceEvent, TraceFile

_CLICKS = frozenset(("click", "tap", "dblclick", "check", "uncheck", "setChecked"))
_TYPES = frozenset(("fill", "type", "press", "pressSequentially"))
_ACTS = _CLICKS | _TYPES | {"selectOption"}
"""Calls that act on the element which the snapshot marks."""
_BLIND = frozenset(
    "dragAndDrop setInputFiles mouseClick mouseDown mouseUp mouseMove mouseWheel touchscreenTap"
    " keyboardDown keyboardUp keyboardPress keyboardType keyboardInsertText drop".split()
)
"""Calls whose effect on elements a trace does not say: their steps are a gap in elements."""
_GOES = frozenset(("goto", "reload", "goBack", "goForward"))
_ONE_FIELD = frozenset(
    ("keyboardPress", "keyboardType", "keyboardInsertText", "mouseClick", "touchscreenTap")
)
"""Of these, those that may be taken for the user's where exactly one field changed."""
_KEPT = "url selector value text key options x y button clickCount promptText name".split()
"""Parameters of a call that stand in its action."""
_NO_FIELD = Field(("", None), {}, False)
MAX_CHARACTERS = 1000


class TracePages:
    """``facts`` are those of ``trace.snapshots``, one by one."""

    def __init__(self, trace: TraceFile, facts: list[SnapshotFacts], masker: Masker) -> None:
        self._masker = masker
        self._pages = PageFrames()
        self._calls = trace.calls
        self._targets: dict[str, CallTarget] = {}
        self._mains: dict[str, str] = {}
        self._tabs: dict[str, str] = {}
        self._titles: dict[str, str] = {}
        self._fields: dict[str, dict[str, Field]] = {}
        self._opened: set[str] = set()
        self._dialog: JsonObject | None = None
        self._clicked: set[str] = set()
        self._current: str | None = None
        self._downloads = 0
        for snapshot, seen in zip(trace.snapshots, facts, strict=True):
            self._tabs[snapshot.frame] = snapshot.page
            if snapshot.main:
                self._mains[snapshot.page] = snapshot.frame
            if seen.target is not None:
                self._targets.setdefault(snapshot.call, seen.target)

    def tab_of(self, frame: str, page: str) -> str:
        """The tab of a request: as its frame or it itself says, else the only one."""
        known = self._tabs.get(frame) or page
        return known or next(iter(self._mains), "tab")

    def name_of(self, tab: str, frame: str) -> str:
        """A frame's name in events: a main frame is called like its tab."""
        return tab if not frame or self._mains.get(tab, frame) == frame else frame

    # -- calls

    def began(self, at: int, call: ApiCall) -> Iterator[Telling]:
        """Begin a step with a call; a gap where its effect is not in the trace."""
        if self._dialog is not None and call.cls != "Dialog":
            reason = "the trace does not say who answered a dialog"
            yield from self._unseen(at, reason, "dialog.closed")
            self._dialog = None
        self._current = call.id
        yield Telling(at, "step.began", self._action(call))
        reason, parts = self._blindness(call)
        yield from self._unseen(at, reason, *parts)

    def _blindness(self, call: ApiCall) -> tuple[str, tuple[str, ...]]:
        """Which parts of the browser a call may have changed without the trace showing it, and
        why."""
        acts = _acts(call)
        is_blind = call.method in _BLIND
        has_effect = acts or is_blind or call.method in _GOES
        if has_effect and call.end is None:
            why = f"the trace ends before {call.title} came back"
            return why, ("element", "field", "page", "request")
        failed_in_the_act = acts and call.failed and call.reached
        if is_blind or failed_in_the_act:
            why = f"what {call.title} met is not in the trace"
            return why, ("element",)
        is_shown = call.id in self._targets
        if acts and not (call.failed or is_shown):
            why = f"no snapshot shows what {call.title} met"
            return why, ("element", "field")
        return "", ()

    def ended(self, at: int, call: ApiCall) -> Iterator[Telling]:
        """End the call's step; a dialog that it answered, or a page, is closed."""
        match call.cls, call.method:
            case "Dialog", "accept" | "dismiss":
                yield from self._answered_dialog(at, call)
            case "Page", "close" if not call.failed:
                yield from self._close(at, call.page)
        if call.id == self._current:
            yield Telling(at, "step.ended", {})

    def _answered_dialog(self, at: int, call: ApiCall) -> Iterator[Telling]:
        if self._dialog is None:
            return
        accepted, words = call.method == "accept", read_text(call.params, "promptText")
        yield Telling(at, "dialog.closed", {**self._dialog, "accepted": accepted, "input": words})
        self._dialog = None

    def _action(self, call: ApiCall) -> JsonObject:
        """What stands in the step: the call and its telling parameters, without secrets."""
        action: dict[str, JsonValue] = {"call": call.title}
        given = {name: call.params[name] for name in _KEPT if call.params.get(name) is not None}
        for name, value in given.items():
            match value:
                case "":
                    continue
                case str():
                    action[name] = self._parameter(call, name, value)[:MAX_CHARACTERS]
                case int() | float():
                    action[name] = value
                case _ if value and name == "options":
                    action[name] = self._masker.mask_json(value)
        return action

    def _parameter(self, call: ApiCall, name: str, value: str) -> str:
        """A text of a call, masked as what it is: an address, keys of a field, or any other."""
        if name == "url":
            return self._masker.mask_url(value)
        is_single_key = name == "key" and len(value) == 1
        is_typed = is_single_key or name in ("value", "text")
        if is_typed and self._may_be_secret(call, value):
            return MASK
        return self._masker.mask_text(value)

    def _unseen(self, at: int, reason: str, *parts: str) -> Iterator[Telling]:
        """Gaps as long as the moment: they blind the running step alone."""
        for part in parts:
            yield Telling(at, "gap.began", {"source": "cdp", "part": part, "reason": reason})
            yield Telling(at, "gap.ended", {"source": "cdp", "part": part})

    # -- documents

    def committed(self, at: int, tab: str, frame: str, url: str) -> Iterator[Telling]:
        """A frame's document came in from ``url``."""
        yield from self._open(at, tab, url)
        self._fields.pop(frame, None)
        yield from self._pages.navigated(at, tab, frame, url)

    def _may_be_secret(self, call: ApiCall, value: str) -> bool:
        """Whether what a call typed is nobody else's business."""
        target = self._targets.get(call.id)
        if target is None:
            return True  # keys whose field no snapshot shows may have gone into a password
        return target.secret or self._masker.is_secret("", value)

    def saw(self, at: int, snapshot: Snapshot, seen: SnapshotFacts) -> Iterator[Telling]:
        """A snapshot: address, title and fields as they are now; the click, where it stands right
        before it."""
        tab = snapshot.page
        frame = self.name_of(tab, snapshot.frame)
        url = self._masker.mask_url(snapshot.url)
        yield from self._open(at, tab, url)
        yield from self._go(at, tab, frame, url, is_same_document=seen.same)
        if snapshot.main and seen.title:
            yield from self._title(at, tab, url, seen.title)
        yield from self._changes(at, tab, frame, snapshot, seen)
        if snapshot.phase == "action" and seen.target is not None:
            call = self._calls.get(snapshot.call)
            yield from self._click(at, tab, frame, call, seen.target)

    def _go(
        self, at: int, tab: str, frame: str, url: str, *, is_same_document: bool
    ) -> Iterator[Telling]:
        """Tell that a frame is at another address than before; the fields of a new document are
        other ones."""
        before = self._pages.url(tab, frame)
        if url == before:
            return
        is_same_page = urldefrag(url).url == urldefrag(before).url
        within = before != "" and (is_same_document or is_same_page)
        if not within:
            self._fields.pop(frame, None)
        yield from self._pages.navigated(at, tab, frame, url, same_document=within)

    def _title(self, at: int, tab: str, url: str, title: str) -> Iterator[Telling]:
        """Tell a tab's title where it is another one than before."""
        if self._titles.get(tab) != title:
            self._titles[tab] = title
            yield Telling(at, "page.title_changed", {"tab": tab, "title": title, "url": url})

    def _click(
        self, at: int, tab: str, frame: str, call: ApiCall | None, target: CallTarget
    ) -> Iterator[Telling]:
        """Tell the click, or the key that clicks, of a call that came through; once a call."""
        if call is None or call.id in self._clicked:
            return
        if call.failed or _is_trial(call):
            return
        where = {"tab": tab, "frame": frame}
        data: JsonObject = {**where, "element": target.clicked, "trusted": True}
        if call.method in _TYPES:
            self._clicked.add(call.id)
            yield from self._pressed(at, call, target, data)
        elif call.method in _CLICKS:
            self._clicked.add(call.id)
            for kind in _click_kinds(call):
                yield Telling(at, kind, data)

    def _pressed(
        self, at: int, call: ApiCall, target: CallTarget, data: JsonObject
    ) -> Iterator[Telling]:
        """The click that a key is for the element that has the focus; a gap where it is not known
        which that is."""
        keys = _keys(call)
        is_one_key = call.method == "press" and len(keys) == 1
        if is_one_key and keys <= target.pressed:
            yield Telling(at, "element.clicked", data)
            return
        clicking = set(target.pressed)
        if target.submits:
            clicking.add("Enter")
        pressed = {key.rpartition("+")[2] for key in keys}
        if not clicking.isdisjoint(pressed):
            reason = f"what {call.title} clicked by a key is not in the trace"
            yield from self._unseen(at, reason, "element")

    def _changes(
        self, at: int, tab: str, frame: str, snapshot: Snapshot, seen: SnapshotFacts
    ) -> Iterator[Telling]:
        """Tell each field that is other than in the frame's snapshot before; in its first snapshot
        those that hold something, as the start state."""
        before = self._fields.get(frame, {})
        is_first = frame not in self._fields
        self._fields[frame] = seen.fields
        changed = {
            key: field
            for key, field in seen.fields.items()
            if field.state != before.get(key, _NO_FIELD).state
        }
        for key, field in changed.items():
            if field.is_empty and key not in before:
                continue
            about = {**field.data, "tab": tab, "frame": frame}
            if is_first:
                yield Telling(at, "field.filled", {**about, "baseline": True})
            else:
                trusted = self._is_users(snapshot, key, len(changed))
                yield Telling(at, "field.filled", {**about, "trusted": trusted})

    def _is_users(self, snapshot: Snapshot, key: str, changes: int) -> bool:
        """Whether a change, one of so many, was the call's own doing, as a browser tells trusted
        input from a script's."""
        call = self._calls.get(snapshot.call)
        if call is None or call.failed:
            return False
        if snapshot.phase != "after":
            return False
        if call.method in _ONE_FIELD:
            return changes == 1
        target = self._targets.get(call.id)
        is_input = call.method in _CLICKS | _TYPES
        if target is None or not is_input:
            return False
        # A radio button that loses its mark is the other side of the same click.
        return key in target.keys or any(_same_group(key, own) for own in target.keys)

    # -- events

    def handle(self, at: int, event: TraceEvent) -> Iterator[Telling]:
        """What the trace reports by itself: pages, dialogs, downloads."""
        params = event.params
        page = params.get("page")
        guid = page.get("guid") if isinstance(page, dict) else page
        tab = str(params.get("pageId") or guid or event.page)
        match event.method:
            case "page" if tab:
                yield from self._open(at, tab, "about:blank")
            case "pageClosed":
                yield from self._close(at, tab)
            case "dialog" if isinstance(params.get("type"), str):
                about = {"type": params["type"], "message": read_text(params, "message")}
                self._dialog = {"tab": tab, **about}
                opened = {**self._dialog, "url": self._pages.url(tab)}
                yield Telling(at, "dialog.opened", opened)
            case "download" if isinstance(params.get("url"), str):
                yield self._download(at, tab, params)

    def _download(self, at: int, tab: str, params: JsonObject) -> Telling:
        self._downloads += 1
        data = {
            "tab": tab,
            "frame": tab,
            "download": f"trace-{self._downloads}",
            "url": self._masker.mask_url(str(params["url"])),
            "name": read_text(params, "suggestedFilename"),
        }
        return Telling(at, "download.began", data)

    def _open(self, at: int, tab: str, url: str) -> Iterator[Telling]:
        if tab not in self._opened:
            self._opened.add(tab)
            yield Telling(at, "tab.opened", {"tab": tab, "url": url})

    def _close(self, at: int, tab: str) -> Iterator[Telling]:
        if tab in self._opened:
            self._opened.discard(tab)
            yield Telling(at, "tab.closed", {"tab": tab})


def _click_kinds(call: ApiCall) -> Iterator[str]:
    """The events that a call's click is for the browser."""
    if call.params.get("button") == "right":
        yield "element.right_clicked"
        return
    count = call.params.get("clickCount", 1)
    if call.method == "dblclick":
        count = 2
    clicks = min(count, 3) if type(count) is int else 1
    yield from ["element.clicked"] * clicks
    if count == 2:
        yield "element.double_clicked"


def _acts(call: ApiCall) -> bool:
    """Whether the call did something to the element that it names."""
    return call.method in _ACTS and call.cls != "Dialog" and not _is_trial(call)


def _is_trial(call: ApiCall) -> bool:
    """Whether the call only looked if it could be done, and did nothing."""
    return call.params.get("trial") is True


def _keys(call: ApiCall) -> set[str]:
    """Of the keys that a call pressed, those that may click."""
    match call.method:
        case "fill":
            return set()
        case "press":
            key = read_text(call.params, "key")
            space = {" ": "Space"}
            return {space.get(key, key.replace("NumpadEnter", "Enter"))}
    text = read_text(call.params, "text")
    keys = {" ": "Space", "\n": "Enter"}
    return {keys[letter] for letter in keys.keys() & set(text)}


def _same_group(key: str, other: str) -> bool:
    """Whether two keys are those of radio buttons of which one is marked at most."""
    group, sign, _ = key.rpartition("=")
    return sign != "" and other.rpartition("=")[:2] == (group, sign)
