"""What stood in the agent's way, from one event to the next: a fold over an episode's log.

An obstacle stands from the answer that shows it until the site answers well again. Pure; what it
remembers is bounded, whatever agent and pages do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from api.blame.signs import (
    Cause,
    Sign,
    hops_of,
    is_captcha,
    is_challenge_path,
    is_challenge_title,
    is_good,
    is_infeasible_claim,
    is_login_page,
    is_network_error,
    sign_of_background,
    sign_of_document,
    sign_of_redirect,
)
from detectors.matchers.url import Url, parse_url
from detectors.model.types import Event, Json
from detectors.sdk.request_facts import is_servers

MAX_KEPT = 64
"""Tabs, origins and obstacles that are remembered at once."""
MIN_REFUSED = 2
"""Addresses in a row that must be refused by nothing but a 403, once the site has answered."""
_SCRIPTS = ("XHR", "Fetch")
_REFUSALS = ("site_refused", "rate_limited")
Value = TypeVar("Value")


class Obstacle(NamedTuple):
    """What stands in the way. ``seq``: the event that shows it; ``step``: None before the first;
    ``is_certain``: not just a page that may be refused to everybody; ``at_first_contact``: nothing
    of the site had been answered before, so that the agent can't have provoked it."""

    cause: Cause
    seq: int
    step: int | None
    what: str
    is_certain: bool
    at_first_contact: bool = False
    evidence: tuple[int, ...] = ()

    def reason(self) -> str:
        """What is said of it, in words of ours."""
        return f"event {self.seq}: {self.what}"


@dataclass(slots=True)
class _Page:
    """A tab's main document, and the marks of a challenge that came since."""

    url: str
    is_committed: bool = False
    answer: int = 0
    is_refused: bool = False
    title: int = 0
    captcha: int = 0
    protection: int = 0

    def waits_for(self, url: str) -> bool:
        """Whether this is the answered document of an address that is not shown yet."""
        return self.url == url and not self.is_committed


@dataclass(slots=True)
class Findings:
    """What a log shows. ``at_end``: of each step the obstacle that stood at its end; ``overcome``:
    the last one that was over; ``claim``: the event by which the agent declared the task
    infeasible; ``answer``: its last answer; ``answered``: an event by which the site answered
    well."""

    at_end: dict[int, Obstacle] = field(default_factory=dict)
    standing: Obstacle | None = None
    overcome: Obstacle | None = None
    claim: int = 0
    claim_step: int | None = None
    answer: int = 0
    answered: int = 0
    last: int = 0
    began: bool = False


def _is_main_document(data: Mapping[str, Json]) -> bool:
    """Whether a request was for the document of a tab's main frame."""
    return data.get("type") == "Document" and data.get("frame") == data.get("tab")


def _is_protection_of(page: _Page, url: Url) -> bool:
    """Whether an address is where the protection of the page's own site answers."""
    own = parse_url(page.url)
    if own is None or own.origin != url.origin:
        return False
    return is_challenge_path(url)


def _with_captcha(obstacle: Obstacle, seq: int) -> Obstacle:
    """Return a refusal as a captcha that event ``seq`` shows; any other obstacle as it is."""
    if obstacle.cause not in _REFUSALS:
        return obstacle
    return obstacle._replace(
        cause="captcha",
        what=f"{obstacle.what}, with a captcha",
        is_certain=True,
        evidence=(obstacle.seq, seq),
    )


