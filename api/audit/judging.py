"""An episode's log of verdicts, checked: its chain, and the final rewards that follow from what was
said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from api.audit.difference import Difference, differs
from api.audit.rows import StoredVerdictRow
from api.verdicts.recorded import Recorded
from detectors.model.codec import GENESIS, sha256


def chain_head(rows: Sequence[StoredVerdictRow], count: int | None = None) -> tuple[int, str]:
    """How many events the first ``count`` (None: all) of a stored log of verdicts are, and the
    digest of the last."""
    part = rows[:count]
    return len(part), part[-1].digest if part else GENESIS


class StoredJudgement:
    """The stored log of verdicts of one episode; ``problems`` are broken links, ``recorded`` what
    it says."""

    def __init__(self, episode: str, rows: Sequence[StoredVerdictRow]) -> None:
        self._episode = episode
        self.problems: list[Difference] = []
        events: list[dict[str, Any]] = []
        prev = GENESIS
        for number, row in enumerate(rows, 1):
            self.problems += self._link(number, row, prev, events)
            if self.problems:
                break
            prev = row.digest
        self.recorded = Recorded(events)

    def _link(
        self, number: int, row: StoredVerdictRow, prev: str, events: list[dict[str, Any]]
    ) -> Iterable[Difference]:
        """Yield what is wrong with a stored verdict: its number, its digest, its place in the
        chain."""
        what, body = f"verdict {row.seq}", bytes(row.body)
        yield from differs(self._episode, f"{what}.seq", row.seq, number)
        yield from differs(self._episode, f"{what}.digest", row.digest, sha256(body))
        yield from differs(self._episode, f"{what}.prev", row.prev, prev)
        event = orjson.loads(body)
        for name in ("episode", "seq", "step", "kind", "prev"):
            yield from differs(self._episode, f"{what}.{name}", getattr(row, name), event.get(name))
        events.append(event)

    def unasked_decisions(self) -> Iterable[Difference]:
        """Differences of recorded decisions about steps that nobody asked about."""
        for step in self.recorded.decided:
            yield Difference(self._episode, f"decision of step {step}", "one", "none, by the log")
