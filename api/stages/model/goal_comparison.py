"""What is on the screen and in the fields, compared with what the goal names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from api.stages.model.screen import BOXES, MAX_ELEMENTS, Filled, Screen, ScreenElement
from api.stages.model.words import (
    DEEDS,
    in_goal,
    plain,
    ratio,
    read_goal,
    value_agrees,
    wanted_places,
)

CONTROLS = BOXES | frozenset(
    "button link tab menuitem textbox searchbox combobox listbox slider spinbutton treeitem"
    " gridcell".split()
)
NEAR = 12
"""Words of text within which a value counts as standing near a word of the goal."""
FIELDS = frozenset("textbox searchbox combobox listbox spinbutton".split())
"""Roles of what holds a value."""
TEXT_FIELDS = frozenset(("textbox", "searchbox", "spinbutton"))
"""Roles of what a text is written into."""
STEM = 5
"""Letters by which two forms of a word are one: director, directed."""
FAR = 1_000
"""The distance of what does not stand there at all."""
MAX_LINE_WORDS = 200
"""Words of a line in which nearness is measured."""
MAX_POSITIONS = 8
"""Positions of one value in the goal that are looked at."""
LINE = 200
"""Characters of a line that says what a value is."""
FEW = 4
"""Lines in which a word that tells one place from others stands, at most."""
BESIDE = 0.75
"""How near to a word of the goal a value stands at least that answers for it."""
AGREES = 0.85
"""From here on a name or a value agrees with the goal."""


class FieldPairs(NamedTuple):
    """Of the fields that hold a value of the goal: ``share`` have a name that stands nearest to it
    there, ``crossed`` have another field's name nearer. 1 and 0 where nothing can be compared."""

    share: float
    crossed: float


class FieldPlaces(NamedTuple):
    """How many fields that hold something stand where an ordinal of the goal says, and how many
    stand elsewhere."""

    placed: float
    misplaced: float


class Boxes(NamedTuple):
    """Boxes: how many are checked that the goal does not name, how many that it names are not, and
    the share that is (1 where it names none)."""

    wrong: int
    left: int
    recall: float


