"""The life of a daemon in a fleet: register, take an episode, watch it to its end, take the
next."""

from __future__ import annotations

import asyncio
import shutil

import httpx
import structlog

from agentd.core.errors import AgentdError
from agentd.core.lock import StateLock
from agentd.core.settings import JoinSettings
from agentd.fleet.membership import LeasedEpisode, Membership, instance_of
from agentd.run.daemon import read_token, until_signal
from agentd.run.daemon import run as run_episode
from agentd.session.session import Session
from agentd.uplink.http import CONNECTIONS
from common.plain_answers import ASYNC_HOOKS, HEADERS

GOODBYE_S = 2.0
"""How long a daemon that is told to stop waits for the service to hear it, in seconds."""
GIVEN_UP = ".given-up"

log = structlog.get_logger(__name__)


async def join(settings: JoinSettings, stop: asyncio.Event | None = None) -> None:
    """Work for the fleet until TERM or INT, or with ``once`` to the end of one episode; raises
    `AgentdError`."""
    lock = StateLock(settings.state)
    try:
        async with httpx.AsyncClient(
            base_url=settings.service,
            trust_env=False,
            headers=HEADERS,
            event_hooks=ASYNC_HOOKS,
            limits=CONNECTIONS,
        ) as client:
            token = read_token(settings.token_file, "a token of scope sandbox")
            member = Member(
                settings,
                Membership(client, token, instance_of(settings.state), settings),
            )
            await member.run(stop or until_signal())
    finally:
        lock.release()


class Member:
    """Keeps every episode in a folder of its own below ``state``/episodes; one that is left is not
    finished."""

    def __init__(self, settings: JoinSettings, membership: Membership) -> None:
        self._settings = settings
        self._folder = settings.state / "episodes"
        self._membership = membership
        self._session: Session | None = None

    async def run(self, stop: asyncio.Event) -> None:
        """Work until ``stop``. Raises what asking again will not change."""
        work = asyncio.create_task(self._work(stop), name="fleet")
        stopped = asyncio.create_task(stop.wait(), name="stop")
        try:
            await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and self._session is not None:
                # The episode's own daemon stops too, and ships what it can.
                await asyncio.wait({work})
            if work.done():
                work.result()
        finally:
            for task in (work, stopped):
                task.cancel()
            await asyncio.gather(work, stopped, return_exceptions=True)
            await self._goodbye()

    async def _goodbye(self) -> None:
        """Tell the service that the sandbox goes, as long as that takes no longer than
        `GOODBYE_S`."""
        try:
            async with asyncio.timeout(GOODBYE_S):
                await self._membership.leave()
        except TimeoutError:
            log.debug("The service was not told in time that the sandbox goes.")

    async def _work(self, stop: asyncio.Event) -> None:
        """Register, give back what an earlier run left unfinished, then work on one leased episode
        after the other until stopped."""
        answer = await self._membership.register()
        for episode in self._unfinished_episodes():
            if answer.lease is None or answer.lease.episode != episode:
                lost = await self._membership.beat(on=episode)
                self._set_aside(episode, lost.given_up)
        done: str | None = None
        failed: tuple[str, str] | None = None
        while not stop.is_set():
            if answer.lease is None or done is not None or failed is not None:
                answer = await self._membership.beat(done=done, failed=failed, wait_s=answer.beat_s)
                done = failed = None
            if answer.lease is None:
                continue
            done, failed = await self._episode(answer.lease, answer.beat_s, stop)
            # The service says what comes next, after a give-up too.
            answer = answer._replace(lease=None)
            if self._settings.once and not stop.is_set():
                await self._membership.beat(done=done, failed=failed)
                return

    async def _episode(
        self, lease: LeasedEpisode, beat_s: float, stop: asyncio.Event
    ) -> tuple[str | None, tuple[str, str] | None]:
        """Watch one episode.

        Returns (episode, None) once it is closed and acknowledged, (None, (episode, why)) where it
        can't go on, (None, None) where it is given up or the daemon stops.
        """
        state = self._folder / lease.episode
        log.info("The fleet gave this sandbox an episode.", episode=lease.episode, task=lease.task)
        settings = self._settings.run_settings(lease.episode, state)
        over = asyncio.Event()
        daemon = asyncio.create_task(
            run_episode(settings, lease.token, over, self._opened), name="episode"
        )
        beats = asyncio.create_task(self._beat(lease.episode, beat_s), name="beats")
        stopped = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({daemon, beats, stopped}, return_when=asyncio.FIRST_COMPLETED)
            over.set()
            await asyncio.wait({daemon})
            return self._outcome(lease.episode, daemon, beats, stopping=stop.is_set())
        finally:
            for task in (daemon, beats, stopped):
                task.cancel()
            await asyncio.gather(daemon, beats, stopped, return_exceptions=True)
            self._session = None

    def _outcome(
        self, episode: str, daemon: asyncio.Task[None], beats: asyncio.Task[str], *, stopping: bool
    ) -> tuple[str | None, tuple[str, str] | None]:
        """Return which episode is done, or which failed and why, after its daemon ended; its folder
        goes or is set aside."""
        if beats.done():  # the service has given the episode up, or refuses this daemon
            self._set_aside(episode, beats.result())
            return None, None
        try:
            daemon.result()
        except AgentdError as error:
            log.error("This sandbox can't go on with its episode.", episode=episode, why=str(error))
            self._set_aside(episode, str(error))
            return None, (episode, str(error))
        session = self._session
        if (
            session is not None
            and session.steps.closed
            and session.journal.acknowledged >= session.journal.last
        ):
            if self._settings.journal_after == "remove":
                shutil.rmtree(self._folder / episode)
            else:
                (self._folder / episode).rename(self._folder / f"{episode}.done")
            return episode, None
        return None, None if stopping else (episode, "its daemon ended before the episode did")

    def _opened(self, session: Session) -> None:
        self._session = session

    async def _beat(self, episode: str, beat_s: float) -> str:
        """Report every ``beat_s`` seconds that the sandbox is there, until the service gives the
        episode up; returns why it did."""
        while True:
            await asyncio.sleep(beat_s)
            session = self._session
            gaps = () if session is None else sorted(session.supervisor.gaps)
            through = None if session is None else session.journal.last
            answer = await self._membership.beat(on=episode, through=through, gaps=gaps)
            if answer.given_up is not None:
                return answer.given_up
            if answer.lease is None or answer.lease.episode != episode:
                return "the service has this sandbox on no such episode any more"

    def _unfinished_episodes(self) -> list[str]:
        """List the episodes of before a restart that are not finished."""
        if not self._folder.is_dir():
            return []
        return sorted(path.name for path in self._folder.iterdir() if not path.suffix)

    def _set_aside(self, episode: str, why: str | None) -> None:
        """Keep the journal of an episode that goes on without this sandbox, and log that."""
        state = self._folder / episode
        kept = state.with_name(episode + GIVEN_UP)
        while kept.exists():  # of an earlier life
            kept = kept.with_name(kept.name + GIVEN_UP)
        log.error(
            "The service ended the episode without this sandbox; its journal is kept.",
            episode=episode,
            why=why or "it is not this sandbox's any more",
            journal=str(kept),
        )
        if state.is_dir():
            state.rename(kept)
