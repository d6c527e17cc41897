"""The features of windows, widgets, files, processes, the clipboard, dialogs, probes and tools:
what a step did there, and how what stands there agrees with what the goal wants."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from api.stages.model.desk import (
    DIALOGS,
    Area,
    DeskFile,
    DeskState,
    HeldText,
    TextComparison,
    is_same_picture,
)
from api.stages.model.desk_step import DeskStep
from api.stages.model.requirements import FoundTexts, Requirements, read_requirements
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
WRONG = (
    "edit_off", "edit_lost", "file_edit_off", "file_edit_lost", "gone_off", "files_off",
    "files_empty", "titles_marked", "switched_back", "probes_back", "value_off",
)  # fmt: skip
"""Features that count what the goal does not ask for."""
EDITORS = frozenset(("text", "document frame", "document text", "entry", "terminal"))


class DeskFeatures:
    """The desktop of one episode and the features of its steps."""

    def __init__(self, instruction: str) -> None:
        self.goal = read_goal(instruction)
        self.wanted: Requirements = read_requirements(instruction)
        self.desk = DeskState(self.wanted, self.goal)
        self._calls: dict[str, None] = {}
        self._counts = dict.fromkeys(("tool_errors", "tool_repeats", "presses", "refused"), 0.0)
        self._called: set[int] = set()
        """Wanted texts and names (behind them) that calls of tools had so far."""
        self._step = DeskStep()
        self._standing: dict[str, float] = {}
        """What `standing` computed last, and of each of its parts the changes until then."""
        self._computed_at = [-1] * len(_PARTS)
        self._kept: set[int] = set()
        """Wanted texts that files and probes hold now; ``_shown``: that widgets show;
        ``_reported``: that files, probes, the clipboard or the answer have."""
        self._shown: set[int] = set()
        self._reported: set[int] = set()

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
        """The features of what stands now, whatever step brought it about. Those of which nothing
        changed are as they were."""
        changes = self.desk.changes
        for number, (compute, areas) in enumerate(_PARTS):
            now = sum(changes[area] for area in areas)
            if self._computed_at[number] != now:
                self._computed_at[number] = now
                self._standing |= compute(self)
        features = self._standing | self._counts
        features["desk_reported"] = float(self.desk.is_reported)
        features |= self._of_totals(features)
        return features

    def _of_goal(self) -> dict[str, float]:
        """The features of what the goal asks for."""
        wanted = self.wanted
        return {
            "texts_wanted": math.log1p(len(wanted.texts)),
            "names_wanted": math.log1p(len(wanted.names)),
            "asks_delete": float(wanted.deletes),
            "asks_move": float(wanted.moves),
            "asks_replace": float(wanted.replaces),
        }

    def _of_kept(self) -> dict[str, float]:
        """The features of the goal's texts that files and probes hold."""
        lasting = self._list_lasting()
        digests = {file.digest for file in self._list_touched()} & self.wanted.digests.keys()
        self._kept = _union(body.found for body in lasting)
        self._kept |= {self.wanted.digests[digest] for digest in digests}
        last = len(self.wanted.texts) - 1
        return {
            "texts_kept": self._share(self._kept),
            "texts_kept_lines": self._share(_lines(body.found for body in lasting)),
            "last_text_kept": float(last >= 0 and last in self._kept),
        }

    def _of_shown(self) -> dict[str, float]:
        """The features of the goal's texts that widgets show."""
        self._shown = _union(body.found for body in self._list_shown())
        return {
            "texts_shown": self._share(self._shown),
            "texts_ever_shown": self._share(self.desk.shown_ever),
        }

    def _of_reported(self) -> dict[str, float]:
        """The features of the goal's texts that anything but a widget has."""
        desk = self.desk
        answered = self.wanted.find(desk.answer or "").anywhere
        self._reported = self._kept | desk.clipboard.anywhere | answered
        return {"texts_reported": self._share(self._reported)}

    def _share(self, found: Iterable[int]) -> float:
        return ratio(len(set(found)), len(self.wanted.texts), 0.0)

    def _list_touched(self) -> list[DeskFile]:
        return list(self.desk.touched.values())[-MANY:]

    def _list_lasting(self) -> list[HeldText]:
        """What is kept beyond the programs: files that were touched, probes that changed."""
        return self._list_contents() + self._list_changed_probes()

    def _list_contents(self) -> list[HeldText]:
        """The contents of files that were touched, as far as they were read."""
        files = self.desk.files
        return [
            body
            for path, body in list(self.desk.bodies.items())[-MANY:]
            if path in files and files[path].touched
        ]

    def _list_shown(self) -> list[HeldText]:
        return list(self.desk.widgets.values())[-MANY:]

    def _of_names(self) -> dict[str, float]:
        """The features of the names that the goal has: which of them files have."""
        count = len(self.wanted.names)
        there = _name_places(self.desk.named.values())
        touched = _name_places(self._list_touched())
        if not count:
            ends = dict.fromkeys(("first_there", "last_there", "last_touched"), -1.0)
        else:
            ends = {
                "first_there": float(0 in there),
                "last_there": float(count - 1 in there),
                "last_touched": float(count - 1 in touched),
            }
        return ends | {
            "names_there": ratio(len(there), count, 0.0),
            "names_touched": ratio(len(touched), count, 0.0),
        }

    def _of_files(self) -> dict[str, float]:
        """The features of files that went, and of those that were made, changed or moved."""
        gone, touched = self.desk.gone.values(), self._list_touched()
        gone_named = sum(file.is_named for file in gone)
        return {
            "gone_named": float(min(MAX_COUNT, gone_named)),
            "gone_off": float(min(MAX_COUNT, len(gone) - gone_named)),
            "files_off": float(min(MAX_COUNT, sum(not file.is_named for file in touched))),
            "files_empty": float(min(MAX_COUNT, sum(not file.size for file in touched))),
            "unsettled": float(min(MAX_COUNT, self.desk.unsettled)),
        }

    def _of_copies(self) -> dict[str, float]:
        """The features of files that hold what another one held at first."""
        copies = [file for file in self._list_touched() if file.originals]
        from_named = sum(True in file.originals for file in copies)
        return {
            "files_copied": float(min(MAX_COUNT, len(copies))),
            "copies_named": ratio(sum(file.is_named for file in copies), len(copies), -1.0),
            "originals_named": ratio(from_named, len(copies), -1.0),
        }

    def _of_edits(self) -> dict[str, float]:
        """The features of what was written into widgets, against what was there."""
        edited = self._list_edited(body for body in self._list_shown() if body.role in EDITORS)
        saved = {file.digest for file in self._list_touched()}
        are_saved = [not body.file_digests().isdisjoint(saved) for body, _ in edited]
        return {
            **_count_edits("edit", [comparison for _, comparison in edited]),
            "edits_saved": ratio(sum(are_saved), len(are_saved), -1.0),
        }

    def _of_file_edits(self) -> dict[str, float]:
        """The features of what was written into files that were read, against what was there."""
        edited = self._list_edited(self._list_contents())
        return _count_edits("file_edit", [comparison for _, comparison in edited])

    def _list_edited(self, bodies: Iterable[HeldText]) -> list[tuple[HeldText, TextComparison]]:
        """Those texts into or out of which more than spaces came or went, each with how."""
        others = [(body, self.desk.compare(body)) for body in bodies if body.is_other]
        return [other for other in others if other[1].is_change]

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

    def _of_switches(self) -> dict[str, float]:
        """The features of switches and of values that are set."""
        desk = self.desk
        moved = [switch for switch in desk.switches.values() if switch.moved and switch.name]
        changed = [one for one in moved[-MANY:] if one.now != one.first]
        turned = [now for first, now in list(desk.values.values())[-MANY:] if now != first]
        return {
            "switched_goal": max((one.agrees for one in changed), default=0.0),
            "switched_off": float(min(MAX_COUNT, sum(one.agrees < 0.5 for one in changed))),
            "switched_back": float(min(MAX_COUNT, len(moved[-MANY:]) - len(changed))),
            "selected_goal": in_goal(desk.selected, self.goal),
            "value_goal": float(any(self._is_number(value) for value in turned)),
            "value_off": float(min(MAX_COUNT, sum(not self._is_number(one) for one in turned))),
        }

    def _of_probes(self) -> dict[str, float]:
        """The features of what probes answered, now and before."""
        back = sum(_is_back(one) for one in self.desk.probes.values())
        return {
            "probes_changed": float(min(MAX_COUNT, len(self._list_changed_probes()))),
            "probes_back": float(min(MAX_COUNT, back)),
            "probe_goal": share(self._probe_words(), self.goal.words),
        }

    def _of_clipboard(self) -> dict[str, float]:
        """The features of what the clipboard holds now."""
        return {
            "clip_goal": self._share(self.desk.clipboard.anywhere),
            "clip_shown": float(self._is_shown(self.desk.clipboard_text)),
        }

    def _of_pictures(self) -> dict[str, float]:
        """The features of the screen's pictures."""
        return {"screen_back": float(self._is_screen_back())}

    def _is_number(self, value: float) -> bool:
        """Whether the goal has this number."""
        return math.isfinite(value) and f"{value:g}" in self.wanted.texts

    def _probe_words(self) -> set[str]:
        """Words that came into the answers of probes."""
        edits = [self.desk.compare(body).edit for body in self._list_changed_probes()]
        return {word for edit in edits for word in plain(edit.came.replace("-", " ")).split()}

    def _list_changed_probes(self) -> list[HeldText]:
        return [body for body in self.desk.probes.values() if body.is_other]

    def _is_shown(self, text: str) -> bool:
        """Whether a text stands by itself in a line of some widget now."""
        wanted = plain(text)
        return bool(wanted) and any(wanted in body.last_lines() for body in self._list_shown())

    def _is_screen_back(self) -> bool:
        """Whether the last picture is like an earlier one, and not like the one before it."""
        *earlier, before, last = [0, 0, *self.desk.pictures]
        if len(self.desk.pictures) < 3 or is_same_picture(before, last):
            return False
        return any(is_same_picture(one, last) for one in earlier[2:])

    def _of_answer(self) -> dict[str, float]:
        answer = self.desk.answer
        if answer is None:
            return {"answer_shown": -1.0, "answer_goal": -1.0}
        return {
            "answer_shown": float(self._is_shown(answer)),
            "answer_goal": in_goal(answer, self.goal),
        }

    def _of_totals(self, features: dict[str, float]) -> dict[str, float]:
        """What of the goal is done and what is wrong, whatever kind of evidence says so."""
        names = self.wanted.names
        there = features["names_there"] * len(names)
        if self.wanted.deletes or self.wanted.moves:
            there = min(len(names), features["gone_named"] + features["names_touched"] * len(names))
        things = len(names) + len(self.wanted.texts)
        done = ratio(there + len(self._reported | self._shown), things, 1.0)
        keeping = ratio(there + len(self._kept), things, 1.0)
        wrong = sum(features[name] for name in WRONG)
        return {
            "desk_done": done,
            "desk_keeping": keeping,
            "desk_wrong": float(min(MAX_WRONG, wrong)),
            "desk_purity": ratio(keeping, keeping + wrong, 0.0),
        }


