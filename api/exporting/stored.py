"""A stored episode as what is exported: as it was paid, or as a recording."""

from __future__ import annotations

from api.episodes.store import describe
from api.exporting.rows import Exported
from api.rescoring.corpus import StoredEpisode
from api.rewards.scored_episode import stored_result
from api.verdicts.recording_verdicts import frame_of
from detectors.model.codec import canonical, with_checksum


def of_store(one: StoredEpisode) -> Exported:
    """Its frames, its result and its facts."""
    result = canonical(stored_result(one.row, one.rewards, one.milestones))
    facts = {**describe(one.row), "traceparent": one.row.traceparent}
    return Exported(one.row.id, one.content, result=result, task=one.task, facts=facts)


def recording(one: StoredEpisode) -> bytes:
    """The recording: its frames, its log of verdicts where it has one, and the checksum of both."""
    return with_checksum(one.content + frame_of(one.verdicts))
