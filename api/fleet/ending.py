"""Ends the log of an episode whose sandbox is lost: the one case in which the service takes the
pen.

Law 3 has the journal number events. A lost journal numbers none, so the service writes one last
segment after the last event that it has: that the journal's rest is lost, the steps that were asked
for and never came, and the end. It goes through the same door as a daemon's, so the first one wins
and the rewards follow from the log alone: whatever was not sealed is null with ``mask``
(docs/decisions/0013-a-lost-sandbox.md). An episode of which this build has not the rules is ended
without them: the same steps are masked, but that its goal was reached before is not said
(api/ingest/placeholder_engine.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import zstandard

from api.commands.store import Commands
from api.core.errors import ConflictError, CostlySegmentError, RulesetChangedError
from api.episodes.rows import EpisodeRow
from api.episodes.store import Episodes
from api.ingest.appender import Log
from api.log.frames import decode_frame
from api.log.segments import StoredSegments
from detectors.model.codec import encode_segment
from detectors.model.types import Event

_TRIES = 5
"""A daemon that still ships may be faster, each time."""
STRANGE = "this build has not the rules under which the episode was opened"

Words = tuple[str, str, Mapping[str, Any]]


async def end(
    log: Log,
    segments: StoredSegments,
    episodes: Episodes,
    commands: Commands,
    episode: str,
    why: str,
) -> None:
    """See to it that the log of ``episode`` has an end, whoever writes it. Raises `ConflictError`
    if it can't be."""
    for tried in range(_TRIES):
        row = await episodes.get(episode)
        if row.status == "closed":
            return
        rows = await segments.list_after(episode, row.through - 1, 1) if row.through else ()
        at = decode_frame(bytes(rows[0].frame))[-1].at if rows else 0
        asked = await commands.steps_asked(episode)
        try:
            try:
                await log.append(episode, _frame(row, at, last_words(row, asked, why)))
            except RulesetChangedError:
                await log.end(episode, _frame(row, at, last_words(row, asked, f"{why}; {STRANGE}")))
            except CostlySegmentError:  # even what came before is too costly to be read again
                await log.end(episode, _frame(row, at, last_words(row, asked, why)))
        except ConflictError:
            if tried == _TRIES - 1:
                raise


def _frame(row: EpisodeRow, at: int, said: Sequence[Words]) -> bytes:
    numbered = enumerate(said, row.through + 1)
    events = [Event(row.id, seq, source, kind, at, data) for seq, (source, kind, data) in numbered]
    return zstandard.compress(encode_segment(events, row.head))


def last_words(row: EpisodeRow, asked: Sequence[tuple[int, int]], why: str) -> list[Words]:
    """What the service writes after the last event of the episode's ``row``: (source, kind, data)
    each.

    ``asked``: (step, command) of the steps that a trainer began and the journal never told of, in
    order.
    """
    lost: Words = ("journal", "events.dropped", {"source": "journal", "reason": why})
    said: list[Words] = []
    if row.through == 0:
        said.append(("journal", "episode.opened", {"task": row.task, "digest": row.digest}))
    said.append(lost)
    for step, command in asked:
        # Each begins, so that its reward is an answer, and is as unseen as what was lost.
        said += [("steps", "step.began", {"step": step, "command": command}), lost]
    return [*said, ("journal", "episode.closed", {"reason": why})]
