"""One pure function from an episode's log to numbers, a row a step: the same in training and in
serving.

`extract` reads a whole log; `FeatureReader` does the same event by event, so that a service pays
for what is new. A row holds what was known at the step's seal, nothing later. Words of page and
agent are compared, never obeyed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

from api.stages.model.clicks import Clicks
from api.stages.model.compared import AGREES, CONTROLS, GoalComparison, is_box
from api.stages.model.schema import NAMES
from api.stages.model.screen import shown_element
from api.stages.model.step import Step, typed_text, types_keys
from api.stages.model.words import (
    DEEDS,
    ENDS,
    ERRORS,
    STOP,
    SUBMITS,
    SUCCESS,
    Goal,
    case_off,
    fulfils,
    numbers,
    plain,
    share,
)
from detectors.model.types import Event, Reward

Row = list[float]


def extract(instruction: str, events: Iterable[Event], rewards: Sequence[Reward] = ()) -> list[Row]:
    """The rows of all steps that were sealed, in order; each has ``len(NAMES)`` numbers, NaN where
    nobody can know."""
    reader = FeatureReader(instruction)
    reader.feed(events)
    return with_rewards(reader.rows, rewards)


def with_rewards(rows: Sequence[Row], rewards: Sequence[Reward]) -> list[Row]:
    """The rows with what the rules said of each step, where they scored it; a new list."""
    out, sofar, fined = [], 0.0, 0.0
    paid = {reward.step: reward for reward in rewards}
    for step, row in enumerate(rows):
        reward = paid.get(step)
        told = (math.nan, math.nan, math.nan)
        if reward is not None and reward.reward is not None:
            sofar += reward.reward
            fined += -min(
                0.0, sum(milestone.worth for milestone in reward.milestones if milestone.worth < 0)
            )
            told = (reward.reward, sofar, fined)
        out.append([*row[:-3], *told])
    return out


class FeatureReader:
    """Folds a log. ``rows``: of the steps that are over."""

    def __init__(self, instruction: str) -> None:
        self.rows: list[Row] = []
        self.seq = 0
        """The number of the last event that was read."""
        self._seen = GoalComparison(instruction)
        self._clicks = Clicks(self._seen)
        self._step: Step | None = None
        self._states: set[int] = set()
        self._acted: object = None
        self._sofar = dict.fromkeys(("submits", "early", "nothings", "errors", "repeats"), 0.0)
        self._at_first = 0.0
        self._named: set[str] = set()
        self._kinds: set[str] = set()
        self._deeds: set[str] = set()

    @property
    def goal(self) -> Goal:
        """What the instruction names."""
        return self._seen.goal

    def feed(self, events: Iterable[Event]) -> None:
        """Further events, in order."""
        screen = self._seen.screen
        for event in events:
            self.seq = event.seq
            if event.kind == "step.began":
                self._finish(last=False)
                typed = types_keys(event.data.get("action"))
                screen.typing = typed_text(event.data.get("action"))
                if not self.rows:
                    self._at_first = self._seen.now()
                self._step = Step(typed=typed, before=screen.size, in_view=self._seen.in_view())
            elif event.kind == "episode.closed":
                self._finish(last=True)
                self._end()
            elif event.kind == "step.sealed":
                self._finish(last=False)
            else:
                if self._step is not None:
                    self._step.hear(event, screen)
                screen.take(event)

    def ended(self) -> list[Row]:
        """The rows as they are if the episode ends here: the last one says so."""
        if not self.rows:
            return []
        return [*self.rows[:-1], _ended(self.rows[-1])]

    # -- a step is over

    def _finish(self, *, last: bool) -> None:
        if self._step is None:
            return
        step, self._step = self._step, None
        made: dict[str, float] = {"last": float(last), "index": math.log1p(len(self.rows))}
        self._effects(step, made)
        self._slots(step, made, ended=self._clicks.fold_step(step, made))
        self._counts(step, made)
        self._goal(step, made, last=last)
        made["told"] = float(self._seen.screen.told)
        made |= dict.fromkeys(("paid", "paid_so_far", "fined"), math.nan)
        self.rows.append([made[name] for name in NAMES])

    def _end(self) -> None:
        if self.rows:
            self.rows[-1] = _ended(self.rows[-1])

    def _effects(self, step: Step, made: dict[str, float]) -> None:
        goal = self.goal
        came = frozenset(word for text in step.came for word in plain(text).split())
        said = share(came, goal.words)
        wrong = len(came & ERRORS - goal.words)
        won = len(came & SUCCESS)
        alike = self._state()
        nothing = step.quiet
        acted = (
            tuple(shown_element(one["element"]) for one in step.clicks),
            tuple(after for _, after in step.changed),
        )
        repeated = any(acted) and acted == self._acted
        self._acted = acted if any(acted) else self._acted
        undone = sum(
            bool(before and (before.checked or before.text) and not (after.checked or after.text))
            for before, after in step.changed
        )
        made |= {
            "clicks": min(3, len(step.clicks)),
            "fills": min(3, len(step.changed)),
            "typed": float(step.typed),
            "nothing": float(nothing),
            "failed": float(min(5, step.errors + wrong)),
            "added": math.log1p(step.added),
            "removed": math.log1p(step.removed),
            "emptied": max(0.0, 1 - self._seen.screen.size / step.before) if step.before else 0.0,
            "goal_added": said,
            "success_words": float(min(3, won)),
            "success_bare": float(won > 0 and said == 0),
            "navigated": float(min(3, step.navigated)),
            "status": float(step.status),
            "dialog": float(step.dialog),
            "downloaded": float(step.downloaded),
            "tabs": float(step.tabs),
            "doubles": float(min(2, step.doubles)),
            "pasted": float(min(2, step.pasted)),
            "repeated": float(repeated),
            "revisited": float(not nothing and alike in self._states),
            "undone": float(undone),
        }
        self._states.add(alike)
        sofar = self._sofar
        sofar["nothings"] += nothing
        sofar["errors"] += made["failed"]
        sofar["repeats"] += repeated
        self._kinds |= {
            name
            for name in ("clicks", "fills", "typed", "navigated", "dialog", "downloaded")
            if made[name]
        }

    def _state(self) -> int:
        screen = self._seen.screen
        return hash((screen.url, screen.mark, frozenset(screen.fields.items())))

    # -- what fields hold, against the goal's slots

    def _slots(self, step: Step, made: dict[str, float], *, ended: bool) -> None:
        goal, fields = self.goal, self._seen.screen.fields.values()
        agreeing = [self._seen.agreement(one) for one in fields]
        held = {value for one in fields for value in one.values} | {
            one.name for one in fields if one.checked
        }
        for _, after in step.changed:
            self._clicks.found |= dict.fromkeys(
                slot for value in after.values for slot in self._seen.beside(value)
            )
        in_fields = [slot for slot in goal.slots if slot in held]
        for slot in in_fields:
            self._clicks.found.setdefault(slot)
        known = self._clicks.found
        recall = len(known) / len(goal.slots) if goal.slots else 1.0
        had = self.rows[-1][NAMES.index("recall")] if self.rows else 0.0
        texts = [
            value
            for value, one in zip(agreeing, fields, strict=True)
            if value is not None and not is_box(one) and not one.given
        ]
        wrong = sum(value < AGREES for value in texts)
        boxes_wrong, boxes_left, boxes_recall = self._seen.boxes()
        now = [value for _, one in step.changed if (value := self._seen.agreement(one)) is not None]
        (paired, crossed), (placed, off) = self._seen.paired(), self._seen.field_places()
        left = sum(one.role in ("textbox", "searchbox", "spinbutton") for one in self._seen.empty())
        made |= {
            "fill_goal": min(now, default=0.0),
            "paired": paired,
            "crossed": crossed,
            "fields_placed": placed,
            "fields_off": off,
            "fill_line": float(
                any(plain(one.text or "") in self._seen.screen.lines for _, one in step.changed)
            ),
            "fill_near": max(
                (self._seen.nearness(plain(one.text or "")) for _, one in step.changed), default=0.0
            ),
            "slots_gained": max(0.0, recall - had),
            "wrong_gained": float(sum(value < AGREES for value in now)),
            "slots": math.log1p(len(goal.slots)),
            "recall": recall,
            "recall_fields": len(in_fields) / len(goal.slots) if goal.slots else 0.0,
            "boxes_recall": boxes_recall,
            "precision": sum(texts) / len(texts) if texts else 1.0,
            "wrong_now": float(wrong + boxes_wrong),
            "boxes_wrong": float(boxes_wrong),
            "boxes_left": float(boxes_left),
            "fields_left": float(min(3, left)) if recall < 1 else 0.0,
            "order": _ordered(list(known), goal.slots),
        }
        self._sofar["submits"] += ended
        self._sofar["early"] += ended and (recall < 1 or boxes_left > 0)
        made["end_recall"] = recall if ended else -1.0
        made["end_precision"] = made["precision"] if ended else -1.0
        made["end_wrong"] = made["wrong_now"] if ended else 0.0
        made["end_left"] = (len(goal.slots) - len(known) + boxes_left) if ended else 0.0

    # -- all that the goal names, of whatever kind

    def _goal(self, step: Step, made: dict[str, float], *, last: bool) -> None:
        goal, fields = self.goal, self._seen.screen.fields.values()
        for one in self._seen.screen.fresh:
            if one.role in CONTROLS and one.name and self._seen.agrees(one.name) == 1.0:
                self._named |= {one.name} - ENDS - STOP
        self._seen.screen.fresh.clear()
        texts = {value for one in fields for value in one.values}
        checked = {one.name for one in fields if one.checked}
        entered = {one.name for one in fields if (one.values or one.secret) and not one.given}
        held = texts | checked | entered | self._clicks.names
        boxes = {one.name for one in fields if is_box(one) and not one.checked}
        wanted = self._named | set(goal.slots)
        done = {
            one
            for one in wanted
            if one not in boxes and any(fulfils(value, one, goal) for value in held)
        }
        if goal.numbers and any(value in goal.numbers for value in map(numbers, texts)):
            done |= {slot for slot in goal.slots if numbers(slot) in goal.numbers}
        done |= wanted.intersection(self._clicks.found) - boxes
        done |= {one for one in wanted if one == str(self._clicks.hits)}
        self._deeds |= {"drags"} if step.drops else set()
        self._deeds |= {"pasted"} if step.pasted else set()
        asked = [deed for deed, words in DEEDS.items() if goal.words & words]
        left = len(wanted) - len(done) + len(set(asked) - self._deeds)
        share_done = len(done) / len(wanted) if wanted else 1.0
        case = float(sum(case_off(one.text, goal) for one in fields if one.text))
        wrong = (
            made["wrong_now"]
            + self._clicks.wrong
            + made["fields_off"]
            + made["crossed"]
            + case
            + 1
            - made["order"]
        )
        unended = float(len(goal.ends - self._clicks.ends) > 0)
        made |= {
            "in_view": step.in_view,
            "shown_new": max(0.0, self._seen.now() - self._at_first),
            "asks_work": float(min(3, goal.worked)),
            "case_off": case,
            "asks_order": float(goal.orders),
            "named": math.log1p(len(wanted)),
            "done": share_done,
            "left": float(left),
            "wrong": wrong,
            "unended": unended,
            "purity": len(done) / (len(done) + wrong) if done or wrong else 1.0,
            "asks_deed": float(len(asked)),
            "final_done": share_done if last else 0.0,
            "final_left": float(left) if last else 0.0,
            "final_wrong": wrong if last else 0.0,
            "final_unended": unended if last else 0.0,
        }

    def _counts(self, step: Step, made: dict[str, float]) -> None:
        goal = self.goal
        made |= self._sofar | self._clicks.counts
        made |= {
            "goal_text": share(
                (word for word in goal.words if self._seen.screen.places.get(word)), goal.words
            ),
            "kinds": float(len(self._kinds)),
            "words_goal": math.log1p(len(goal.words)),
            "asks_end": float(any(f" {word} " in goal.text for word in SUBMITS)),
        }


def _ordered(found: Sequence[str], slots: Sequence[str]) -> float:
    places = [slots.index(slot) for slot in found]
    pairs = list(itertools.pairwise(places))
    return sum(a < b for a, b in pairs) / len(pairs) if pairs else 1.0


def _ended(row: Row) -> Row:
    """The row as it is where the episode ends with it."""
    ended = list(row)
    ended[0] = 1.0
    for name in ("done", "left", "wrong", "unended"):
        ended[NAMES.index("final_" + name)] = row[NAMES.index(name)]
    return ended
