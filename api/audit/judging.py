"""An episode's log of verdicts, checked: its chain, and the final rewards that follow from what was said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from api.audit.difference import Difference, differs
from api.ledger import DECIDED
from api.store.verdicts import words_of
from detectors.codec import GENESIS, sha256
from detectors.deciding import decide, escalating, waits
from detectors.ruleset import Ruleset
from detectors.types import Ask, Reward


def chain_head(rows: Sequence[Any], count: int | None = None) -> tuple[int, str]:
    """How many events the first ``count`` (None: all) of a stored log of verdicts are, and the digest of the last."""
    part = rows[:count]
    return len(part), part[-1].digest if part else GENESIS


class Judged:
    """The stored log of verdicts of one episode; ``problems`` are broken links."""

    def __init__(self, episode: str, rows: Sequence[Any]) -> None:
        self._episode = episode
        self.problems: list[Difference] = []
        self._events: list[dict[str, Any]] = []
        prev = GENESIS
        for number, row in enumerate(rows, 1):
            found = list(self._link(number, row, prev))
            self.problems += found
            if found:
                break
            prev = row.digest
        self._decided = {event["step"]: event["seq"] for event in self._events if event["kind"] == DECIDED}
        self._final: list[Reward] = []

    def _link(self, number: int, row: Any, prev: str) -> Iterable[Difference]:
        what, body = f"verdict {row.seq}", bytes(row.body)
        yield from differs(self._episode, f"{what}.seq", row.seq, number)
        yield from differs(self._episode, f"{what}.digest", row.digest, sha256(body))
        yield from differs(self._episode, f"{what}.prev", row.prev, prev)
        event = orjson.loads(body)
        for name in ("episode", "seq", "step", "kind", "prev"):
            yield from differs(self._episode, f"{what}.{name}", getattr(row, name), event.get(name))
        self._events.append(event)

    def told(self, rules: Ruleset, rewards: Sequence[Reward], asks: Sequence[Ask]) -> list[Reward]:
        """What must be stored of newly sealed steps: decided by what was said, or waiting for it."""
        found = [self._told(rules, reward, [ask for ask in asks if ask.step == reward.step]) for reward in rewards]
        self._final += found
        return found

    def _told(self, rules: Ruleset, reward: Reward, asked: Sequence[Ask]) -> Reward:
        if not waits(asked):
            return reward
        until = self._decided.pop(reward.step, None)
        if until is None:
            return escalating(rules, reward, asked)
        said = [one for one in self._events if one["step"] == reward.step and one["seq"] < until]
        return decide(rules, reward, asked, words_of(said))

    def values(self) -> list[float | None]:
        """The values of all steps."""
        return [reward.reward for reward in self._final]

    def success(self) -> bool | None:
        """What the last step says of the goal."""
        return self._final[-1].success if self._final else None

    def rest(self) -> Iterable[Difference]:
        """Decisions about what nobody asked."""
        for step in self._decided:
            yield Difference(self._episode, f"decision of step {step}", "one", "none, by the log")
