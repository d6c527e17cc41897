"""What the engine remembers between two events, and its one stored form."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from detectors.model.errors import StateError
from detectors.model.rewards import milestone_from_json, milestone_to_json
from detectors.model.types import Event, Milestone
from detectors.sdk.registry import Moment, Standing
from detectors.sdk.world import PARTS, World

STATE_VERSION = 17
ALL = -1
"""Stands for all milestones, where any may be affected."""


@dataclass(slots=True)
class Award:
    """How a milestone stands: ``base`` level at the baseline, ``best`` level credited so far,
    ``paid`` in rewards that are known, ``keys`` already paid (repeat) or nobody's, ``nobodys``
    those that were so at the baseline, ``met`` the seq at which it was first full (0: not yet),
    with its time (ns) and the steps begun then; ``revoked`` how often it was taken back."""

    base: float = 0.0
    best: float = 0.0
    paid: float = 0.0
    keys: list[str] = field(default_factory=list)
    met: int = 0
    earned: bool = False
    revoked: int = 0
    met_at: int = 0
    met_step: int = 0
    nobodys: list[str] = field(default_factory=list)


@dataclass(slots=True)
class State:
    """The engine's memory. ``step`` is -1 before the first, ``steps`` how many began, ``began_at``
    and ``step_at`` the times (ns) of the first and the latest; ``gaps`` are open, ``blind`` those
    of this step; ``potential`` is Φ at the latest seal; ``spent`` units of
    `detectors.model.budget`; ``hidden`` is what a milestone's rule could not know last (id → [seq,
    why]), ``unclear`` the conditions whose level it left open, ``unclear_starts`` the milestones of
    which it is open what was credited to nobody (detectors/engine/level_bounds.py);
    ``misses_combinations`` whether some combination of what was unknown has no counterfactual state
    (detectors/engine/missing_combinations.py); ``supposed`` are the counterfactual states
    (detectors/engine/counterfactual.py), ``forked_live`` whether this is one that was made after
    the first step began; ``offered`` is the most that tiers could add to the steps that they were
    asked about; ``start`` is what stands of what the task expects, until the first step
    (detectors/engine/expected_start.py); ``refused`` are the milestones that the step that runs did
    not reach only because something may have gone unobserved; ``doubtful`` are those of which an
    unknown step may have hidden something, ``unseen_owners`` those of which a gap between two steps
    may have, and ``unkept`` those that were earned before that."""

    episode: str
    digest: str
    through: int = 0
    step: int = -1
    began: bool = False
    sealed: bool = True
    sealed_at: int = 0
    closed: bool = False
    success: bool | None = None
    steps: int = 0
    began_at: int = 0
    step_at: int = 0
    potential: float = 0.0
    offered: float = 0.0
    total: float = 0.0
    unseen: str = ""
    masked: int = 0
    penalties: float = 0.0
    spent: int = 0
    doubt: str = ""
    doubtful: list[int] = field(default_factory=list)
    unseen_owners: list[int] = field(default_factory=list)
    unkept: list[int] = field(default_factory=list)
    gaps: dict[str, list[Any]] = field(default_factory=dict)
    blind: dict[str, list[object]] = field(default_factory=dict)
    pending: list[Milestone] = field(default_factory=list)
    world: World = field(default_factory=World)
    standings: dict[int, Standing] = field(default_factory=dict)
    awards: dict[int, Award] = field(default_factory=dict)
    hidden: dict[str, list[Any]] = field(default_factory=dict)
    unclear: list[int] = field(default_factory=list)
    unclear_starts: list[int] = field(default_factory=list)
    misses_combinations: bool = False
    forked_live: bool = False
    supposed: list[State] = field(default_factory=list)
    start: dict[str, str] = field(default_factory=dict)
    refused: list[int] = field(default_factory=list)

    def award(self, milestone: int) -> Award:
        """How a milestone stands, by its index; made on first use."""
        award = self.awards.get(milestone)
        if award is None:
            award = self.awards[milestone] = Award()
        return award

    def refuse(self, owners: Iterable[int]) -> None:
        """Note that the step that runs may reach these milestones, which are not credited in it."""
        self.refused = sorted({*self.refused, *owners})

    def doubt_owners(self, owners: Collection[int]) -> None:
        """Note that an unknown step may have hidden something of these milestones."""
        self.doubtful = sorted({*self.doubtful, *owners})
        self._mark_unkept(owners)

    def note_unseen(self, owners: Collection[int]) -> None:
        """Note that a gap between two steps may have hidden something of these milestones."""
        self.unseen_owners = sorted({*self.unseen_owners, *owners})
        self._mark_unkept(owners)

    def _mark_unkept(self, owners: Collection[int]) -> None:
        """Note of which of these, earned by now, nobody knows whether they were taken back."""
        earned = {n for n, award in self.awards.items() if award.earned}
        may_be_lost = earned if ALL in owners else earned.intersection(owners)
        self.unkept = sorted(may_be_lost.union(self.unkept))

    def is_doubtful(self, owner: int) -> bool:
        """Whether an unknown step may have hidden something of a milestone."""
        return owner in self.doubtful or ALL in self.doubtful

    def may_be_unseen(self, owner: int) -> bool:
        """Whether a gap between two steps may have hidden something of a milestone."""
        return owner in self.unseen_owners or ALL in self.unseen_owners

    @property
    def current_step(self) -> int:
        """The step that milestones are credited to: between two steps, the next one."""
        return self.step + 1 if self.sealed else self.step

    def is_live(self, event: Event) -> bool:
        """Whether the event came after the first step began, and not as what a source found on
        attaching."""
        return self.began and event.data.get("baseline") is not True

    def dump(self) -> bytes:
        """Encode; insertion order is kept, since the world's tables forget their oldest entry
        first."""
        return orjson.dumps(self._flat())

    def _flat(self) -> dict[str, object]:
        flat = {name: getattr(self, name) for name in _PLAIN}
        flat["v"] = STATE_VERSION
        flat["pending"] = [milestone_to_json(m) for m in self.pending]
        flat["world"] = [getattr(self.world, part) for part in PARTS]
        flat["standings"] = [
            [n, s.now, s.best, s.at, s.cause, s.keys, s.reached, s.when and tuple(s.when), s.bound]
            for n, s in self.standings.items()
        ]
        flat["awards"] = [[n, *asdict(a).values()] for n, a in self.awards.items()]
        if self.start:
            flat["start"] = self.start
        flat["supposed"] = [other._flat() for other in self.supposed]
        return flat

    @classmethod
    def load(cls, data: bytes, digest: str) -> State:
        """Decode. Raises `StateError` if it belongs to another ruleset or version."""
        return cls._from_flat(orjson.loads(data), digest)

    @classmethod
    def _from_flat(cls, flat: dict[str, Any], digest: str) -> State:
        if flat.get("v") != STATE_VERSION:
            raise StateError(
                f"state: version is {flat.get('v')!r}, this build wants {STATE_VERSION}"
            )
        if flat["digest"] != digest:
            raise StateError(
                f"state: made under ruleset {flat['digest'][:12]}, wanted {digest[:12]}"
            )
        state = cls(**{name: flat[name] for name in _PLAIN})
        state.pending = [milestone_from_json(m) for m in flat["pending"]]
        state.world = World(*flat["world"])
        for n, now, best, at, cause, keys, reached, when, bound in flat["standings"]:
            moment = None if when is None else Moment(*when)
            state.standings[n] = Standing(now, best, tuple(at), cause, keys, reached, moment, bound)
        state.awards = {n: Award(*rest) for n, *rest in flat["awards"]}
        state.start = flat.get("start", {})
        state.supposed = [cls._from_flat(other, digest) for other in flat["supposed"]]
        return state


_PLAIN = (
    "episode digest through step began sealed sealed_at closed success total masked penalties doubt"
    " unseen gaps blind steps began_at step_at potential offered hidden unclear"
    " unclear_starts misses_combinations forked_live spent refused doubtful unseen_owners"
    " unkept"
).split()
