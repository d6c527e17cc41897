"""The shipper against a real HTTP peer: in order, once, over every way in which the service can
fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from agentd.core.errors import LogRefusedError, TokenRefusedError, UsageError
from agentd.journal.journal import Journal
from agentd.journal.recorder import Recorder
from agentd.session.settling import StepSealer
from agentd.session.step_controller import Conductor
from agentd.session.step_state import Steps
from agentd.uplink import command_stream, uploader
from agentd.uplink.command_stream import CommandStream
from agentd.uplink.http import Service
from agentd.uplink.uploader import Shipper
from benchmarks.fleet.sandboxes import Nothing
from tests.agentd.support.peer import Peer


class Way:
    """A journal, a shipper and their peer."""

    def __init__(self, folder: Path, client: httpx.AsyncClient, episode: str = "E") -> None:
        self.recorder = Recorder(Journal(folder / "journal.sqlite3", episode))
        self.adopted: list[tuple[int, int | None]] = []
        self.service = Service(client, episode, "secret", "the-token-file")
        self.shipper = Shipper(self.recorder, self.service, adopted=self._adopt)
        self.task: asyncio.Task[None]

    def start(self) -> None:
        self.task = asyncio.create_task(self.shipper.run())

    def _adopt(self, lacking: int, step: int | None) -> None:
        self.adopted.append((lacking, step))

    def see(self, count: int = 1) -> None:
        for _ in range(count):
            self.recorder.append("cdp", "page.loaded", {"n": self.recorder.journal.last})

    async def drained(self) -> None:
        async with asyncio.timeout(30):
            await self.shipper.drained()

    async def close(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        self.recorder.close()


@asynccontextmanager
async def way(
    folder: Path, peer: Peer, episode: str = "E", *, meets: bool = False
) -> AsyncIterator[Way]:
    """``meets``: the service says what it has before anything is numbered."""
    async with httpx.AsyncClient(base_url=peer.url, trust_env=False) as client:
        made = Way(folder, client, episode)
        if meets:
            await made.shipper.meet_at_once()
        made.start()
        try:
            yield made
        finally:
            await made.close()


@asynccontextmanager
async def unfollowed_way(
    folder: Path, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Way]:
    """One event is shipped; nobody follows, so that the next may wait for an hour."""
    monkeypatch.setattr(uploader, "LINGER_S", 3_600.0)
    peer.followed = False
    async with way(folder, peer) as here:
        here.see()
        await here.drained()
        yield here


async def test_everything_arrives_once_and_in_order(tmp_path: Path) -> None:
    """A burst becomes whole segments; the connection stays the same one."""
    async with Peer() as peer, way(tmp_path, peer) as here:
        for _ in range(5):
            here.see(300)
            await here.drained()
        assert [event.data["n"] for event in peer.events] == list(range(1500))
        assert len(peer.connections) == 1


async def test_an_event_that_nobody_waits_for_lingers_and_goes(tmp_path: Path) -> None:
    """Without a boundary the shipper wakes by itself, and takes what came meanwhile in one
    segment."""
    async with Peer() as peer, way(tmp_path, peer) as here:
        await here.drained()
        here.see()
        here.see()
        await peer.until(lambda: peer.through == 2)
        assert len(peer.texts) == 1


@asynccontextmanager
async def obeying(here: Way) -> AsyncIterator[None]:
    """A daemon without sources takes the commands of the peer."""
    conductor = Conductor(here.recorder, Steps(), StepSealer([], 0, 0), Nothing())
    commands = CommandStream(here.service, conductor, here.shipper)
    listening = asyncio.create_task(commands.run())
    try:
        yield
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def call_tool(peer: Peer) -> None:
    """A tool's call that is said through the service, until it is in the log."""
    count = peer.kinds.count("agent.tool_called") + 1
    await peer.command("agent.tool_called", call=f"c{count}", tool="editor", arguments={})
    await peer.until(lambda: peer.kinds.count("agent.tool_called") == count)


async def test_what_a_command_made_is_shipped_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever said it through the service waits there until it is in the log."""
    async with (
        Peer() as peer,
        unfollowed_way(tmp_path, peer, monkeypatch) as here,
        obeying(here),
    ):
        await call_tool(peer)


async def test_where_a_proxy_keeps_streams_commands_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until what is on the way fails: then the stream is tried again."""
    monkeypatch.setattr(command_stream, "FIRST_LINE_S", 0.05)
    async with Peer() as peer, way(tmp_path, peer) as here:
        peer.holds_streams = True
        async with obeying(here):
            for _ in range(3):
                await call_tool(peer)
            assert peer.streams == 1
            peer.holds_streams = False
            peer.strange_questions = 1
            await call_tool(peer)
            await call_tool(peer)
            assert peer.streams == 2


