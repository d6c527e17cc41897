"""Waiting for commands of a harness: by its daemon for the next, by itself for what they became."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

from api.commands.store import PAGE, Commands, Queued
from api.core.errors import UnavailableError
from api.core.notify import Change, Deadline, Notifier, commands_of, log_of
from api.episodes.rows import EpisodeRow
from api.episodes.store import Episodes


class CommandNews(NamedTuple):
    """What a daemon is to hear of: commands beyond the last it got, and whether somebody follows
    its episode live."""

    commands: list[dict[str, Any]]
    is_followed: bool


class CommandQueue:
    """Waits on both ends: the daemon for commands, the harness for their events.

    A daemon waits at most ``call_s`` seconds, so that it is heard of as often; ``on_call`` is
    called with the episode of each one that begins to wait.
    """

    def __init__(
        self,
        commands: Commands,
        episodes: Episodes,
        notifier: Notifier,
        call_s: float,
        on_call: Callable[[str], None],
    ) -> None:
        self._commands, self._episodes, self._notifier = commands, episodes, notifier
        self._call_s, self._on_call = call_s, on_call

    async def next_commands(
        self, episode: str, after: int, deadline: Deadline, has_news: Callable[[], bool]
    ) -> list[dict[str, object]]:
        """Commands beyond ``after``, as soon as there is one; none when time is up, or once
        ``has_news`` says that the daemon is to hear of something else."""
        self._on_call(episode)
        deadline = Deadline(min(deadline.remaining_s(), self._call_s) * 1000)
        while True:
            changed = self._notifier.watch(commands_of(episode))
            found = await self._commands.list_after(episode, after)
            if found or has_news():
                return found
            if not await self._notifier.wait(changed, deadline.remaining_s()):
                return found

    async def follow_commands(
        self, episode: str, after: int, is_followed: Callable[[], bool]
    ) -> AsyncIterator[CommandNews]:
        """Yield what there is now, if only that there is nothing, and from then on commands as they
        are queued, for ``call_s`` seconds.

        Where somebody follows the episode, that is told again whenever it may be new. Where the
        database does not answer it ends: the daemon is to ask again.
        """
        self._on_call(episode)
        deadline = Deadline(self._call_s * 1000)
        is_first = True
        found: list[dict[str, Any]] | None = None  # None: it is to be read
        while True:
            if found is None:
                changed = self._notifier.watch(commands_of(episode))
                try:
                    found = await self._commands.list_after(episode, after)
                except UnavailableError:
                    return
            news = CommandNews(found, is_followed())
            if found or news.is_followed or is_first:
                yield news
            if found:
                after = found[-1]["command"]
            is_first = False
            has_more = len(found) == PAGE
            if not has_more and not await self._notifier.wait(changed, deadline.remaining_s()):
                return
            changed, found = _next_commands(changed, after)

    async def journalled(self, episode: str, queued: Queued, deadline: Deadline) -> dict[str, Any]:
        """What became of a command: ``step`` and ``seq`` once it is in the log, else ``status:
        queued``."""
        seq, grown = queued.seq, queued.grown
        while seq is None and queued.number is not None:
            if grown is None:
                grown = self._notifier.watch(log_of(episode))
                seq = await self._commands.seq(episode, queued.number)
            if seq is None and not await self._notifier.wait(grown, deadline.remaining_s()):
                break
            if seq is None:
                seq, grown = _journalled_seq(grown, queued.number)
        if seq is None:
            return {"command": queued.number, "step": queued.step, "status": "queued"}
        step = queued.step
        if step is None:
            step = await self._commands.step_at(episode, seq)
        return {"command": queued.number, "step": step, "seq": seq}

    async def closed(self, episode: str, deadline: Deadline) -> EpisodeRow:
        """The episode's row once it is closed, or as it is when time is up."""
        while True:
            changed = self._notifier.watch(log_of(episode))
            row = await self._episodes.get(episode)
            if row.status == "closed":
                return row
            if not await self._notifier.wait(changed, deadline.remaining_s()):
                return row


def _next_commands(changed: Change, after: int) -> tuple[Change, list[dict[str, Any]] | None]:
    """Return the change that is still to come, and the commands beyond ``after`` that those before
    it have as payloads; None where one has none, or another command than the next."""
    commands: list[dict[str, Any]] = []
    while changed.is_set() and changed.following is not None:
        if changed.payload is None or changed.payload["command"] > after + 1:
            return changed, None
        if changed.payload["command"] == after + 1:
            commands.append(dict(changed.payload))
            after += 1
        changed = changed.following
    return changed, commands or None


def _journalled_seq(grown: Change, number: int) -> tuple[int | None, Change | None]:
    """Return the event that the command became, where a change of the log says so, and the change
    that is still to come; None for the latter where one did not say what it brought, or none came
    at all: its word may be lost."""
    if not grown.is_set():
        return None, None
    while grown.is_set() and grown.following is not None:
        if grown.payload is None:
            return None, None
        seqs = grown.payload["seqs"]
        if str(number) in seqs:
            return seqs[str(number)], grown
        grown = grown.following
    return None, (grown if not grown.is_set() else None)