class GoalComparison:
    """A goal and a screen; each name is compared once."""

    def __init__(self, instruction: str) -> None:
        self.goal = read_goal(instruction)
        self.screen = Screen()
        self._agreements: dict[str, float] = {}

    def agrees(self, name: str) -> float:
        """How well a name agrees with the goal, 0 to 1."""
        agreement = self._agreements.get(name)
        if agreement is None:
            agreement = in_goal(name, self.goal)
            if len(self._agreements) < MAX_ELEMENTS:
                self._agreements[name] = agreement
        return agreement

    def nearness(self, text: str) -> float:
        """Return 1 for what stands beside a rare word of the goal in one line of the page, less the
        farther it is, 0 from `NEAR` words on."""
        if not text:
            return 0.0
        first = text.split(maxsplit=1)[0]
        gap = NEAR
        for line in self.screen.places.get(first, ()):
            words = line.split()
            if len(words) <= MAX_LINE_WORDS and not self._is_of_instruction(line):
                marks = [at for at, word in enumerate(words) if word in self.goal.words]
                places = [at for at, word in enumerate(words) if word == first]
                gap = min(gap, _distance(marks, places))
        return 1 - gap / NEAR

    def beside(self, value: str) -> list[str]:
        """Return the slots that stand on the page in one line with a value, such as what a table
        calls it."""
        lines = [
            line
            for line in self._lines_with_first_word(value)
            if len(line) <= LINE
            and f" {value} " in f" {line} "
            and not self._is_of_instruction(line)
        ]
        return [
            slot
            for slot in self.goal.slots
            if slot != value and any(f" {slot} " in f" {line} " for line in lines)
        ]

    def regret(self, target: ScreenElement, agrees: float) -> float:
        """How much better another visible element with the same role agrees."""
        others = (
            self.agrees(element.name)
            for element in self.screen.elements
            if element.role == target.role and element.name != target.name
        )
        return max(0.0, max(others, default=0.0) - agrees)

    def compare_surroundings(self, around: frozenset[str]) -> tuple[int, int]:
        """Of the goal's rare words that stand in few lines of the page, beside the instruction:
        return how many are in ``around``, and how many are not."""
        pointing = {word for word in self.goal.words if 0 < self._count_lines(word) <= FEW}
        return len(pointing & around), len(pointing - around)

    def _count_lines(self, word: str) -> int:
        """In how many lines of the page a word stands, beside the instruction."""
        lines = self.screen.places.get(word, ())
        return sum(not self._is_of_instruction(line) for line in lines)

    def _is_of_instruction(self, line: str) -> bool:
        """Whether a line of the page is a part of the instruction itself."""
        return f" {line} " in self.goal.text

    def _lines_with_first_word(self, text: str) -> set[str]:
        """The lines of the page that have a text's first word; none for an empty text."""
        first = text.split(maxsplit=1)[:1]
        return self.screen.places.get(first[0], set()) if first else set()

    def share_in_lines(self) -> float:
        """The share of the slots that are a whole line of the page."""
        slots = self.goal.slots
        return ratio(sum(slot in self.screen.lines for slot in slots), len(slots), 0.0)

    def share_in_view(self) -> float:
        """The share of the slots that stand on the page, beside the instruction."""
        slots = self.goal.slots
        return ratio(sum(map(self._is_in_view, slots)), len(slots), 0.0)

    def _is_in_view(self, slot: str) -> bool:
        """Whether the slot is on the page, beside the instruction."""
        return any(
            f" {slot} " in f" {line} "
            and not self._is_of_instruction(line)
            and self.goal.text not in f" {line} "
            for line in self._lines_with_first_word(slot)
        )

    def agreement(self, field: Filled) -> float | None:
        """Of what the field holds with the goal; None where there is nothing to compare."""
        if field.is_box:
            return self.agrees(field.name) if field.checked else None
        return min(map(self.compare_value, field.parts), default=None)

    def compare_value(self, value: str) -> float:
        """How well a value agrees with the goal itself, or with what stands on the page beside a
        rare word of it, 0 to 1."""
        agrees = value_agrees(value, self.goal)
        if agrees >= AGREES:
            return agrees
        if self.goal.words & DEEDS["pasted"]:
            holding = sum(value in field.parts for field in self.screen.fields.values())
            return max(agrees, AGREES) if holding > 1 else agrees
        return AGREES if self.nearness(plain(value)) >= BESIDE else agrees

    def pair_fields(self) -> FieldPairs:
        """Compare where the goal has the values of fields with where it has their names."""
        fields = [one for one in self.screen.fields.values() if one.values and not one.is_box]
        values = [(one.name, one.values[0] if len(one.values) == 1 else "") for one in fields]
        names = [element.name for element in self.screen.elements if element.role in FIELDS]
        return self.pair_values(values, names)

    def pair_values(
        self, values: Sequence[tuple[str, str]], names: Sequence[str] = ()
    ) -> FieldPairs:
        """Compare where the goal has each value, a phrase of plain words, with where it has its
        name. ``names``: further names that a value might belong to."""
        words = self.goal.text.split()
        labels = {
            stems: [at for at, word in enumerate(words) if word[:STEM] in stems]
            for stems in map(_stems, [*(name for name, _ in values), *names])
        }
        own = crossed = 0
        for name, value in values:
            places = _positions(words, value.split())
            if places:
                stems = _stems(name)
                own_distance = _distance(places, labels[stems])
                other_distance = _other_distance(places, stems, labels)
                own += own_distance < FAR and own_distance <= other_distance
                crossed += other_distance < own_distance
        return FieldPairs(ratio(own, own + crossed, 1.0), float(crossed))

    def field_places(self) -> FieldPlaces:
        """Compare the places of the fields that hold something with the ordinals of the goal."""
        placed = misplaced = 0
        for field in self.screen.fields.values():
            if field.place and (field.values or field.checked):
                asked = wanted_places(self.goal, field.kinds)
                placed += field.place in asked
                misplaced += bool(asked) and field.place not in asked
        return FieldPlaces(float(placed), float(misplaced))

    def _is_placed(self, field: Filled) -> bool:
        """Whether it stands where an ordinal of the goal says."""
        return field.place in wanted_places(self.goal, field.kinds)

    def compare_boxes(self) -> Boxes:
        """Compare what is checked, and what could be, with the goal."""
        boxes = self._checked_by_name()
        meant = [checked for name, checked in boxes.items() if self.agrees(name) >= AGREES]
        wrong = sum(checked and self.agrees(name) < AGREES for name, checked in boxes.items())
        return Boxes(wrong, meant.count(False), ratio(meant.count(True), len(meant), 1.0))

    def _checked_by_name(self) -> dict[str, bool]:
        """Whether each box and each choice of a list is checked, by its name."""
        boxes: dict[str, bool] = {}
        fields = self.screen.fields.values()
        for field in fields:
            if field.is_box and not self._is_placed(field):
                boxes[field.name] = bool(field.checked)
        for field in fields:
            if field.role == "listbox":
                boxes |= dict.fromkeys(field.values, True)
        for element in self.screen.elements:
            if element.role in BOXES and element.name:
                boxes.setdefault(element.name, False)
        return boxes

    def empty_fields(self) -> int:
        """How many of the visible text fields hold nothing."""
        full = {field.name for field in self.screen.fields.values() if field.is_set or field.secret}
        return sum(
            element.role in TEXT_FIELDS and element.name not in full
            for element in self.screen.elements
        )


def _stems(name: str) -> frozenset[str]:
    return frozenset(word[:STEM] for word in name.split() if len(word) > 1)


def _positions(words: list[str], value: list[str]) -> list[int]:
    """Where the words of a value stand; few."""
    size = len(value)
    if not size:
        return []
    return [at for at in range(len(words)) if words[at : at + size] == value][:MAX_POSITIONS]


def _distance(places: list[int], others: list[int]) -> int:
    """The least distance of two different places; `FAR` where there are none."""
    return min((abs(a - b) for a in places for b in others if a != b), default=FAR)


def _other_distance(
    places: list[int], stems: frozenset[str], labels: Mapping[frozenset[str], list[int]]
) -> int:
    """The distance of the nearest label that shares no word with these stems."""
    return min(
        (_distance(places, at) for other, at in labels.items() if not other & stems), default=FAR
    )