class ObstacleReader:
    """Takes an episode's events in order. ``origins``: the task's own; of a task that names none,
    every main document is the task's."""

    def __init__(self, origins: Collection[str], *, is_login_asked: bool) -> None:
        self._origins, self._is_login_asked = frozenset(origins), is_login_asked
        self._found = Findings()
        self._step: int | None = None
        self._is_running = False
        self._standing: dict[Hashable, Obstacle] = {}
        self._answered: dict[str, int] = {}
        self._refused: dict[str, set[str]] = {}
        self._pages: dict[str, _Page] = {}
        self._handlers: Mapping[str, Callable[[Event], None]] = {
            "step.began": self._begin_step,
            "step.sealed": self._seal_step,
            "episode.closed": self._seal_step,
            "agent.answered": self._claim,
            "agent.tool_called": self._claim,
            "gap.began": self._begin_gap,
            "gap.ended": lambda event: self._end(("gap", str(event.data.get("source")))),
            "tab.crashed": self._crash,
            "page.failed": self._fail_page,
            "page.navigated": self._navigate,
            "page.title_changed": self._title,
            "request.finished": self._finish_request,
        }

    def apply(self, event: Event) -> None:
        """Take the next event of the episode, in order."""
        self._found.last = event.seq
        handler = self._handlers.get(event.kind)
        if handler is not None:
            handler(event)

    def findings(self) -> Findings:
        """What the events so far show."""
        self._note_end()
        self._found.standing = self._latest()
        return self._found

    def _begin_step(self, event: Event) -> None:
        """Note which step runs, and what stood in the way at the end of the one before."""
        self._note_end()
        step = event.data.get("step")
        if type(step) is int:
            self._step = step
        self._is_running = True
        self._found.began = True
        self._claim(event)

    def _seal_step(self, event: Event) -> None:
        """Note what stood in the way at the end of the step; at the close, for the whole
        episode."""
        self._note_end()
        self._is_running = False
        has_step = self._step is not None
        if event.kind == "episode.closed" and has_step:
            self._note_close()

    def _note_close(self) -> None:
        """Note what stands at the close: what that decides stands in a step of its own."""
        assert self._step is not None
        self._step += 1
        self._note_end()
        self._step -= 1

    def _note_end(self) -> None:
        """Note what stands in the way now, for the step that runs; nothing where nothing does."""
        if self._step is None:
            return
        standing = self._latest()
        if standing is None:
            self._found.at_end.pop(self._step, None)
        else:
            self._found.at_end[self._step] = standing

    def _latest(self) -> Obstacle | None:
        """The obstacle that stands last; one that is not certain only where none is."""
        standing = self._standing.values()
        return max(standing, key=lambda one: (one.is_certain, one.seq), default=None)

    def _claim(self, event: Event) -> None:
        """Note an answer of the agent's, and that it calls the task infeasible."""
        if event.kind == "agent.answered":
            self._found.answer = event.seq
        if is_infeasible_claim(event.kind, event.data):
            self._found.claim, self._found.claim_step = event.seq, self._step

    def _begin_gap(self, event: Event) -> None:
        """A source that is lost while a step runs; the end of a harness's browser is no fault."""
        if self._is_running and "part" not in event.data:
            source = str(event.data.get("source"))
            what = f"the source {source[:40]!r} observed nothing any more"
            self._add(("gap", source), event, Sign("infrastructure", what, True), "")

    def _crash(self, event: Event) -> None:
        sign = Sign("infrastructure", "a tab crashed", True)
        self._add(("crash", str(event.data.get("tab"))), event, sign, "")

    def _fail_page(self, event: Event) -> None:
        """Note a page of the site that could not be reached."""
        if event.data.get("main") is not True:
            return
        url = parse_url(str(event.data.get("url")))
        if self._is_of_site(url) and is_network_error(event.data.get("error")):
            sign = Sign("infrastructure", "the site could not be reached", True)
            origin = url.origin if url is not None else ""
            self._add(("document", origin), event, sign, "")

    def _navigate(self, event: Event) -> None:
        """Note a tab's new page, which ends what a crash left standing there."""
        data = event.data
        tab = str(data.get("tab"))
        url = str(data.get("url"))
        if data.get("main") is not True:
            self._mark(event, parse_url(url))
            return
        if data.get("same_document") is True:
            return
        self._end(("crash", tab))
        page = self._pages.get(tab)
        if page is not None and page.waits_for(url):
            page.is_committed = True
        else:
            self._keep(self._pages, tab, _Page(url, is_committed=True))

    def _title(self, event: Event) -> None:
        """Look at a page again whose title is that of a challenge."""
        page = self._pages.get(str(event.data.get("tab")))
        if page is not None and is_challenge_title(event.data.get("title")):
            page.title = event.seq
            self._look_at(page, event)

    def _finish_request(self, event: Event) -> None:
        """Look at the answer of a document or of a script's request of the site."""
        data = event.data
        url = parse_url(str(data.get("url")))
        if _is_main_document(data):
            if is_servers(data):
                self._document(event, url)
            return
        self._mark(event, url)
        is_script = data.get("type") in _SCRIPTS
        if url is not None and is_script and self._is_background_of_site(url, data):
            self._finish_background(event, url)

    def _finish_background(self, event: Event, url: Url) -> None:
        """Take the answer to a script's request of the site."""
        key = ("script", url.origin)
        sign = sign_of_background(event.data) if is_servers(event.data) else None
        if sign is not None:
            self._add(key, event, sign, url.origin)
        elif is_good(event.data):
            self._answer_well(event, url.origin)
            self._end(key)

    def _document(self, event: Event, url: Url | None) -> None:
        """Take the server's answer to a main document."""
        data = event.data
        hops = hops_of(data)
        first = parse_url(str(hops[0].get("url"))) if hops else url
        is_final_of_site = self._is_of_site(url)
        if url is None or not (is_final_of_site or self._is_of_site(first)):
            return
        origin = self._refusing_origin(url, first)
        page = self._answered_page(event)
        sign = sign_of_redirect(data, is_login_asked=self._is_login_asked)
        if sign is None and is_final_of_site:
            sign = sign_of_document(data)
        if sign is not None:
            sign = self._weigh(sign, origin, url)
            self._add(("document", origin), event, sign, origin)
            page.is_refused = True
            self._look_at(page, event)
        elif is_final_of_site and is_good(data):
            self._accept_document(event, url, origin)
            self._look_at(page, event)

    def _accept_document(self, event: Event, url: Url, origin: str) -> None:
        """End what stood at the site, which answered well: a login page does not, unless the task
        asks for a login."""
        self._answer_well(event, origin)
        if self._is_login_asked or not is_login_page(url):
            self._refused.pop(origin, None)
            self._end(("document", origin))
            self._end(("script", origin))

    def _refusing_origin(self, url: Url, first: Url | None) -> str:
        """The origin that an answer is told of: the site's own that was asked first, if it was."""
        if first is not None and self._is_of_site(first):
            return first.origin
        return url.origin

    def _answered_page(self, event: Event) -> _Page:
        """The page that an answer to a main document belongs to."""
        tab, url = str(event.data.get("tab")), str(event.data.get("url"))
        page = self._pages.get(tab)
        if page is None or page.url != url or page.answer:
            page = _Page(url)
            self._keep(self._pages, tab, page)
        page.answer = event.seq
        return page

    def _weigh(self, sign: Sign, origin: str, url: Url) -> Sign:
        """Make a mere 403 certain where the site has answered nothing yet, or refuses address after
        address."""
        if sign.is_marked:
            return sign
        refused = self._refused.setdefault(origin, set())
        if len(refused) < MIN_REFUSED:
            refused.add(url.path)
        self._keep(self._refused, origin, refused)
        is_certain = origin not in self._answered or len(refused) >= MIN_REFUSED
        return sign._replace(is_marked=is_certain)

    def _mark(self, event: Event, url: Url | None) -> None:
        """Note that a page loads a captcha, or its site's protection."""
        page = self._pages.get(str(event.data.get("tab")))
        if page is None or url is None:
            return
        if is_captcha(url):
            page.captcha = page.captcha or event.seq
        elif _is_protection_of(page, url):
            page.protection = page.protection or event.seq
        else:
            return
        self._look_at(page, event)

    def _look_at(self, page: _Page, event: Event) -> None:
        """See whether a page's marks together show a challenge: a captcha on a page that was
        refused, or a challenge page's title with what it loads."""
        url = parse_url(page.url)
        if url is None or not self._is_of_site(url) or not page.answer:
            return
        if page.is_refused:
            self._refine_refusal(page, url.origin)
            return
        loaded = page.captcha or page.protection
        if page.title and loaded:
            self._add_challenge(page, event, url.origin, loaded)

    def _refine_refusal(self, page: _Page, origin: str) -> None:
        """Make the refusal that stands a captcha where the refused page loads one."""
        key = ("document", origin)
        obstacle = self._standing.get(key)
        if page.captcha and obstacle is not None:
            self._standing[key] = _with_captcha(obstacle, page.captcha)

    def _add_challenge(self, page: _Page, event: Event, origin: str, loaded: int) -> None:
        """Let a challenge page stand in the way, by its title and by what event ``loaded`` shows
        that it loads."""
        if self._answered.get(origin) == page.answer:
            del self._answered[origin]  # what answered was the challenge
        cause: Cause = "captcha" if page.captcha else "site_refused"
        sign = Sign(cause, "a challenge page, by its title and what it loads", True)
        evidence = tuple(sorted((page.title, loaded)))
        self._add(("document", origin), event, sign, origin, evidence)

    def _is_of_site(self, url: Url | None) -> bool:
        """Whether an address is of the task's site; of a task that names none each is."""
        if url is None:
            return False
        return not self._origins or url.origin in self._origins

    def _is_background_of_site(self, url: Url, data: Mapping[str, Json]) -> bool:
        """Whether a script's request is the site's: of a task that names no site it has to be of
        its page's own origin."""
        if self._origins:
            return url.origin in self._origins
        page = self._pages.get(str(data.get("tab")))
        if page is None:
            return False
        own = parse_url(page.url)
        return own is not None and own.origin == url.origin

    def _answer_well(self, event: Event, origin: str) -> None:
        """Note that the site answers, and where it did so first."""
        self._found.answered = event.seq
        if origin not in self._answered:
            self._keep(self._answered, origin, event.seq)

    def _add(
        self,
        key: Hashable,
        event: Event,
        sign: Sign,
        origin: str,
        evidence: tuple[int, ...] = (),
    ) -> None:
        """Let an obstacle stand; one of the same kind goes on from where it began."""
        old = self._standing.get(key)
        if old is not None and old.cause == sign.cause and old.is_certain == sign.is_marked:
            return
        is_first = bool(origin) and origin not in self._answered
        obstacle = Obstacle(
            sign.cause,
            event.seq,
            self._step,
            sign.what,
            sign.is_marked,
            is_first,
            evidence or (event.seq,),
        )
        self._keep(self._standing, key, obstacle)

    def _end(self, key: Hashable) -> None:
        """Note that an obstacle stands no more."""
        obstacle = self._standing.pop(key, None)
        if obstacle is not None:
            self._found.overcome = obstacle

    @staticmethod
    def _keep(table: dict[Any, Value], key: Hashable, value: Value) -> None:
        """Remember a value as the newest; of too many the oldest is forgotten."""
        table.pop(key, None)
        table[key] = value
        while len(table) > MAX_KEPT:
            del table[next(iter(table))]
