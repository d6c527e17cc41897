"""One pure function from an episode's log to numbers, a row a step: the same in training and in serving.

`extract` reads a whole log; `Reader` does the same event by event, so that a service pays for what is new. A row holds
what was known at the step's seal, nothing later. Words of page and agent are compared, never obeyed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from api.stages.model.schema import NAMES
from api.stages.model.screen import BOXES, MOST, Filled, Screen, Shown, shown
from api.stages.model.words import (
    ENDS,
    ERRORS,
    REFUSALS,
    STOP,
    SUBMITS,
    SUCCESS,
    Goal,
    case_off,
    fulfils,
    in_goal,
    numbers,
    plain,
    read_goal,
    share,
    value_agrees,
)
from detectors.types import Event, Reward

Row = list[float]
CONTROLS = BOXES | frozenset(
    "button link tab menuitem textbox searchbox combobox listbox slider spinbutton treeitem gridcell".split()
)
NEAR = 12
"""Words of text within which a value counts as standing near a word of the goal."""
AGREES = 0.85
"""From here on a name or a value agrees with the goal."""


def extract(instruction: str, events: Iterable[Event], rewards: Sequence[Reward] = ()) -> list[Row]:
    """The rows of all steps that were sealed, in order; each has ``len(NAMES)`` numbers, NaN where nobody can know."""
    reader = Reader(instruction)
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
            fined += -min(0.0, sum(milestone.worth for milestone in reward.milestones if milestone.worth < 0))
            told = (reward.reward, sofar, fined)
        out.append([*row[:-3], *told])
    return out


@dataclass(slots=True)
class Step:
    """What one step did, before it is a row."""

    typed: bool = False
    clicks: list[Mapping[str, Any]] = field(default_factory=list)
    changed: list[tuple[Filled | None, Filled]] = field(default_factory=list)
    came: list[str] = field(default_factory=list)
    added: int = 0
    removed: int = 0
    before: int = 0
    errors: int = 0
    status: int = 0
    dialog: int = 0
    downloaded: int = 0
    navigated: int = 0
    tabs: int = 0
    in_view: float = 0.0


class Reader:
    """Folds a log. ``rows``: of the steps that are over."""

    def __init__(self, instruction: str) -> None:
        self.goal: Goal = read_goal(instruction)
        self.rows: list[Row] = []
        self.seq = 0
        """The number of the last event that was read."""
        self._screen = Screen()
        self._step: Step | None = None
        self._found: list[str] = []
        self._states: set[int] = set()
        self._acted: object = None
        self._sofar = dict.fromkeys(
            ("strays", "others", "matched", "submits", "early", "nothings", "errors", "repeats", "unlike"), 0.0
        )
        self._best: dict[str, float] = {}
        self._last = (0.0, 0.0)
        self._named: set[str] = set()
        self._compared: dict[str, float] = {}
        self._clicked_names: set[str] = set()
        self._wrong_clicks = 0
        self._ends: set[str] = set()
        self._kinds: set[str] = set()

    def feed(self, events: Iterable[Event]) -> None:
        """Further events, in order."""
        for event in events:
            self.seq = event.seq
            if event.kind == "step.began":
                self._finish(last=False)
                self._step = Step(before=self._screen.size)
                self._step.typed = _types(event.data.get("action"))
                self._step.in_view = self._in_view()
            elif event.kind == "episode.closed":
                self._finish(last=True)
                self._end()
            elif event.kind == "step.sealed":
                self._finish(last=False)
            else:
                self._hear(event)
                self._screen.take(event)

    def ended(self) -> list[Row]:
        """The rows as they are if the episode ends here: the last one says so."""
        if not self.rows:
            return []
        return [*self.rows[:-1], _ended(self.rows[-1])]

    # -- events

    def _agrees(self, name: str) -> float:
        """How well a name agrees with the goal; each is compared once."""
        found = self._compared.get(name)
        if found is None:
            found = in_goal(name, self.goal)
            if len(self._compared) < MOST:
                self._compared[name] = found
        return found

    def _hear(self, event: Event) -> None:
        step = self._step
        hear = _HEARS.get(event.kind)
        if step is not None and hear is not None and not event.data.get("baseline"):
            hear(self, step, event.data)

    def _clicked(self, step: Step, data: Mapping[str, Any]) -> None:
        if data.get("trusted"):
            step.clicks.append(data["element"])

    def _filled(self, step: Step, data: Mapping[str, Any]) -> None:
        key = (str(data.get("frame")), str(data["field"]))
        before = self._screen.fields.get(key)
        self._screen.fill(data)
        after = self._screen.fields.get(key)
        if after is not None and after != before:
            step.changed.append((before, after))

    def _element(self, step: Step, data: Mapping[str, Any]) -> None:
        step.added += 1
        step.came.append(shown(data["element"]).name)

    def _text(self, step: Step, data: Mapping[str, Any]) -> None:
        step.added += 1
        step.came.append(str(data["text"]))

    def _gone(self, step: Step, data: Mapping[str, Any]) -> None:
        step.removed += 1

    def _went(self, step: Step, data: Mapping[str, Any]) -> None:
        step.navigated += bool(data.get("main"))

    def _answered(self, step: Step, data: Mapping[str, Any]) -> None:
        if data.get("type") in ("Document", "XHR", "Fetch"):
            status = int(data.get("status") or 0)
            step.status = max(step.status, status // 100)
            step.errors += status >= 400

    def _broke(self, step: Step, data: Mapping[str, Any]) -> None:
        step.errors += not data.get("canceled")

    def _dialog(self, step: Step, data: Mapping[str, Any]) -> None:
        step.dialog += 1
        step.came.append(str(data.get("message") or ""))

    def _download(self, step: Step, data: Mapping[str, Any]) -> None:
        step.downloaded += 1

    def _tab(self, step: Step, data: Mapping[str, Any]) -> None:
        step.tabs += 1

    # -- a step is over

    def _finish(self, *, last: bool) -> None:
        if self._step is None:
            return
        step, self._step = self._step, None
        made: dict[str, float] = {"last": float(last), "index": math.log1p(len(self.rows))}
        self._effects(step, made)
        self._targets(step, made)
        self._slots(step, made)
        self._counts(step, made)
        self._goal(step, made, last=last)
        made["told"] = float(self._screen.told)
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
        nothing = not (step.added or step.removed or step.changed or step.navigated or step.tabs or step.dialog)
        acted = tuple(shown(one) for one in step.clicks), tuple(after for _, after in step.changed)
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
            "emptied": max(0.0, 1 - self._screen.size / step.before) if step.before else 0.0,
            "goal_added": said,
            "success_words": float(min(3, won)),
            "success_bare": float(won > 0 and said == 0),
            "navigated": float(min(3, step.navigated)),
            "status": float(step.status),
            "dialog": float(step.dialog),
            "downloaded": float(step.downloaded),
            "tabs": float(step.tabs),
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
            name for name in ("clicks", "fills", "typed", "navigated", "dialog", "downloaded") if made[name]
        }

    def _state(self) -> int:
        screen = self._screen
        return hash((screen.url, screen.mark, frozenset(screen.fields.items())))

    # -- what was clicked

    def _targets(self, step: Step, made: dict[str, float]) -> None:
        named = "goal exact regret submit refusal field bare stray near kind".split()
        worst = dict.fromkeys((f"click_{name}" for name in named), 0.0)
        ended = False
        for element in step.clicks:
            one = self._target(element)
            if one["click_submit"]:
                ended = True
            for name, value in one.items():
                worst[name] = max(worst[name], value)
        made |= worst
        made["_ended"] = float(ended)
        made["last_goal"], made["last_regret"] = self._last

    def _target(self, element: Mapping[str, Any]) -> dict[str, float]:
        goal, target = self.goal, shown(element)
        name = "" if target.role in BOXES and not element.get("name") else target.name
        agrees = self._agrees(name)
        control = target.role in CONTROLS or target.tag in ("button", "input", "select", "textarea", "option", "a")
        parts = name.split()
        ends = (target.role == "button" and any(part in SUBMITS for part in parts)) or element.get("type") == "submit"
        slot = agrees == 1.0 and (name in goal.slots or len(parts) >= 3)
        field_like = target.role in BOXES or target.role in ("textbox", "searchbox", "combobox", "listbox")
        regret = 0.0 if ends or field_like else self._regret(target, agrees)
        stray = not control and agrees < AGREES
        refusal = any(part in REFUSALS for part in parts) and agrees < AGREES
        kind = any(
            f" {word} " in goal.text for word in (target.role, target.tag, str(element.get("type") or "")) if word
        )
        self._ends |= {part for part in parts if part in ENDS} | ({"submit"} if ends else set())
        self._note(target, name, agrees, regret, stray=stray, ends=bool(ends), field_like=field_like)
        return {
            "click_goal": agrees,
            "click_exact": float(slot),
            "click_regret": regret,
            "click_submit": float(ends),
            "click_refusal": float(refusal),
            "click_field": float(field_like),
            "click_bare": float(not control),
            "click_stray": float(stray),
            "click_near": self._near(name),
            "click_kind": float(kind),
        }

    def _regret(self, target: Shown, agrees: float) -> float:
        """How much better another visible element with the same role and tag agrees."""
        best = 0.0
        for one in self._screen.elements:
            if one.role == target.role and one.name != target.name:
                best = max(best, self._agrees(one.name))
        return max(0.0, best - agrees)

    def _note(
        self, target: Shown, name: str, agrees: float, regret: float, *, stray: bool, ends: bool, field_like: bool
    ) -> None:
        sofar = self._sofar
        sofar["strays"] += stray
        sofar["matched"] += agrees >= AGREES
        sofar["others"] += not (stray or ends or field_like) and agrees < AGREES
        if agrees >= AGREES:
            self._clicked_names.add(name)
        elif regret > 0 or stray:
            self._wrong_clicks += 1
        sofar["unlike"] += agrees < self._best.get(target.role, 0.0)
        self._best[target.role] = max(agrees, self._best.get(target.role, 0.0))
        if not ends:
            self._last = (agrees, regret)
        for slot in self.goal.slots:
            if slot == name or (len(slot) > 3 and f" {slot} " in f" {name} "):
                self._found.append(slot)

    def _near(self, text: str) -> float:
        """1 beside a rare word of the goal in one line of the page, falling to 0 at `NEAR` words away."""
        if not text:
            return 0.0
        best, first = 0.0, text.split(maxsplit=1)[0]
        for line in self._screen.places.get(first, ()):
            parts = line.split()
            if len(parts) > 200 or f" {line} " in self.goal.text:
                continue
            marks = [at for at, word in enumerate(parts) if word in self.goal.words]
            places = [at for at, word in enumerate(parts) if word == first]
            gap = min((abs(a - b) for a in marks for b in places if a != b), default=NEAR)
            best = max(best, 1 - min(gap, NEAR) / NEAR)
        return best

    # -- what fields hold, against the goal's slots

    def _slots(self, step: Step, made: dict[str, float]) -> None:
        goal, fields = self.goal, self._screen.fields.values()
        agreeing = [self._agreement(one) for one in fields]
        held = {plain(one.text) for one in fields if one.text} | {one.name for one in fields if one.checked}
        in_fields = [slot for slot in goal.slots if slot in held]
        for slot in in_fields:
            if slot not in self._found:
                self._found.append(slot)
        known = dict.fromkeys(self._found)
        recall = len(known) / len(goal.slots) if goal.slots else 1.0
        had = self.rows[-1][NAMES.index("recall")] if self.rows else 0.0
        texts = [value for value, one in zip(agreeing, fields, strict=True) if value is not None and not _box(one)]
        wrong = sum(value < AGREES for value in texts)
        boxes_wrong, boxes_left, boxes_recall = self._boxes()
        now = [value for _, one in step.changed if (value := self._agreement(one)) is not None]
        left = sum(one.role in ("textbox", "searchbox", "spinbutton") for one in self._empty())
        made |= {
            "fill_goal": min(now, default=0.0),
            "fill_near": max((self._near(plain(one.text or "")) for _, one in step.changed), default=0.0),
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
        ended = made.pop("_ended") > 0
        self._sofar["submits"] += ended
        self._sofar["early"] += ended and (recall < 1 or boxes_left > 0)
        made["end_recall"] = recall if ended else -1.0
        made["end_precision"] = made["precision"] if ended else -1.0
        made["end_wrong"] = made["wrong_now"] if ended else 0.0
        made["end_left"] = (len(goal.slots) - len(known) + boxes_left) if ended else 0.0

    # -- all that the goal names, of whatever kind

    def _in_view(self) -> float:
        slots = self.goal.slots
        return sum(map(self._stands, slots)) / len(slots) if slots else 0.0

    def _stands(self, slot: str) -> bool:
        """Whether the slot is on the page, beside the instruction."""
        for line in self._screen.places.get(slot.split(maxsplit=1)[0], ()):
            spaced = f" {line} "
            if f" {slot} " in spaced and spaced not in self.goal.text and self.goal.text not in spaced:
                return True
        return False

    def _goal(self, step: Step, made: dict[str, float], *, last: bool) -> None:
        goal, fields = self.goal, self._screen.fields.values()
        for one in self._screen.fresh:
            if one.role in CONTROLS and one.name and self._agrees(one.name) == 1.0:
                self._named |= {one.name} - ENDS - STOP
        self._screen.fresh.clear()
        texts = {plain(one.text) for one in fields if one.text}
        checked = {one.name for one in fields if one.checked}
        held = texts | checked | self._clicked_names
        boxes = {one.name for one in fields if _box(one) and not one.checked}
        wanted = self._named | set(goal.slots)
        done = {one for one in wanted if one not in boxes and any(fulfils(value, one, goal) for value in held)}
        if goal.numbers and any(value in goal.numbers for value in map(numbers, texts)):
            done |= {slot for slot in goal.slots if numbers(slot) in goal.numbers}
        left = len(wanted) - len(done)
        share_done = len(done) / len(wanted) if wanted else 1.0
        wrong = made["wrong_now"] + self._wrong_clicks
        unended = float(len(goal.ends - self._ends) > 0)
        made |= {
            "in_view": step.in_view,
            "case_off": float(sum(case_off(one.text, goal) for one in fields if one.text)),
            "asks_order": float(goal.orders),
            "named": math.log1p(len(wanted)),
            "done": share_done,
            "left": float(left),
            "wrong": wrong,
            "unended": unended,
            "final_done": share_done if last else 0.0,
            "final_left": float(left) if last else 0.0,
            "final_wrong": wrong if last else 0.0,
            "final_unended": unended if last else 0.0,
        }

    def _agreement(self, one: Filled) -> float | None:
        """Of what the field holds with the goal; None where there is nothing to compare."""
        if _box(one):
            return self._agrees(one.name) if one.checked else None
        return value_agrees(one.text, self.goal) if one.text else None

    def _boxes(self) -> tuple[int, int, float]:
        """Boxes checked that the goal does not name, boxes that it names and that are not, the share that is."""
        boxes = {one.name: bool(one.checked) for one in self._screen.fields.values() if _box(one)}
        for one in self._screen.elements:
            if one.role in BOXES and one.name:
                boxes.setdefault(one.name, False)
        meant = [checked for name, checked in boxes.items() if self._agrees(name) >= AGREES]
        wrong = sum(checked and self._agrees(name) < AGREES for name, checked in boxes.items())
        return wrong, meant.count(False), meant.count(True) / len(meant) if meant else 1.0

    def _empty(self) -> list[Shown]:
        """Visible fields that hold nothing."""
        full = {one.name for one in self._screen.fields.values() if one.text or one.secret or one.checked}
        return [one for one in self._screen.elements if one.name not in full]

    def _counts(self, step: Step, made: dict[str, float]) -> None:
        goal = self.goal
        made |= self._sofar
        made |= {
            "goal_text": share((word for word in goal.words if self._screen.places.get(word)), goal.words),
            "kinds": float(len(self._kinds)),
            "words_goal": math.log1p(len(goal.words)),
            "asks_end": float(any(f" {word} " in goal.text for word in SUBMITS)),
        }


def _box(one: Filled) -> bool:
    return one.checked is not None or one.role in BOXES


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


def _types(action: Any) -> bool:
    """Whether the harness says that keys were used."""
    said = str(action)[:200].lower()
    return any(word in said for word in ("type", "fill", "press", "key", "text"))


_HEARS = {
    "element.clicked": Reader._clicked,
    "field.filled": Reader._filled,
    "element.appeared": Reader._element,
    "text.appeared": Reader._text,
    "element.disappeared": Reader._gone,
    "text.disappeared": Reader._gone,
    "page.navigated": Reader._went,
    "request.finished": Reader._answered,
    "request.failed": Reader._broke,
    "page.failed": Reader._broke,
    "dialog.opened": Reader._dialog,
    "download.began": Reader._download,
    "download.finished": Reader._download,
    "tab.opened": Reader._tab,
}
