"""The features of windows, widgets, files, processes, the clipboard, dialogs, probes and tools:
what a step did there, and how what stands there agrees with what the goal wants."""

from __future__ import annotations

import math
from collections.abc import Iterable

from api.stages.model.desk import DIALOGS, DeskFile, DeskState, HeldText, same_picture
from api.stages.model.desk_step import DeskStep
from api.stages.model.wanted import FoundTexts, Wanted, read_wanted
from api.stages.model.words import (
    REFUSALS,
    SUBMITS,
    in_goal,
    plain,
    ratio,
    read_goal,
    share,
)
from detectors.model.types import Event

MAX_COUNT = 3
MAX_WRONG = 5
MAX_CALLS = 500
"""Different calls of tools that are kept, to know a repeated one."""
MANY = 60
"""Texts of a desktop that are compared with the goal, at most."""
MARKS = ("*", "•", "●")
"""What a title begins with while its document is not saved."""
EDITORS = frozenset(("text", "document frame", "document text", "entry", "terminal"))


class DeskFeatures:
    """The desktop of one episode and the features of its steps."""

    def __init__(self, instruction: str) -> None:
        self.goal = read_goal(instruction)
        self.wanted: Wanted = read_wanted(instruction)
        self.desk = DeskState(self.wanted, self.goal)
        self._calls: dict[str, None] = {}
        self._counts = dict.fromkeys(("tool_errors", "tool_repeats", "presses", "refused"), 0.0)
        self._called: set[int] = set()
        """Wanted texts and names (behind them) that calls of tools had so far."""
        self._step = DeskStep()

    def begin(self) -> None:
        """Note that a step begins: its counts are empty."""
        self._step = DeskStep()

    def fold(self, event: Event, *, in_step: bool) -> None:
        """Apply one more event; ``in_step``: it is of the step that goes on."""
        if in_step:
            self._step.fold(event)
        self.desk.fold(event)

    def finish(self) -> dict[str, float]:
        """Return the features of the step that is over, and of what stands now."""
        return self._of_step() | self.standing()

    def _of_step(self) -> dict[str, float]:
        step = self._step
        files = step.made + step.changed + step.moved + step.lost
        agreements = [in_goal(name, self.goal) for name in step.pressed]
        refused = sum(self._refuses(name) for name in step.pressed)
        self._counts["presses"] += len(step.pressed)
        self._counts["refused"] += refused
        return {
            "win_opened": float(min(MAX_COUNT, step.opened)),
            "win_closed": float(min(MAX_COUNT, step.closed)),
            "win_dialogs": float(min(MAX_COUNT, step.dialogs)),
            "pressed": float(min(MAX_COUNT, len(step.pressed))),
            "press_goal": max(agreements, default=0.0),
            "press_ends": float(any(not SUBMITS.isdisjoint(one.split()) for one in step.pressed)),
            "press_refusal": float(refused > 0),
            "widgets_set": float(min(MAX_COUNT, step.written + step.switched)),
            "file_events": math.log1p(files),
            "files_lost": float(min(MAX_COUNT, step.lost)),
            "programs": float(min(MAX_COUNT, len(step.programs))),
            "program_goal": max((in_goal(one, self.goal) for one in step.programs), default=0.0),
            "copied": float(min(MAX_COUNT, step.copied)),
            "notices": float(min(MAX_COUNT, step.notices)),
            "answered": float(step.answered > 0),
            "seen_change": step.seen,
            "desk_quiet": float(step.quiet),
        } | self._of_calls(step)

    def _refuses(self, name: str) -> bool:
        """Whether a name is one of refusal that the goal does not have."""
        return not REFUSALS.isdisjoint(name.split()) and in_goal(name, self.goal) < 1

    def _of_calls(self, step: DeskStep) -> dict[str, float]:
        """The features of the step's calls of tools."""
        repeated = 0
        for call in step.calls:
            repeated += call in self._calls
            if len(self._calls) < MAX_CALLS:
                self._calls[call] = None
            self._called |= self._things_of(call)
        self._counts["tool_errors"] += step.failures
        self._counts["tool_repeats"] += repeated
        things = len(self.wanted.texts) + len(self.wanted.names)
        return {
            "tool_calls": float(min(MAX_COUNT, len(step.calls))),
            "tool_failed": float(min(MAX_COUNT, step.failures)),
            "tool_repeated": float(repeated > 0),
            "tool_goal": ratio(len(self._called), things, 0.0),
        }

    def _things_of(self, call: str) -> set[int]:
        """The wanted texts, and behind them the wanted names, that a call of a tool has."""
        lower = call.lower()
        names = self.wanted.names
        base = len(self.wanted.texts)
        found = {base + at for at, name in enumerate(names) if name in lower}
        return found | set(self.wanted.find(call).anywhere)

    # -- what stands now

    def standing(self) -> dict[str, float]:
        """The features of what stands now, whatever step brought it about."""
        desk, wanted = self.desk, self.wanted
        kept, shown = self._find_kept(), _union(body.found for body in self._list_shown())
        lines = _lines(body.found for body in self._lasting())
        told = set(kept) | set(desk.clipboard.anywhere) | self._answered()
        features = {
            "desk_told": float(desk.told),
            "texts_wanted": math.log1p(len(wanted.texts)),
            "names_wanted": math.log1p(len(wanted.names)),
            "asks_delete": float(wanted.deletes),
            "asks_move": float(wanted.moves),
            "asks_replace": float(wanted.replaces),
            "texts_kept": self._share(kept),
            "texts_kept_lines": self._share(lines),
            "last_text_kept": float(bool(wanted.texts) and len(wanted.texts) - 1 in kept),
            "texts_shown": self._share(shown),
            "texts_told": self._share(told),
            "texts_ever_shown": self._share(desk.shown_ever),
        }
        features |= self._of_names() | self._of_edits() | self._of_windows() | self._of_states()
        return features | self._of_answer() | self._summed(features, told | set(shown))

    def _share(self, found: Iterable[int]) -> float:
        return ratio(len(set(found)), len(self.wanted.texts), 0.0)

    def _find_kept(self) -> set[int]:
        """Wanted texts that files and probes hold now."""
        kept = _union(body.found for body in self._lasting())
        digests = {file.digest for file in self._touched()} & self.wanted.digests.keys()
        return kept | {self.wanted.digests[digest] for digest in digests}

    def _touched(self) -> list[DeskFile]:
        return list(self.desk.touched.values())[-MANY:]

    def _lasting(self) -> list[HeldText]:
        """What is kept beyond the programs: files that were touched, probes that changed."""
        probes = self.desk.probes.values()
        return self._contents() + [body for body in probes if body.now != body.first]

    def _contents(self) -> list[HeldText]:
        """The contents of files that were touched, as far as they were read."""
        files = self.desk.files
        return [
            body
            for path, body in list(self.desk.bodies.items())[-MANY:]
            if path in files and files[path].touched
        ]

    def _list_shown(self) -> list[HeldText]:
        return list(self.desk.widgets.values())[-MANY:]

    def _answered(self) -> set[int]:
        return set(self.wanted.find(self.desk.answer or "").anywhere)

    def _of_names(self) -> dict[str, float]:
        """The features of files by the names that the goal has."""
        desk, names = self.desk, range(len(self.wanted.names))
        touched = self._touched()
        there = {at for file in desk.named.values() for at in file.names}
        held = {at for file in touched for at in file.names}
        gone_named = sum(file.is_named for file in desk.gone.values())
        copies = [file for file in touched if file.originals]
        last = len(names) - 1
        return {
            "names_there": ratio(len(there), len(names), 0.0),
            "names_touched": ratio(len(held), len(names), 0.0),
            "first_there": float(0 in there) if names else -1.0,
            "last_there": float(last in there) if names else -1.0,
            "last_touched": float(last in held) if names else -1.0,
            "gone_named": float(min(MAX_COUNT, gone_named)),
            "gone_off": float(min(MAX_COUNT, len(desk.gone) - gone_named)),
            "files_off": float(min(MAX_COUNT, sum(not file.is_named for file in touched))),
            "files_empty": float(min(MAX_COUNT, sum(not file.size for file in touched))),
            "files_copied": float(min(MAX_COUNT, len(copies))),
            "copies_named": ratio(sum(file.is_named for file in copies), len(copies), -1.0),
            "originals_named": ratio(
                sum(True in file.originals for file in copies), len(copies), -1.0
            ),
            "unsettled": float(min(MAX_COUNT, desk.unsettled)),
        }

    def _of_edits(self) -> dict[str, float]:
        """The features of what was written into widgets and files, against what was there."""
        shown = [
            body for body in self._list_shown() if body.edit.is_change and body.role in EDITORS
        ]
        files = [body for body in self._contents() if body.edit.is_change]
        saved = {file.digest for file in self._touched()}
        are_saved = [not body.digests.isdisjoint(saved) for body in shown]
        return {
            **_compared("edit", shown),
            **_compared("file_edit", files),
            "edits_saved": ratio(sum(are_saved), len(are_saved), -1.0),
        }

    def _of_windows(self) -> dict[str, float]:
        windows = list(self.desk.windows.values())[-MANY:]
        titles = [window.title for window in windows]
        words = {word for window in windows for word in window.words}
        return {
            "windows": math.log1p(len(windows)),
            "dialogs_open": float(min(MAX_COUNT, sum(one.role in DIALOGS for one in windows))),
            "titles_marked": float(min(MAX_COUNT, sum(one.startswith(MARKS) for one in titles))),
            "title_goal": share(words, self.goal.words),
        }

    def _of_states(self) -> dict[str, float]:
        """The features of switches, values, probes, the clipboard and pictures."""
        desk, goal = self.desk, self.goal
        moved = [switch for switch in desk.switches.values() if switch.moved and switch.name]
        changed = [one for one in moved[-MANY:] if one.now != one.first]
        turned = [now for first, now in list(desk.values.values())[-MANY:] if now != first]
        probes = desk.probes.values()
        return {
            "switched_goal": max((one.agrees for one in changed), default=0.0),
            "switched_off": float(min(MAX_COUNT, sum(one.agrees < 0.5 for one in changed))),
            "switched_back": float(min(MAX_COUNT, len(moved[-MANY:]) - len(changed))),
            "selected_goal": in_goal(desk.selected, goal),
            "value_goal": float(any(self._is_number(value) for value in turned)),
            "value_off": float(min(MAX_COUNT, sum(not self._is_number(one) for one in turned))),
            "probes_changed": float(min(MAX_COUNT, sum(one.now != one.first for one in probes))),
            "probes_back": float(min(MAX_COUNT, sum(_is_back(one) for one in probes))),
            "probe_goal": share(self._probe_words(), goal.words),
            "clip_goal": self._share(desk.clipboard.anywhere),
            "clip_shown": float(self._is_shown(desk.clipboard_text)),
            "screen_back": float(self._is_screen_back()),
        }

    def _is_number(self, value: float) -> bool:
        """Whether the goal has this number."""
        return math.isfinite(value) and f"{value:g}" in self.wanted.texts

    def _probe_words(self) -> set[str]:
        """Words that came into the answers of probes."""
        changed = [body for body in self.desk.probes.values() if body.now != body.first]
        return {
            word for body in changed for word in plain(body.edit.came.replace("-", " ")).split()
        }

    def _is_shown(self, text: str) -> bool:
        """Whether a text stands by itself in a line of some widget now."""
        wanted = plain(text)
        return bool(wanted) and any(wanted in body.lines for body in self._list_shown())

    def _is_screen_back(self) -> bool:
        """Whether the last picture is like an earlier one, and not like the one before it."""
        *earlier, before, last = [0, 0, *self.desk.pictures]
        if len(self.desk.pictures) < 3 or same_picture(before, last):
            return False
        return any(same_picture(one, last) for one in earlier[2:])

    def _of_answer(self) -> dict[str, float]:
        answer = self.desk.answer
        if answer is None:
            return {"answer_shown": -1.0, "answer_goal": -1.0}
        return {
            "answer_shown": float(self._is_shown(answer)),
            "answer_goal": in_goal(answer, self.goal),
        }

    def _summed(self, features: dict[str, float], found: set[int]) -> dict[str, float]:
        """What of the goal is done and what is wrong, whatever kind of evidence says so."""
        names = self.wanted.names
        there = features["names_there"] * len(names)
        if self.wanted.deletes or self.wanted.moves:
            there = min(len(names), features["gone_named"] + features["names_touched"] * len(names))
        things = len(names) + len(self.wanted.texts)
        done = ratio(there + len(found), things, 1.0)
        keeping = ratio(there + len(self._find_kept()), things, 1.0)
        wrong = sum(
            features[name]
            for name in (
                "edit_off", "edit_lost", "file_edit_off", "file_edit_lost", "gone_off",
                "files_off", "files_empty", "titles_marked", "switched_back", "probes_back",
                "value_off",
            )
        )  # fmt: skip
        return self._counts | {
            "desk_done": done,
            "desk_keeping": keeping,
            "desk_wrong": float(min(MAX_WRONG, wrong)),
            "desk_purity": ratio(keeping, keeping + wrong, 0.0),
        }


def _union(found: Iterable[FoundTexts]) -> set[int]:
    return {at for one in found for at in one.anywhere}


def _lines(found: Iterable[FoundTexts]) -> set[int]:
    return {at for one in found for at in one.lines}


def _is_back(body: HeldText) -> bool:
    """Whether a probe's answer changed and is again what it was first."""
    return body.changed and body.now == body.first


def _compared(prefix: str, bodies: list[HeldText]) -> dict[str, float]:
    """How the parts that came agree with the goal, and how much went that it does not name."""
    agreements = [body.agrees for body in bodies if body.agrees >= 0]
    return {
        f"{prefix}s": float(min(MAX_COUNT, len(bodies))),
        f"{prefix}_worst": min(agreements, default=-1.0),
        f"{prefix}_whole": ratio(sum(body.is_whole for body in bodies), len(bodies), -1.0),
        f"{prefix}_off": float(min(MAX_COUNT, sum(one < 1 for one in agreements))),
        f"{prefix}_lost": float(min(MAX_COUNT, sum(body.loses for body in bodies))),
    }
