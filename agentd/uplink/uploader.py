"""The shipper: takes segments from the journal to the service, in order, one in flight, until
acknowledged.

It is woken by an event at boundaries of steps and gaps, by 500 events, or a while after the first
unshipped one: soon where somebody follows the episode live, as the service says with each segment
that it takes. The end of a step goes with its seal, where that follows soon, and its seal with the
begin of the next one, where a command asked for both. What the service has is asked for, never
guessed: at the start, and when it refuses a segment.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator

import httpx
import structlog

from agentd.core.backoff import Backoff
from agentd.core.errors import GivenUpError, JournalError, LogRefusedError
from agentd.journal.journal import SEGMENT_EVENTS, Cut
from agentd.journal.recorder import RETRY_S, Recorder
from agentd.uplink.http import Service, problem, problem_detail, retry_after, spoke, words
from common.frames import NUMBER, Packer, live_packer
from detectors.model.codec import GENESIS

FOLLOWED_S = 0.075
"""How long an event that no step waits for may stay unshipped, in seconds, where somebody follows:
a page that does has 200 ms."""
LINGER_S = 10.0
"""The same where nobody does, so that a short step is one segment. Somebody who begins to follow is
heard of at once (`Shipper.follow`), and each request takes some 2 ms of processor time here and as
much at the service. With a sandbox that is lost, a step that is not sealed has no reward anyway."""
FIRST_ANSWER_S = 5.0
"""How long a daemon with a journal waits for the service's first answer, in seconds."""

ENDED_S = 0.075
"""How long the end of a step waits for its seal, to go in one segment with it, in seconds: longer
than the quiet that most tasks ask for (`limits.quiet_ms`, 50)."""

UNREADABLE = ("unknown-dictionary", "malformed-segment")
"""What a service of another build may say of a frame for its dictionary alone: the older ones know
of none."""
URGENT = frozenset(
    (
        "step.began",
        "step.sealed",
        "episode.opened",
        "episode.closed",
        "agent.answered",
        "gap.began",
        "gap.ended",
    )
)
"""Kinds that somebody is waiting for at the service."""

log = structlog.get_logger(__name__)


