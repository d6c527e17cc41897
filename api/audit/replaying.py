"""Recomputes one episode from its stored segments and its task alone, and compares all that was
made of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from api.audit.counting import Counting
from api.audit.difference import Difference, RowComparison, differs, field_differences, fields_of
from api.audit.facts import Facts
from api.audit.judging import StoredJudgement
from api.audit.store import Audits
from api.core.errors import ProblemError
from api.core.frames import read_segments
from api.core.settings import Limits
from api.episodes.rows import EpisodeRow
from api.ingest.advance import marks
from api.log.rows import SegmentRow
from api.rewards.ledger_rows import milestone_rows, reward_rows
from detectors.engine.engine import Engine
from detectors.model.codec import GENESIS
from detectors.model.errors import DetectorError
from detectors.model.rewards import RewardJson
from detectors.model.types import Segment
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_from_json


class _Comparisons(NamedTuple):
    """What is stored of milestones and rewards, beside what is recomputed."""

    milestones: RowComparison
    rewards: RowComparison

    async def remaining(self) -> AsyncIterator[Difference]:
        """Stored rows that the log does not give."""
        for comparison in self:
            async for difference in comparison.remaining():
                yield difference


class Replaying:
    """One episode's row, recomputed."""

    def __init__(self, audits: Audits, limits: Limits, row: EpisodeRow) -> None:
        self._audits, self._limits, self._row = audits, limits, row
        self._id = str(row.id)
        self._engine: Engine | None = None
        self._through, self._head = 0, GENESIS
        self._milestones = 0
        self._reached_state = False
        self._steps: dict[int, dict[str, object]] = {}
        self._judged = StoredJudgement(self._id, ())
        self.digests: list[str] = []
        """Of the segments as they are stored."""
        self.events = self.rewards = 0
        self._counting = Counting(self._id)
        self.whole = False
        """Whether every link of the chain held."""

    def facts(self, rewards: Sequence[RewardJson]) -> Facts | None:
        """What is counted of the segments that were read and of these rewards; None where that
        can't be."""
        return self._counting.finish(rewards)

    async def differences(self) -> AsyncIterator[Difference]:
        """Chain, milestones, rewards, steps, stored state, the episode's row; the first broken link
        ends the walk."""
        rules, problems = await self._rules()
        if rules is not None:
            self._engine = Engine(rules, self._id)
        self._judged = StoredJudgement(self._id, await self._audits.verdicts(self._id))
        for problem in (*problems, *self._judged.problems):
            yield problem
        state = await self._audits.state(self._id)
        comparisons = _Comparisons(
            milestones=self._compared("milestone", "number", self._audits.milestones),
            rewards=self._compared("reward of step", "step", self._audits.rewards),
        )
        async for stored in self._audits.segments(self._id):
            linked = await self._link(stored)
            if isinstance(linked, Difference):
                yield linked
                return
            async for difference in self._compare_segments(stored, linked, comparisons, state):
                yield difference
        if self._engine is not None:
            async for difference in comparisons.remaining():
                yield difference
            async for difference in self._compare_end(self._engine):
                yield difference
        for difference in self._compare_row(state):
            yield difference
        self.whole = True

    async def _compare_segments(
        self,
        stored: SegmentRow,
        linked: Sequence[Segment],
        comparisons: _Comparisons,
        state: Any,
    ) -> AsyncIterator[Difference]:
        """Compare a row with the segments in its frame, and what they earned with what is
        stored."""
        begin, end = linked[0], linked[-1]
        links = {"first": begin.first, "last": end.last, "prev": begin.prev}
        what = f"segment {stored.first}"
        for difference in field_differences(self._id, what, fields_of(stored, links), links):
            yield difference
        await asyncio.to_thread(self._counting.read, stored.frame)
        for segment in linked:
            self._reached_state |= state is not None and state.through == segment.last
            if self._engine is not None:
                async for difference in self._feed(self._engine, segment, comparisons, state):
                    yield difference

    def _compared(self, what: str, key: str, read: Any) -> RowComparison:
        async def page(after: int, count: int) -> Any:
            return await read(self._id, after, count)

        return RowComparison(self._id, what, key, page)

    async def _rules(self) -> tuple[Ruleset | None, list[Difference]]:
        """The compiled task, where it is the one under which the episode was opened."""
        task = await self._audits.task(self._row.task_number)
        if task is None:
            return None, [
                Difference(
                    self._id, "task", "none", f"{self._row.task} version {self._row.version}"
                )
            ]
        try:
            rules = compile_task(task_from_json(orjson.loads(task.body), stored=True))
        except (DetectorError, ValueError) as error:
            return None, [Difference(self._id, "task.body", f"{error!s:.200}", "a task")]
        found = [
            *differs(self._id, "task.id", task.id, self._row.task),
            *differs(self._id, "task.version", task.version, self._row.version),
            *differs(self._id, "task.tenant", task.tenant, self._row.tenant),
        ]
        if rules.digest != self._row.digest:
            wanted = (
                f"{self._row.digest}, under which the episode was opened: the task was edited, or"
                " by another build"
            )
            found.append(Difference(self._id, "ruleset", rules.digest, wanted))
            return None, found
        return rules, found

    async def _link(self, stored: SegmentRow) -> list[Segment] | Difference:
        """The segments in a stored row; or why one does not continue the chain, or is not what its
        row says."""
        what = f"segment {stored.first}"
        try:
            found = await asyncio.to_thread(read_segments, stored.frame, self._limits)
        except ProblemError as error:
            return Difference(self._id, what, error.detail[:200], "a segment")
        if not found:
            return Difference(self._id, what, "nothing", "a segment")
        if found[-1].digest != stored.digest:
            return Difference(self._id, f"{what}.digest", found[-1].digest, stored.digest)
        for n, segment in enumerate(found):
            broken = self._follow(segment, segment.first if n else stored.first)
            if broken is not None:
                return broken
        return found

    def _follow(self, segment: Segment, place: int) -> Difference | None:
        """Go on to the next segment of the chain, which is stored in the ``place`` of that event,
        or say why it is not the next."""
        what = f"segment {place}"
        for name, found, wanted in (
            ("episode", segment.episode, self._id),
            ("first", segment.first, self._through + 1),
            ("prev", segment.prev, self._head),
        ):
            if found != wanted:
                return Difference(self._id, f"{what}.{name}", str(found), str(wanted))
        self.digests.append(segment.digest)
        self._through, self._head = segment.last, segment.digest
        self.events += segment.count
        return None

    async def _feed(
        self,
        engine: Engine,
        segment: Segment,
        comparisons: _Comparisons,
        state: Any,
    ) -> AsyncIterator[Difference]:
        """Score a segment anew, and yield where stored milestones and rewards differ."""
        before = -1 if engine.step is None else engine.step
        outcome = await asyncio.to_thread(engine.feed, segment.events)
        milestones = milestone_rows(
            self._id, self._milestones, segment.first, segment.last, outcome.milestones
        )
        self._milestones += len(milestones)
        rewards = reward_rows(
            self._judged.recorded.resolve(engine.ruleset, outcome.rewards, outcome.asks)
        )
        self.rewards += len(rewards)
        async for difference in comparisons.milestones.against(milestones):
            yield difference
        async for difference in comparisons.rewards.against(rewards):
            yield difference
        self._mark(segment, before)
        if state is not None and state.through == segment.last:
            is_same = orjson.loads(bytes(state.body)) == orjson.loads(engine.dump())
            what = f"engine state at event {state.through}"
            for difference in differs(self._id, what, is_same, True):
                yield difference

    def _mark(self, segment: Segment, before: int) -> None:
        """Note where each step began and ended, by the first event that says so."""
        began, ended, _ = marks(segment.events, before)
        for step, seq in began.items():
            self._steps[step] = {"step": step, "began": seq, "ended": None}
        for step, seq in ended.items():
            if step in self._steps and self._steps[step]["ended"] is None:
                self._steps[step]["ended"] = seq

    async def _compare_end(self, engine: Engine) -> AsyncIterator[Difference]:
        """Compare what only the whole log can say: decisions, the ruleset, the steps."""
        for difference in self._judged.unasked_decisions():
            yield difference
        if engine.recorded_under:
            recorded, opened = engine.recorded_under, self._row.digest
            for difference in differs(self._id, "ruleset in event 1", recorded, opened):
                yield difference
        steps = self._compared("step", "step", self._audits.steps)
        async for difference in steps.against(list(self._steps.values())):
            yield difference
        async for difference in steps.remaining():
            yield difference

    def _compare_row(self, state: Any) -> Iterator[Difference]:
        """Compare the episode's row, and the event of its stored engine ``state``."""
        expected_row = self._expected_row()
        found = fields_of(self._row, expected_row)
        yield from field_differences(self._id, "episode", found, expected_row)
        if state is not None and not self._reached_state:
            expected = f"at the last event of a segment, at most {self._through}"
            yield Difference(self._id, "engine state", f"at event {state.through}", expected)

    def _expected_row(self) -> dict[str, object]:
        """The columns of the episode's row, as far as the log and its task determine them."""
        expected: dict[str, object] = {"through": self._through, "head": self._head}
        engine, recorded = self._engine, self._judged.recorded
        if engine is None:
            return expected
        expected |= {"step": engine.step, "success": engine.success, "total": engine.total}
        if engine.ruleset.task.escalation is not None:
            expected["total"] = recorded.total()
            expected["success"] = recorded.success() if engine.closed else None
        expected["milestones"] = self._milestones
        expected["status"] = "closed" if engine.closed else "open"
        # An episode that is asked to close is `closing` until its log says so.
        if not engine.closed and self._row.status == "closing":
            expected["status"] = "closing"
        return expected