async def test_where_nobody_follows_it_lingers_until_a_step_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Peer() as peer, unfollowed_way(tmp_path, peer, monkeypatch) as here:
        here.see()
        await asyncio.sleep(5 * uploader.FOLLOWED_S)  # fixed: nothing may come
        assert peer.through == 1
        here.shipper.follow()
        await peer.until(lambda: peer.through == 2)  # somebody came, as the service says elsewhere
        here.see()
        here.see(uploader.SEGMENT_EVENTS)
        await peer.until(lambda: peer.through > 1)  # so many wait for nobody
        await here.drained()
        shipped = len(peer.texts)
        here.see()
        here.recorder.append("steps", "step.ended", {"step": 0})
        peer.followed = True
        await peer.until(lambda: peer.kinds[-2:] == ["page.loaded", "step.ended"])
        assert len(peer.texts) == shipped + 1
        await here.drained()
        here.see()
        await peer.until(lambda: peer.kinds[-1] == "page.loaded")  # somebody came


async def test_where_a_command_asks_for_both_a_seal_goes_with_the_next_begin(
    tmp_path: Path,
) -> None:
    """Whoever waits for the reward waits for the begin, too; without a begin it goes soon."""
    async with Peer() as peer, way(tmp_path, peer) as here:
        here.see()
        await here.drained()
        say = here.recorder.append
        with here.shipper.ship_seal_with_begin():
            say("steps", "step.ended", {"step": 0})
            say("steps", "step.sealed", {"step": 0, "reason": "quiet"})
            for _ in range(50):  # the shipper has its turns
                await asyncio.sleep(0)
            say("steps", "step.began", {"step": 1})
            await peer.until(lambda: peer.through == 4)
            assert len(peer.texts) == 2
            say("steps", "step.sealed", {"step": 1, "reason": "quiet"})
            await peer.until(lambda: peer.through == 5)


async def test_the_end_of_a_step_goes_with_its_seal(tmp_path: Path) -> None:
    """Nobody needs the end before the seal; without a seal it goes soon by itself."""
    async with Peer() as peer, way(tmp_path, peer) as here:
        here.recorder.append("steps", "step.began", {"step": 0})
        await peer.until(lambda: peer.kinds[-1:] == ["step.began"])
        shipped = len(peer.texts)
        here.see()
        here.recorder.append("steps", "step.ended", {"step": 0})
        await asyncio.sleep(0)
        here.recorder.append("steps", "step.sealed", {"step": 0, "reason": "quiet"})
        await peer.until(lambda: peer.kinds[-1:] == ["step.sealed"])
        assert len(peer.texts) == shipped + 1
        here.recorder.append("steps", "step.began", {"step": 1})
        here.recorder.append("steps", "step.ended", {"step": 1})
        await peer.until(lambda: peer.kinds[-1:] == ["step.ended"])


@pytest.mark.parametrize("fail", [[500], [503, 502, 500], [429]])
async def test_a_service_in_trouble_gets_it_later(tmp_path: Path, fail: list[int]) -> None:
    """5xx and 429 keep the segment, and it is sent again as the same bytes."""
    async with Peer() as peer, way(tmp_path, peer) as here:
        peer.fail = list(fail)
        here.see(3)
        await here.drained()
        assert (peer.through, peer.posts) == (3, len(fail) + 1)


@pytest.mark.parametrize("slug", ["unknown-dictionary", "malformed-segment"])
async def test_a_service_without_the_dictionary_gets_plain_frames(
    tmp_path: Path, slug: str
) -> None:
    """A service of another build says so once; an older one calls such a frame malformed."""
    async with Peer() as peer, way(tmp_path, peer) as here:
        peer.unreadable = slug
        here.see(3)
        await here.drained()
        assert (peer.through, peer.posts) == (3, 2)
        here.see(2)
        await here.drained()
        assert (peer.through, peer.posts) == (5, 3)


async def test_retry_after_is_heeded(tmp_path: Path) -> None:
    """A busy service says how long, and is left alone that long."""
    async with Peer() as peer, way(tmp_path, peer) as here:
        peer.fail, peer.headers = [429], {"retry-after": "1"}
        here.see()
        before = asyncio.get_running_loop().time()
        await here.drained()
        assert asyncio.get_running_loop().time() - before >= 1.0


@pytest.mark.parametrize("status", [200, 302, 400, 401, 403, 404, 410, 413, 422])
async def test_a_page_in_the_services_place_says_nothing(tmp_path: Path, status: int) -> None:
    """A sign-in page with 200 acknowledges nothing, a proxy's own 404 ends nothing: the service
    itself must say."""
    async with Peer() as peer:
        peer.strange_status = status
        peer.strange = 2
        async with way(tmp_path, peer) as here:
            here.see(2)
            await here.drained()
            assert (peer.strange, peer.through) == (0, 2)
            peer.strange = 2
            here.see(3)
            await here.drained()
            assert (peer.strange, peer.through, here.recorder.journal.acknowledged) == (0, 5, 5)


@pytest.mark.parametrize("status", [302, 304])
async def test_a_redirect_in_the_services_place_is_no_refusal(tmp_path: Path, status: int) -> None:
    async with Peer() as peer, way(tmp_path, peer) as here:
        peer.fail = [status]
        here.see(3)
        await here.drained()
        assert (peer.through, peer.posts) == (3, 2)