def _name_places(files: Iterable[DeskFile]) -> set[int]:
    """The places of the wanted names that these files have."""
    return {at for file in files for at in file.names}


def _union(found: Iterable[FoundTexts]) -> set[int]:
    return {at for one in found for at in one.anywhere}


def _lines(found: Iterable[FoundTexts]) -> set[int]:
    return {at for one in found for at in one.lines}


def _is_back(body: HeldText) -> bool:
    """Whether a probe's answer changed and is again what it was first."""
    return body.changed and body.now == body.first


def _count_edits(prefix: str, edits: Sequence[TextComparison]) -> dict[str, float]:
    """How the parts that came agree with the goal, and how much went that it does not name."""
    agreements = [edit.agrees for edit in edits if edit.agrees >= 0]
    return {
        f"{prefix}s": float(min(MAX_COUNT, len(edits))),
        f"{prefix}_worst": min(agreements, default=-1.0),
        f"{prefix}_whole": ratio(sum(edit.is_whole for edit in edits), len(edits), -1.0),
        f"{prefix}_off": float(min(MAX_COUNT, sum(one < 1 for one in agreements))),
        f"{prefix}_lost": float(min(MAX_COUNT, sum(edit.loses for edit in edits))),
    }


_PARTS: tuple[tuple[Callable[[DeskFeatures], dict[str, float]], tuple[Area, ...]], ...] = (
    (DeskFeatures._of_goal, ()),
    (DeskFeatures._of_kept, ("files", "probes")),
    (DeskFeatures._of_shown, ("widgets",)),
    (DeskFeatures._of_reported, ("files", "probes", "clipboard", "answer")),
    (DeskFeatures._of_names, ("files",)),
    (DeskFeatures._of_files, ("files",)),
    (DeskFeatures._of_copies, ("files",)),
    (DeskFeatures._of_edits, ("widgets", "files")),
    (DeskFeatures._of_file_edits, ("files",)),
    (DeskFeatures._of_windows, ("windows",)),
    (DeskFeatures._of_switches, ("switches",)),
    (DeskFeatures._of_probes, ("probes",)),
    (DeskFeatures._of_clipboard, ("clipboard", "widgets")),
    (DeskFeatures._of_pictures, ("pictures",)),
    (DeskFeatures._of_answer, ("answer", "widgets")),
)
"""The parts of `DeskFeatures.standing`, in order, each with the areas of which it is made."""
