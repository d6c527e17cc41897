"""What the folds share: where each session belongs, and which frames and tabs are there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from agentd.sources.cdp.state.masking import Secrets
from agentd.sources.cdp.state.protocol import StartedNavigating

if TYPE_CHECKING:
    from agentd.sources.cdp.state.request_backfill import Arrival

V = TypeVar("V")
Params = Mapping[str, Any]
"""A message's parameters before it is known which message it is."""

WORKERS = ("worker", "shared_worker", "service_worker")
"""The types of targets that are workers."""

CALLS = ("Fetch", "XHR")
"""The types under which a request is reported that a script sends by `fetch` or XMLHttpRequest."""

MAX_REMEMBERED = 512
"""Entries of a table of what is of use for a short time only (`remember`)."""


class CdpObservation(NamedTuple):
    """An observation before the sink stamps its time."""

    kind: str
    data: dict[str, Any]


@dataclass(slots=True)
class Frame:
    """A frame as last committed; ``loader`` names its document, ``status`` the error with which the
    server answered it (0: none).

    ``marks`` are what is known of that document: `parsed`, `loaded`, `idled` once told; `painted`:
    somebody could see and use it; `asked`: it asked to be left itself; `heard`: what its observer
    held back until it could speak is in; `called`: its scripts called `fetch` or XMLHttpRequest, or
    may have; `waited`: one of them stood still for an answer, where a guard hears requests;
    `left`: it told that it is left; `crashed`: its renderer is gone; `saved`: it is a page that was
    saved to a file, or a part of one.
    """

    tab: str
    parent: str | None = None
    url: str = ""
    loader: str = ""
    marks: set[str] = field(default_factory=set)
    status: int = 0


@dataclass(slots=True)
class Pages:
    """Tabs and the targets of their pages: a tab has one that is shown and maybe others, prepared
    by prerendering.

    ``above``: session of a tab target → its tab ("" until its first page is known), which is named
    after that page; ``tabs``: page target → tab; ``shown``: tab → the page target that is shown,
    where that is another one; ``focused``: tabs that say that they are in front, ``front``: the one
    that was told; ``several``: more than one say so, which a harness can make them; ``sources``:
    page target → the address of which it shows the source, as the browser lists it.
    """

    above: dict[str, str] = field(default_factory=dict)
    tabs: dict[str, str] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)
    focused: dict[str, None] = field(default_factory=dict)
    front: str = ""
    several: bool = False
    sources: dict[str, str] = field(default_factory=dict)

    def tab(self, target: str) -> str:
        """The tab that a page target stands in."""
        return self.tabs.get(target, target)

    def is_shown(self, target: str) -> bool:
        """Whether it is the page that its tab shows."""
        tab = self.tab(target)
        return self.shown.get(tab, tab) == target


@dataclass(slots=True)
class History:
    """Where a page stands in its tab's history. ``entry``: its id when that was last asked, after
    ``known`` of its ``moves``; the last that was not through the history was ``gone_on``.

    ``pending``: number and data of moves whose direction is not known yet.
    """

    entry: int | None = None
    moves: int = 0
    known: int = 0
    gone_on: int = 0
    pending: list[tuple[int, dict[str, Any]]] = field(default_factory=list)


@dataclass(slots=True)
class Download:
    """A download on its way, begun by the page target ``page``: of ``total`` bytes (0: not known)
    ``received`` are there and ``told`` were told of."""

    tab: str
    page: str
    url: str
    name: str
    received: int = 0
    total: int = 0
    told: int = 0


@dataclass(slots=True)
class SessionState:
    """One attached target. ``contexts``: script context → frame; ``held``: payloads of a context
    not known yet.

    ``via``: worker, shared_worker or service_worker, else ""; a worker's ``root`` is the frame that
    made it, and one that several tabs share has neither tab nor frame; its script is at ``url``.
    ``heard``: it was from its
    beginning, or that needs no telling; ``enabled``: it is listened to. ``hidden``: a page that is
    prerendered, not shown, under ``title``; ``crashed``: its renderer is gone; ``late``: what was
    seen of it, or in a page since it went through its history, until that can be told; ``lost``:
    how many there was no room for. ``reopened``: frames whose page may keep input from its
    observer; ``held_events``: (frame, number) → a click of which its page is still to
    tell on what it was. ``arrival``: what
    it may have done before it could be listened to. ``unproven``:
    loader → its ``page.navigated``, of a document that a service worker may have made up, until
    what workers have from the network is heard.
    """

    tab: str
    root: str
    is_page: bool
    target: str = ""
    via: str = ""
    url: str = ""
    heard: bool = True
    enabled: bool = False
    contexts: dict[int, str] = field(default_factory=dict)
    held: dict[int, list[str]] = field(default_factory=dict)
    reopened: set[str] = field(default_factory=set)
    held_events: dict[tuple[str, int], CdpObservation] = field(default_factory=dict)
    dialog: dict[str, object] | None = None
    crashed: bool = False
    hidden: bool = False
    title: str = ""
    late: list[CdpObservation] = field(default_factory=list)
    lost: int = 0
    history: History = field(default_factory=History)
    arrival: Arrival | None = None
    unproven: dict[str, CdpObservation] = field(default_factory=dict)

    @property
    def holds_back(self) -> bool:
        """Whether what is seen in the page waits until more is known of a document of it."""
        return bool(self.history.pending or self.unproven)