async def test_what_packs_too_well_is_no_bomb(tmp_path: Path) -> None:
    """A tool's result of zeros arrives, and what follows it."""
    async with Peer() as peer, way(tmp_path, peer) as here:
        here.recorder.append("cdp", "page.title_changed", {"title": "0" * (2 << 20)})
        here.see()
        await here.drained()
        assert peer.through == 2


async def test_a_lost_answer_makes_no_second_event(tmp_path: Path) -> None:
    """The service took the segment, its answer was lost: sent again, it is the same and counted
    once."""
    async with Peer() as peer, way(tmp_path, peer) as here:
        peer.swallow = 1
        here.see(4)
        await here.drained()
        assert [event.seq for event in peer.events] == [1, 2, 3, 4]
        assert (len(peer.texts), peer.posts) == (1, 2)


async def test_a_service_that_was_away(tmp_path: Path) -> None:
    """Down at the start and down in the middle: the journal keeps, and all arrives."""
    peer = Peer()
    await peer.start()
    await peer.stop()
    async with way(tmp_path, peer) as here:
        here.see(2)
        await peer.start()
        await here.drained()
        await peer.stop()
        here.see(1200)
        await peer.start()
        await here.drained()
        assert len(peer.events) == 1202
        assert here.recorder.journal.acknowledged == 1202
    await peer.stop()


async def test_a_service_that_lost_its_tail_gets_it_again(tmp_path: Path) -> None:
    """The gap's refusal names what is wanted, and the journal still has it."""
    async with Peer() as peer, way(tmp_path, peer) as here:
        for _ in range(3):
            here.see(2)
            await here.drained()
        peer.forget(2)
        assert peer.through == 2
        here.see(1)
        await here.drained()
        assert peer.through == 7


async def test_a_fork_stops_shipping_and_keeps_the_journal(tmp_path: Path) -> None:
    """Another journal wrote to the episode: nothing is overwritten, nothing is lost, and it is
    said."""
    async with Peer() as peer:
        async with way(tmp_path / "..", peer) as other:
            other.see(5)
            await other.drained()
        folder = tmp_path / "here"
        folder.mkdir()
        async with way(folder, peer) as here:
            here.see(6)
            with pytest.raises(LogRefusedError, match="Another journal wrote to it"):
                await here.task
            here.see(1)
            assert here.recorder.flush()
            assert here.recorder.journal.last == 7
        assert peer.through == 5


async def test_a_journal_that_turns_out_to_be_behind_while_it_runs_stops_shipping(
    tmp_path: Path,
) -> None:
    """Numbering anew what the sources told of how things stand would lose it: the next start goes
    on after the log."""
    async with Peer() as peer:
        (tmp_path / "newer").mkdir()
        async with way(tmp_path / "newer", peer) as newer:
            newer.see(5)
            await newer.drained()
        async with way(tmp_path, peer) as here:
            with pytest.raises(
                LogRefusedError, match=r"last event 0\). Another journal wrote to it"
            ):
                await here.task
            assert here.adopted == []
        async with way(tmp_path, peer, meets=True) as here:
            assert here.adopted == [(5, None)]


async def test_a_refused_token_is_named(tmp_path: Path) -> None:
    """Which file it came from, and what was wanted; shipping ends."""
    async with Peer() as peer, way(tmp_path, peer) as here:
        peer.token = "other"
        with pytest.raises(
            TokenRefusedError,
            match=r"401 to the token from the-token-file.*append token of episode E",
        ):
            await here.task


async def test_an_unknown_episode_is_named(tmp_path: Path) -> None:
    """404 is a wrong option, not a fault that passes."""
    async with Peer() as peer, way(tmp_path, peer, "F") as here:
        with pytest.raises(UsageError, match="--episode F"):
            await here.task


async def test_a_journal_behind_its_service_adopts(tmp_path: Path) -> None:
    """After a lost state directory, numbers go on after what the service has."""
    async with Peer() as peer:
        (tmp_path / "old").mkdir()
        async with way(tmp_path / "old", peer) as old:
            old.see(5)
            await old.drained()
        async with way(tmp_path, peer, meets=True) as here:
            assert here.adopted == [(5, None)]
            here.see(2)
            await here.drained()
            assert [event.seq for event in peer.events] == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("tells", [True, False], ids=["told", "an older service"])
async def test_a_journal_behind_its_service_goes_on_after_its_time(
    tmp_path: Path, tells: bool
) -> None:
    """The clock that the state directory held is lost with it: the log's last time is where it goes
    on."""
    async with Peer() as peer:
        peer.tells_at = tells
        (tmp_path / "old").mkdir()
        async with way(tmp_path / "old", peer) as old:
            old.recorder.clock.adopt(600 * 10**9)
            old.see(5)
            await old.drained()
        async with way(tmp_path, peer, meets=True) as here:
            here.see(2)
            await here.drained()
            late = peer.events[4].at
            assert late >= 600 * 10**9
            assert [event.at >= late for event in peer.events[5:]] == [tells, tells]
            origin = here.recorder.clock.origin
        if tells:
            again = Recorder(Journal(tmp_path / "journal.sqlite3", "E"))
            assert again.clock.origin == origin
            assert again.clock.now() >= peer.events[-1].at
            again.close()