class Shipper:
    """Ships ``recorder``'s journal; `run` ends by an `AgentdError` only.

    ``adopted`` is called when the service was ahead of the journal: with how many events the
    journal lacked, and the step that the service saw last. That can only be before `run`: what is
    numbered meanwhile would be lost, and with it what the sources reported of how things stand.
    """

    def __init__(
        self,
        recorder: Recorder,
        service: Service,
        *,
        adopted: Callable[[int, int | None], None] | None = None,
    ) -> None:
        self._recorder = recorder
        self._journal = recorder.journal
        self._service = service
        self._adopted = adopted
        self._wake = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._packer, self._packs_live = live_packer(), True
        self._backoff = Backoff()
        self.is_followed = False
        """Whether somebody looks at the episode live, as the service said last."""
        self._is_advancing = False
        self._progress = asyncio.Event()
        self._runs = False
        self.met = False
        """Whether the service said what it has."""
        recorder.listen(self.notice)

    def notice(self, source: str, kind: str) -> None:
        """A listener for the recorder: wakes the shipper now or in a while."""
        begin_follows = kind == "step.sealed" and self._is_advancing
        if self._journal.uncut >= SEGMENT_EVENTS or (kind in URGENT and not begin_follows):
            self._wake.set()
        elif not self._wake.is_set():
            soon = begin_follows or kind == "step.ended"
            self._wake_within(ENDED_S if soon else self._linger_s)

    def ship_at_once(self) -> None:
        """Ship what was journalled so far, whatever it is: somebody waits for it at the service."""
        self._wake.set()

    @contextlib.contextmanager
    def ship_seal_with_begin(self) -> Iterator[None]:
        """Within this, a step's seal goes in one segment with the begin of the next one: whoever
        waits for its reward waits for that, too. It waits `ENDED_S` seconds at most."""
        self._is_advancing = True
        try:
            yield
        finally:
            self._is_advancing = False

    def follow(self) -> None:
        """Ship soon what was seen, from now on: somebody looks at the episode live."""
        self.is_followed = True
        if self._journal.uncut:
            self._wake_within(FOLLOWED_S)

    @property
    def _linger_s(self) -> float:
        """Return how many seconds events wait for others before they are sent; fewer while somebody
        follows."""
        return FOLLOWED_S if self.is_followed else LINGER_S

    def _wake_within(self, seconds: float) -> None:
        """Wake the shipper in ``seconds`` at the latest."""
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds
        if self._timer is not None and self._timer.when() <= due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(due, self._wake.set)

    async def run(self) -> None:
        """Ship for ever. Raises `TokenRefusedError`, `UsageError`, `LogRefusedError`,
        `JournalError`."""
        self._runs = True
        try:
            if not self.met:
                await self.meet()
            self._wake.set()
            while True:
                await self._wake.wait()
                self._wait()
                if not self._journal.cut():
                    self._timer = asyncio.get_running_loop().call_later(RETRY_S, self._wake.set)
                await self._ship_all()
        except (LogRefusedError, JournalError) as error:
            log.error("Nothing more is shipped; the journal is kept.", why=str(error))
            raise
        finally:
            self._wait()

    def _wait(self) -> None:
        """Begin to wait for events anew, without the timer that ran."""
        self._wake.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def meet(self) -> None:
        """Ask the service, until it answers, where its log stands, and stand there too."""
        while not await self._met():
            await self._backoff.wait()

    async def meet_at_once(self) -> None:
        """The same with one question, for a journal that lacks nothing unless somebody put back an
        older one."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FIRST_ANSWER_S):
                await self._met()

    async def _met(self) -> bool:
        """Ask once where the service's log stands; returns whether the service answered."""
        try:
            response = await self._service.get()
            response.raise_for_status()
        except (httpx.TransportError, httpx.HTTPStatusError) as error:
            log.warning(
                "The service does not answer; the journal keeps everything.", why=words(error)
            )
            return False
        body = problem(response)
        through, head = body.get("through"), body.get("head", GENESIS)
        if type(through) is not int or not isinstance(head, str):
            _warn_of(response)
            return False
        self._backoff.reset()
        at = body.get("at")  # which older services do not say
        self._stand(through, head, body.get("step"), at if type(at) is int else 0)
        self.met = True
        return True

    def _stand(self, through: int, head: str, step: int | None, at: int) -> None:
        """Go on after the last event that the service has; what this journal lacks is adopted as a
        gap. Raises `LogRefusedError` for another log."""
        journal = self._journal
        if journal.stands_at(through, head):
            journal.acknowledged = through
        elif through > journal.last and not self._runs:
            lacking = self._recorder.adopt(through, head, at)
            log.error(
                "The service has events that this journal lost; going on after them.",
                lost=lacking,
                through=through,
            )
            if self._adopted is not None:
                self._adopted(lacking, step)
        else:
            raise LogRefusedError(
                f"the service's log of episode {journal.episode} ends with event {through}, digest"
                f" {head[:16]}…: that is not the beginning of this journal (last event"
                f" {journal.last}). Another journal wrote to it"
            )
        self._step()

    async def _ship_all(self) -> None:
        """Send one segment after the other until the service has all."""
        while (cut := self._journal.next_cut(self._journal.acknowledged)) is not None:
            await self._ship(cut)

    async def _ship(self, cut: Cut) -> None:
        """Send one segment, and act on the answer; where there is none it is sent again after a
        wait."""
        frame = self._packer.pack(self._journal.text(cut))
        try:
            response = await self._service.post_segment(frame, self._journal.last - cut.last)
        except httpx.TransportError as error:
            log.warning(
                "A segment was not taken; it is sent again.",
                first=cut.first,
                last=cut.last,
                why=words(error),
            )
            await self._backoff.wait()
            return
        if response.status_code == 200:
            await self._accept(cut, response)
        elif response.status_code == 429:
            await self._pressed_back(cut, response)
        elif response.status_code >= 500:
            log.warning(
                "The service is broken; the segment is sent again.", status=response.status_code
            )
            await self._backoff.wait(retry_after(response))
        elif response.status_code >= 400 and spoke(response):
            await self._refused(cut, response)
        else:
            await self._strange(response)

    async def _accept(self, cut: Cut, response: httpx.Response) -> None:
        """Acknowledge a segment in the journal, if the answer is the service's own."""
        body = problem(response)
        through, head = body.get("through"), body.get("head")
        if type(through) is not int or through < cut.last:
            await self._strange(response)
            return
        self._backoff.reset()
        self.is_followed = bool(body.get("followed"))
        if through == cut.last and head not in (None, cut.digest):
            raise LogRefusedError(
                f"the service's digest after event {cut.last} is {head}, the journal's {cut.digest}"
            )
        self._journal.acknowledge(cut.last)
        self._step()

    async def _strange(self, response: httpx.Response) -> None:
        _warn_of(response)
        await self._backoff.wait()

    async def _pressed_back(self, cut: Cut, response: httpx.Response) -> None:
        """Wait as long as a service asks that takes less than comes, and see how far it is."""
        through = problem(response).get("through")
        log.info(
            "The service asks to wait; the journal keeps everything.",
            first=cut.first,
            through=through,
        )
        await self._backoff.wait(retry_after(response))
        if type(through) is int and through > self._journal.acknowledged:
            await self.meet()  # an answer was lost: what it has is not sent again

    async def _refused(self, cut: Cut, response: httpx.Response) -> None:
        """Go on from where the service stands after a gap; raise `LogRefusedError` for any other
        refusal."""
        body = problem(response)
        slug = str(body.get("type")).rpartition(":")[2]
        if self._packs_live and slug in UNREADABLE:
            log.warning(
                "The service has not this daemon's dictionary; segments are sent without it.",
                dictionary=NUMBER,
                why=problem_detail(response),
            )
            self._packer, self._packs_live = Packer(), False
            return
        if slug == "sandbox-lost":
            raise GivenUpError(
                f"the service refuses segment {cut.first}–{cut.last}: {problem_detail(response)}"
            )
        if response.status_code == 409 and isinstance(body.get("wanted"), int):
            before = self._journal.acknowledged
            log.warning(
                "The service wants other events first.", wanted=body["wanted"], sent=cut.first
            )
            await self.meet()
            if self._journal.acknowledged != before:
                return
        raise LogRefusedError(
            f"segment {cut.first}–{cut.last}: {response.status_code} {problem_detail(response)}"
        )

    # -- for those who wait

    def _step(self) -> None:
        self._progress.set()
        self._progress = asyncio.Event()

    async def drained(self) -> None:
        """Wait until everything journalled so far is acknowledged."""
        target = self._journal.last
        while self._journal.acknowledged < target:
            self._wake.set()
            await self._progress.wait()


def _warn_of(response: httpx.Response) -> None:
    """Log that something answered in the service's place, such as a network's sign-in page."""
    log.warning(
        "This is no answer of the service; asking again.",
        status=response.status_code,
        answer=response.text[:200],
    )
