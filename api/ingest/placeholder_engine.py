"""Stands in for the engine of an episode that this build can't read, to the end of its log and no
further.

After an upgrade, or where a plug-in is gone, this build has not the rules under which an episode
was opened, so it can compute nothing of it. What it can do without them is to say so: each step
that is not sealed is `unobserved` under the digest of the episode's own rules, as a log whose
journal was lost makes them under any rules. The engine would also have said that the goal was
reached before, and which other sources were blind; the stand-in leaves both unsaid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from detectors.engine.engine import EngineResult
from detectors.model.types import Event, Milestone, Reward, Verdict


class Stranger:
    """An episode at event ``through``; ``step`` began last (-1: none yet) and is ``sealed``, or has
    ``pending``."""

    ruleset = None
    success = None
    total = None

    def __init__(
        self,
        episode: str,
        digest: str,
        components: Iterable[str],
        at: tuple[int, int],
        sealed: bool,
        pending: Sequence[Milestone],
    ) -> None:
        self._episode, self._digest, self._components = episode, digest, tuple(components)
        self.through, self._step = at
        self._sealed, self._pending = sealed, tuple(pending)
        self._blind = ""
        self.closed = False
        self._out = EngineResult()

    @property
    def step(self) -> int | None:
        """The step that began last, or None before the first."""
        return self._step if self._step >= 0 else None

    def dump(self) -> bytes:
        """Nothing: there is no state that an engine could go on from."""
        return b""

    def feed(self, events: Iterable[Event]) -> EngineResult:
        """Take in the last words that the service writes (api/fleet/ending.py)."""
        self._out = EngineResult()
        for event in events:
            self.through = event.seq
            if event.kind == "events.dropped":
                self._blind = f"journal saw nothing from event {event.seq}: {event.data['reason']}"
            elif event.kind == "step.began":
                self._seal(event.seq)
                self._step, self._sealed = event.data["step"], False
            elif event.kind == "episode.closed":
                if self._sealed:
                    self._step, self._sealed = self._step + 1, False
                self.closed = True
                self._seal(event.seq)
        return self._out

    def _seal(self, seq: int) -> None:
        if self._sealed:
            return
        self._out.rewards.append(
            Reward(
                episode=self._episode,
                step=self._step,
                status="unobserved",
                reward=None,
                mask=True,
                reason=self._blind,
                components=dict.fromkeys(self._components),
                milestones=self._pending,
                verdicts=(Verdict("rule", None, 0.0, self._blind, self._digest),),
                decided_by=None,
                done=self.closed,
                success=None,
                through=seq,
                digest=self._digest,
            )
        )
        self._sealed, self._pending = True, ()