@dataclass(slots=True)
class BrowserState:
    """The state of the folds. ``settled`` turns true when all that stood at attachment has been
    told.

    ``live``: somebody asks the browser what the folds need; not so for a log. ``wanted``: the kinds
    to be told. ``underway``: frame → the navigation that it last began; ``loaders``: documents
    whose request is known, and whether somebody's gesture caused it; ``documents``: those that
    script has put at another address than that from which they were loaded, and the latter;
    ``errors``: document → why it could not be loaded; ``archives``: documents that are saved pages;
    ``opening``: tab → the address for which it
    last opened another; ``titles``: tab → a title and the address that the browser lists it with,
    of which the document was not heard yet;
    ``profiles``: the browser contexts in which there were pages, ``own_profile``: the browser's
    own, which is there without anybody's making it; ``counts_calls``: the browser counts each
    `fetch` and asynchronous XMLHttpRequest of its pages, ``counts_kept``: what is kept alive after
    its page; ``guards``: something that must not happen
    is known by requests, so that one that may have gone out is a gap.
    """

    secrets: Secrets = field(default_factory=Secrets)
    settled: bool = False
    tabs: dict[str, dict[str, str]] = field(default_factory=dict)
    sessions: dict[str, SessionState] = field(default_factory=dict)
    frames: dict[str, Frame] = field(default_factory=dict)
    live: bool = False
    wanted: frozenset[str] = frozenset()
    pages: Pages = field(default_factory=Pages)
    underway: dict[str, StartedNavigating] = field(default_factory=dict)
    loaders: dict[str, bool] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    archives: dict[str, None] = field(default_factory=dict)
    opening: dict[str, str] = field(default_factory=dict)
    titles: dict[str, tuple[str, str]] = field(default_factory=dict)
    downloads: dict[str, Download] = field(default_factory=dict)
    profiles: set[str] = field(default_factory=set)
    own_profile: str = ""
    counts_calls: bool = False
    counts_kept: bool = False
    guards: bool = False

    def session_state(self, session: str) -> SessionState:
        """The session's state; a log without sessions (one page only) is taken as one unnamed
        tab."""
        state = self.sessions.get(session)
        if state is None:
            state = self.sessions[session] = SessionState(tab=session, root=session, is_page=True)
        return state

    def is_being_left(self, frame: str | None, loader: str) -> bool:
        """Whether the frame's document ``loader`` makes way for another one, or one that it stands
        in does."""
        while frame is not None:
            known = self.frames.get(frame)
            onward = self._next_document(frame)
            if onward and onward != loader and (known is None or onward != known.loader):
                return True
            frame, loader = known.parent if known else None, ""
        return False

    def _next_document(self, frame: str) -> str:
        """The document that the frame last began to load, "" where there is none, or it failed."""
        began = self.underway.get(frame, StartedNavigating())
        onward = str(began.get("loaderId") or "")
        if onward in self.errors:
            return ""
        stays = str(began.get("navigationType", "")).lower().endswith("samedocument")
        return "" if stays else onward

    def page_of(self, frame: str) -> str:
        """The page that the frame stands in, named after its main frame's document."""
        seen = {frame}
        while (known := self.frames.get(frame)) and known.parent and known.parent not in seen:
            frame = known.parent
            seen.add(frame)
        return known.loader if known else frame

    def mark_called(self, frame: str, *, waited: bool = False) -> None:
        """The scripts of the frame's document called `fetch` or XMLHttpRequest; ``waited``: and
        stood still until the answer came."""
        if frame in self.frames:
            self.frames[frame].marks |= {"called", "waited"} if waited else {"called"}

    def shown_pages(self) -> set[str]:
        """All pages that are there, named as `page_of` does."""
        return {known.loader for known in self.frames.values() if known.parent is None}

    def served_frames(self) -> list[str]:
        """The frames whose document a service worker may serve."""
        sites = {
            _site_of(state.url) for state in self.sessions.values() if state.via == "service_worker"
        }
        return [name for name, known in self.frames.items() if _site_of(known.url) in sites]

    def below(self, frame: str) -> list[str]:
        """All frames under ``frame``, deepest last."""
        frames = [frame]
        for parent in frames:
            frames.extend(child for child, about in self.frames.items() if about.parent == parent)
        return frames[1:]


def _site_of(url: str) -> str:
    """Scheme, host and port of an address, in one."""
    return "/".join(url.split("/", 3)[:3])


Handler = Callable[[BrowserState, SessionState, Any], Iterable[CdpObservation]]
"""Takes one message of a session, its parameters as protocol.py has them, and gives what is seen in
it."""


def remember(table: dict[str, V], key: str, value: V, limit: int = MAX_REMEMBERED) -> None:
    """Keep ``value`` as the newest of at most ``limit``."""
    table.pop(key, None)
    table[key] = value
    while len(table) > limit:
        del table[next(iter(table))]
