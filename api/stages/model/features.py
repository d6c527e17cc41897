"""One pure function from an episode's log to numbers, a row a step: the same in training and in
serving.

`extract` reads a whole log; `FeatureReader` does the same event by event, so that a service pays
for what is new. A row holds what was known at the step's seal, nothing later. Words of page and
agent are compared, never obeyed. `api.stages.model.schema` says what each number means.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from api.stages.model.clicks import Clicks
from api.stages.model.desk_features import DeskFeatures
from api.stages.model.effects import Effects
from api.stages.model.goal_comparison import GoalComparison
from api.stages.model.page_trees import TreeChanges
from api.stages.model.progress import Progress
from api.stages.model.schema import NAMES
from api.stages.model.slots import Slots
from api.stages.model.step import Step, typed_text, types_keys
from api.stages.model.words import Goal
from api.stages.model.writes import Writes
from detectors.model.types import Event, Reward

Row = list[float]
OF_REWARDS = ("paid", "paid_so_far", "fined")
"""The last features of a row: what the rules said of the step."""
_PLACES = {name: place for place, name in enumerate(NAMES)}


def extract(instruction: str, events: Iterable[Event], rewards: Sequence[Reward] = ()) -> list[Row]:
    """Return the rows of all steps that were sealed, in order; each has ``len(NAMES)`` numbers, NaN
    where nobody can know."""
    reader = FeatureReader(instruction)
    reader.feed(events)
    return with_rewards(reader.rows, rewards)


def with_rewards(rows: Sequence[Row], rewards: Sequence[Reward], first_step: int = 0) -> list[Row]:
    """Return copies of the rows, of steps from ``first_step`` on, with what the rules said of each
    step, where they scored it; ``rewards`` are of the whole episode."""
    by_step = {reward.step: reward for reward in rewards if reward.reward is not None}
    completed = []
    paid_so_far = fined = 0.0
    for step in range(first_step + len(rows)):
        reward = by_step.get(step)
        scored = [math.nan, math.nan, math.nan]
        if reward is not None and reward.reward is not None:
            paid_so_far += reward.reward
            fined += -min(0.0, _sum_of_fines(reward))
            scored = [reward.reward, paid_so_far, fined]
        if step >= first_step:
            completed.append(rows[step - first_step][: -len(OF_REWARDS)] + scored)
    return completed


def _sum_of_fines(reward: Reward) -> float:
    return sum(milestone.worth for milestone in reward.milestones if milestone.worth < 0)


class FeatureReader:
    """Folds a log. ``rows``: of the steps that are over."""

    def __init__(self, instruction: str) -> None:
        self.rows: list[Row] = []
        self.seq = 0
        """The number of the last event that was read."""
        self._finishers: list[Event] = []
        """Of each row the event that finished its step."""
        self._closer: Event | None = None
        self._unclosed: Row = []
        """The last row as it was before the episode was closed."""
        self._trees = TreeChanges()
        self._comparison = GoalComparison(instruction)
        self._effects = Effects(self._comparison)
        self._clicks = Clicks(self._comparison)
        self._slots = Slots(self._comparison, self._clicks)
        self._progress = Progress(self._comparison, self._clicks)
        self._writes = Writes(self._comparison)
        self._desk = DeskFeatures(instruction)
        self._step: Step | None = None

    @property
    def goal(self) -> Goal:
        """The words, values and names that the instruction names."""
        return self._comparison.goal

    def feed(self, events: Iterable[Event]) -> None:
        """Read the next events of the episode, in their order."""
        for event in events:
            self.seq = event.seq
            if event.kind == "step.began":
                self._finish(event)
                self._begin(event)
            elif event.kind == "step.sealed":
                self._finish(event)
            elif event.kind == "episode.closed":
                self._finish(event, last=True)
                self._close(event)
            else:
                for told in self._trees.translate(event, in_step=self._step is not None):
                    self._fold(told)

    def _close(self, event: Event) -> None:
        """The last row says that it is the last, and what stands at the close."""
        self._closer = event
        if not self.rows:
            return
        self._unclosed = list(self.rows[-1])
        for name, value in self._desk.standing().items():
            self.rows[-1][_PLACES[name]] = value
        self.rows = rows_if_ended(self.rows)

    def rows_after(self, events: Sequence[Event]) -> list[Row] | None:
        """Return the rows as they were after these first events of the log, of which more was read
        since; None where they end with no event that finished a step or the episode."""
        last = events[-1] if events else None
        if last is not None and last == self._closer:
            return self.rows
        for number in range(len(self._finishers), 0, -1):
            if self._finishers[number - 1] == last:
                is_last = number == len(self.rows)
                is_changed = is_last and self._closer is not None
                row = self._unclosed if is_changed else self.rows[number - 1]
                return [*self.rows[: number - 1], row]
        return None

    def _begin(self, event: Event) -> None:
        if not self.rows:
            self._progress.begin()
        screen, action = self._comparison.screen, event.data.get("action")
        self._writes.begin(typed_text(action))
        self._desk.begin()
        screen.typing = typed_text(action)
        self._step = Step(
            typed=types_keys(action),
            before=screen.size,
            in_view=self._comparison.share_in_view(),
        )

    def _fold(self, event: Event) -> None:
        screen = self._comparison.screen
        if self._step is not None:
            self._step.fold(event, screen)
        screen.fold(event)
        self._writes.fold(event)
        self._desk.fold(event, in_step=self._step is not None)

    def _finish(self, event: Event, *, last: bool = False) -> None:
        """Add the row of the step that is over with this event, if there is one."""
        step = self._step
        if step is None:
            return
        self._step = None
        self._finishers.append(event)
        features = {"last": float(last), "index": math.log1p(len(self.rows))}
        features |= self._effects.fold_step(step)
        features |= self._clicks.fold_step(step)
        features |= self._slots.fold_step(step, ended=features["click_submit"] > 0)
        features |= self._progress.fold_step(step, features, last=last)
        features |= self._effects.counts | self._clicks.counts | self._slots.counts
        features |= self._writes.finish() | self._desk.finish()
        features["kinds"] = float(self._effects.kinds)
        features["text_reported"] = float(self._comparison.screen.is_reported)
        features |= dict.fromkeys(OF_REWARDS, math.nan)
        self.rows.append([features[name] for name in NAMES])


def rows_if_ended(rows: Sequence[Row]) -> list[Row]:
    """Return the rows as they are if the episode ends with them: the last one says so."""
    return [*rows[:-1], _ended(rows[-1])] if rows else []


def _ended(row: Row) -> Row:
    """Return the row as it is where the episode ends with it."""
    ended = list(row)
    ended[_PLACES["last"]] = 1.0
    for name in ("done", "left", "wrong", "unended"):
        ended[_PLACES["final_" + name]] = row[_PLACES[name]]
    return ended
