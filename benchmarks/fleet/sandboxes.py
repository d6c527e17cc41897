"""Many sandboxes in one process: agentd's own membership, journal, shipper and channel, and a
recording as their eyes.

Left out is what a sandbox has for itself: browser, sources and the loopback port. Each has a
journal file of its own. `python -m benchmarks.fleet.sandboxes URL TOKEN FIRST COUNT FOLDER` works
until TERM, then writes FOLDER/requests.json: the monotonic time and the kind of each request.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
import time
from pathlib import Path

import httpx

from agentd.core.logs import set_up_quietly
from agentd.core.plan import EpisodePlan
from agentd.core.settings import JoinSettings
from agentd.fleet.membership import LeasedEpisode, Membership
from agentd.journal.journal import Journal
from agentd.journal.recorder import Recorder
from agentd.run.daemon import until_signal
from agentd.session.settling import StepSealer
from agentd.session.step_controller import Conductor
from agentd.session.step_state import Steps
from agentd.uplink.command_stream import CommandStream
from agentd.uplink.http import CONNECTIONS, Service
from agentd.uplink.uploader import Shipper
from benchmarks.fleet.tape import Tape, load


class Nothing:
    """Sources of a sandbox whose events come from a tape."""

    observing = True

    async def fence(self) -> None:
        """Return at once: all events of a step are emitted together."""

    async def fence_late(self) -> None:
        """Do nothing: no fence is overstayed."""

    async def see_again(self) -> None:
        """Return at once: no daemon of a tape is started again."""

    async def before_first_step(self) -> None:
        """Do nothing: the tape begins with the first step."""

    def lose_step_work(self) -> None:
        """Do nothing: nothing is lost."""

    async def before_seal(self, step: int | None, *, closing: bool = False) -> None:
        """Do nothing: nothing is left to observe."""

    def after_seal(self, step: int) -> None:
        """Do nothing: nothing is left to observe."""


class Player:
    """One episode: what the tape has of a step happens when the journal has that the step began."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        lease: LeasedEpisode,
        plan: EpisodePlan,
        tape: Tape,
        path: Path,
    ) -> None:
        self.journal = Journal(path, lease.episode)
        self._recorder = Recorder(self.journal)
        self._tape, self._steps = tape, Steps()
        service = Service(client, lease.episode, lease.token, "the lease")
        sealer = StepSealer(plan["hears"], plan["quiet_ms"], plan["settle_ms"])
        self._conductor = Conductor(self._recorder, self._steps, sealer, Nothing())
        self._shipper = Shipper(self._recorder, service)
        self._channel = CommandStream(service, self._conductor, self._shipper)
        self._recorder.listen(self._on_event)
        self._opened = {"task": plan["task"], "digest": plan["digest"]}

    def _on_event(self, source: str, kind: str) -> None:
        if kind == "step.began":
            asyncio.get_running_loop().call_soon(self._play)

    def _play(self) -> None:
        if self._steps.current is not None and self._steps.current < len(self._tape.steps):
            for seen in self._tape.steps[self._steps.current]:
                self._recorder.append(*seen)

    async def run(self) -> None:
        """To the end of the episode, and until all of it is acknowledged."""
        self._recorder.append("journal", "episode.opened", self._opened)
        for seen in self._tape.before:
            self._recorder.append(*seen)
        ship, listen = (
            asyncio.create_task(self._shipper.run()),
            asyncio.create_task(self._channel.run()),
        )
        try:
            await self._conductor.closed.wait()
            self._recorder.flush()
            await self._shipper.drained()
        finally:
            for task in (ship, listen):
                task.cancel()
            await asyncio.gather(ship, listen, return_exceptions=True)
            self._recorder.close()
            self.journal.remove()


class RequestLog:
    """When the sandboxes sent what to the service."""

    def __init__(self) -> None:
        self.sent: list[tuple[float, str]] = []
        """(monotonic time, the last part of the path)."""

    async def note(self, request: httpx.Request) -> None:
        """Note a request, as a hook of httpx."""
        self.sent.append((time.monotonic(), request.url.path.replace(":", "/").rpartition("/")[2]))


async def sandbox(
    client: httpx.AsyncClient, token: str, number: int, folder: Path, tape: Tape
) -> None:
    """Be one sandbox: register, and play every episode that it is leased."""
    settings = JoinSettings(
        service=str(client.base_url),
        token_file=Path("(given)"),
        state=folder,
        name=f"sandbox-{number}",
    )
    membership = Membership(client, token, f"instance-of-sandbox-{number:06}", settings)
    told = await membership.register()
    done: str | None = None
    while True:
        if told.lease is None or done is not None:
            told = await membership.beat(done=done, wait_s=told.beat_s)
            done = None
            continue
        plan = await Service(client, told.lease.episode, told.lease.token, "the lease").plan(
            folder / f"{told.lease.episode}.plan"
        )
        player = Player(client, told.lease, plan, tape, folder / f"{told.lease.episode}.sqlite3")
        beats = asyncio.create_task(_beat(membership, told.lease.episode, told.beat_s, player))
        try:
            await player.run()
        finally:
            beats.cancel()
            (folder / f"{told.lease.episode}.plan").unlink()
        done = told.lease.episode


async def _beat(membership: Membership, episode: str, beat_s: float, player: Player) -> None:
    while True:
        await asyncio.sleep(beat_s)
        await membership.beat(on=episode, through=player.journal.last)


async def main(service: str, token: str, first: int, count: int, folder: Path) -> None:
    """Run ``count`` sandboxes in this process until TERM."""
    set_up_quietly()
    stop = until_signal()
    tape, context = load(), ssl.create_default_context()
    requests = RequestLog()
    clients = [
        httpx.AsyncClient(
            base_url=service,
            trust_env=False,
            verify=context,
            event_hooks={"request": [requests.note]},
            limits=CONNECTIONS,
        )
        for _ in range(count)
    ]
    lives = [
        asyncio.create_task(sandbox(client, token, first + n, folder, tape))
        for n, client in enumerate(clients)
    ]
    stopped = asyncio.create_task(stop.wait())
    done, _ = await asyncio.wait([*lives, stopped], return_when=asyncio.FIRST_COMPLETED)
    for life in lives:
        life.cancel()
    await asyncio.gather(*lives, return_exceptions=True)
    for client in clients:
        await client.aclose()
    (folder / "requests.json").write_text(json.dumps(requests.sent))
    for task in done - {stopped}:
        task.result()


if __name__ == "__main__":
    url, token, first, count, folder = sys.argv[1:]
    asyncio.run(main(url, token, int(first), int(count), Path(folder)))
