"""A stored episode as what is exported: as it was paid."""

from __future__ import annotations

from api.exporting.rows import Exported
from api.rescoring.scored import stored_result
from api.store.corpus import Stored
from api.store.episodes import describe
from detectors.codec import canonical


def of_store(one: Stored) -> Exported:
    """Its frames, its result and its facts."""
    result = canonical(stored_result(one.row, one.rewards, one.milestones))
    return Exported(one.row.id, one.content, result=result, facts=describe(one.row))
