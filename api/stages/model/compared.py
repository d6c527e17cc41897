"""What is on the screen and in the fields, compared with what the goal names."""

from __future__ import annotations

from api.stages.model.screen import BOXES, MAX_ELEMENTS, Filled, Screen, ScreenElement
from api.stages.model.words import DEEDS, in_goal, plain, read_goal, value_agrees, wanted_places

CONTROLS = BOXES | frozenset(
    "button link tab menuitem textbox searchbox combobox listbox slider spinbutton treeitem"
    " gridcell".split()
)
NEAR = 12
"""Words of text within which a value counts as standing near a word of the goal."""
FIELDS = frozenset("textbox searchbox combobox listbox spinbutton".split())
"""Roles of what holds a value."""
STEM = 5
"""Letters by which two forms of a word are one: director, directed."""
FAR = 1_000
LINE = 200
"""Characters of a line that says what a value is."""
FEW = 4
"""Lines in which a word that tells one place from others stands, at most."""
BESIDE = 0.75
"""How near to a word of the goal a value stands at least that answers for it."""
AGREES = 0.85
"""From here on a name or a value agrees with the goal."""


class GoalComparison:
    """A goal and a screen; each name is compared once."""

    def __init__(self, instruction: str) -> None:
        self.goal = read_goal(instruction)
        self.screen = Screen()
        self._known: dict[str, float] = {}

    def agrees(self, name: str) -> float:
        """How well a name agrees with the goal; each is compared once."""
        found = self._known.get(name)
        if found is None:
            found = in_goal(name, self.goal)
            if len(self._known) < MAX_ELEMENTS:
                self._known[name] = found
        return found

    def nearness(self, text: str) -> float:
        """1 beside a rare word of the goal in one line of the page, falling to 0 at `NEAR` words
        away."""
        if not text:
            return 0.0
        best, first = 0.0, text.split(maxsplit=1)[0]
        for line in self.screen.places.get(first, ()):
            parts = line.split()
            if len(parts) > 200 or f" {line} " in self.goal.text:
                continue
            marks = [at for at, word in enumerate(parts) if word in self.goal.words]
            places = [at for at, word in enumerate(parts) if word == first]
            gap = min((abs(a - b) for a in marks for b in places if a != b), default=NEAR)
            best = max(best, 1 - min(gap, NEAR) / NEAR)
        return best

    def beside(self, value: str) -> list[str]:
        """Slots that stand on the page in one line with a value, such as what a table calls it."""
        first = value.split(maxsplit=1)[:1]
        lines = [
            f" {line} "
            for word in first
            for line in self.screen.places.get(word, ())
            if len(line) <= LINE
        ]
        told = [line for line in lines if f" {value} " in line and line not in self.goal.text]
        return [
            slot
            for slot in self.goal.slots
            if slot != value and any(f" {slot} " in line for line in told)
        ]

    def regret(self, target: ScreenElement, agrees: float) -> float:
        """How much better another visible element with the same role and tag agrees."""
        best = 0.0
        for one in self.screen.elements:
            if one.role == target.role and one.name != target.name:
                best = max(best, self.agrees(one.name))
        return max(0.0, best - agrees)

    def pointed(self, around: frozenset[str]) -> tuple[int, int]:
        """Of the goal's rare words that stand in few lines of the page, beside the instruction: how
        many are in ``around``, and how many are not."""
        hit = miss = 0
        for word in self.goal.words:
            lines = sum(
                f" {line} " not in self.goal.text for line in self.screen.places.get(word, ())
            )
            if 0 < lines <= FEW:
                hit += word in around
                miss += word not in around
        return hit, miss

    def now(self) -> float:
        """The share of the slots that are a whole line of the page now."""
        slots = self.goal.slots
        return sum(slot in self.screen.lines for slot in slots) / len(slots) if slots else 0.0

    def in_view(self) -> float:
        """The share of the slots that stand on the page now, beside the instruction."""
        slots = self.goal.slots
        return sum(map(self._stands, slots)) / len(slots) if slots else 0.0

    def _stands(self, slot: str) -> bool:
        """Whether the slot is on the page, beside the instruction."""
        for line in self.screen.places.get(slot.split(maxsplit=1)[0], ()):
            spaced = f" {line} "
            if (
                f" {slot} " in spaced
                and spaced not in self.goal.text
                and self.goal.text not in spaced
            ):
                return True
        return False

    def agreement(self, one: Filled) -> float | None:
        """Of what the field holds with the goal; None where there is nothing to compare."""
        if is_box(one):
            return self.agrees(one.name) if one.checked else None
        return min(map(self._value_agrees, one.parts), default=None)

    def _value_agrees(self, value: str) -> float:
        """With the goal itself, or with what stands on the page beside a rare word of it."""
        agrees = value_agrees(value, self.goal)
        if agrees < AGREES and self.goal.words & DEEDS["pasted"]:
            others = [one for one in self.screen.fields.values() if value in one.parts]
            return max(agrees, AGREES * (len(others) > 1))
        return agrees if agrees >= AGREES or self.nearness(plain(value)) < BESIDE else AGREES

    def paired(self) -> tuple[float, float]:
        """Of the fields that hold a value of the goal: the share whose name stands nearest to it
        there, and how many have the name of another field nearer. 1 and 0 where there is nothing to
        compare."""
        said = self.goal.text.split()
        fields = [one for one in self.screen.fields.values() if one.values and not is_box(one)]
        names: dict[Filled | ScreenElement, frozenset[str]] = {
            one: _stems(one.name) for one in fields
        }
        names |= {one: _stems(one.name) for one in self.screen.elements if one.role in FIELDS}
        labels = {
            stems: [at for at, word in enumerate(said) if word[:STEM] in stems]
            for stems in names.values()
        }
        own = crossed = 0
        for one in fields:
            places = _positions(said, one.values[0].split())
            stems = names[one]
            if not places or len(one.values) > 1:
                continue
            mine = _nearest(places, labels[stems])
            other = min(
                (_nearest(places, at) for of, at in labels.items() if not of & stems), default=FAR
            )
            own += mine < FAR and mine <= other
            crossed += other < mine
        return own / (own + crossed) if own + crossed else 1.0, float(crossed)

    def field_places(self) -> tuple[float, float]:
        """Of the fields that hold something and of whose kind the goal says an ordinal: how many
        stand there, how many elsewhere."""
        right = wrong = 0
        for one in self.screen.fields.values():
            kinds = frozenset((one.role, one.tag, one.type))
            asked = (
                wanted_places(self.goal, kinds)
                if one.place and (one.values or one.checked)
                else frozenset()
            )
            right += one.place in asked
            wrong += bool(asked) and one.place not in asked
        return float(right), float(wrong)

    def _placed(self, one: Filled) -> bool:
        """Whether it stands where an ordinal of the goal says."""
        return one.place in wanted_places(self.goal, frozenset((one.role, one.tag, one.type)))

    def boxes(self) -> tuple[int, int, float]:
        """Boxes checked that the goal does not name, boxes that it names and that are not, the
        share that is."""
        fields = self.screen.fields.values()
        boxes = {
            one.name: bool(one.checked) for one in fields if is_box(one) and not self._placed(one)
        }
        boxes |= {value: True for one in fields if one.role == "listbox" for value in one.values}
        for one in self.screen.elements:
            if one.role in BOXES and one.name:
                boxes.setdefault(one.name, False)
        meant = [checked for name, checked in boxes.items() if self.agrees(name) >= AGREES]
        wrong = sum(checked and self.agrees(name) < AGREES for name, checked in boxes.items())
        return wrong, meant.count(False), meant.count(True) / len(meant) if meant else 1.0

    def empty(self) -> list[ScreenElement]:
        """Visible fields that hold nothing."""
        full = {
            one.name for one in self.screen.fields.values() if one.text or one.secret or one.checked
        }
        return [one for one in self.screen.elements if one.name not in full]


def _stems(name: str) -> frozenset[str]:
    return frozenset(word[:STEM] for word in name.split() if len(word) > 1)


def _positions(said: list[str], value: list[str]) -> list[int]:
    """Where the words of a value stand; few."""
    size = len(value)
    return [at for at in range(len(said)) if size and said[at : at + size] == value][:8]


def _nearest(places: list[int], others: list[int]) -> int:
    return min((abs(a - b) for a in places for b in others if a != b), default=FAR)


def is_box(one: Filled) -> bool:
    """Whether it is checked rather than written into."""
    return one.checked is not None or one.role in BOXES
