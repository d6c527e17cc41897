"""What is on the screen and in the fields, compared with what the goal names."""

from __future__ import annotations

from api.stages.model.screen import BOXES, MOST, Filled, Screen, Shown
from api.stages.model.words import in_goal, read_goal, value_agrees

CONTROLS = BOXES | frozenset(
    "button link tab menuitem textbox searchbox combobox listbox slider spinbutton treeitem gridcell".split()
)
NEAR = 12
"""Words of text within which a value counts as standing near a word of the goal."""
AGREES = 0.85
"""From here on a name or a value agrees with the goal."""


class Compared:
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
            if len(self._known) < MOST:
                self._known[name] = found
        return found

    def near(self, text: str) -> float:
        """1 beside a rare word of the goal in one line of the page, falling to 0 at `NEAR` words away."""
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

    def regret(self, target: Shown, agrees: float) -> float:
        """How much better another visible element with the same role and tag agrees."""
        best = 0.0
        for one in self.screen.elements:
            if one.role == target.role and one.name != target.name:
                best = max(best, self.agrees(one.name))
        return max(0.0, best - agrees)

    def in_view(self) -> float:
        """The share of the slots that stand on the page now, beside the instruction."""
        slots = self.goal.slots
        return sum(map(self._stands, slots)) / len(slots) if slots else 0.0

    def _stands(self, slot: str) -> bool:
        """Whether the slot is on the page, beside the instruction."""
        for line in self.screen.places.get(slot.split(maxsplit=1)[0], ()):
            spaced = f" {line} "
            if f" {slot} " in spaced and spaced not in self.goal.text and self.goal.text not in spaced:
                return True
        return False

    def agreement(self, one: Filled) -> float | None:
        """Of what the field holds with the goal; None where there is nothing to compare."""
        if is_box(one):
            return self.agrees(one.name) if one.checked else None
        return value_agrees(one.text, self.goal) if one.text else None

    def boxes(self) -> tuple[int, int, float]:
        """Boxes checked that the goal does not name, boxes that it names and that are not, the share that is."""
        boxes = {one.name: bool(one.checked) for one in self.screen.fields.values() if is_box(one)}
        for one in self.screen.elements:
            if one.role in BOXES and one.name:
                boxes.setdefault(one.name, False)
        meant = [checked for name, checked in boxes.items() if self.agrees(name) >= AGREES]
        wrong = sum(checked and self.agrees(name) < AGREES for name, checked in boxes.items())
        return wrong, meant.count(False), meant.count(True) / len(meant) if meant else 1.0

    def empty(self) -> list[Shown]:
        """Visible fields that hold nothing."""
        full = {one.name for one in self.screen.fields.values() if one.text or one.secret or one.checked}
        return [one for one in self.screen.elements if one.name not in full]


def is_box(one: Filled) -> bool:
    """Whether it is checked rather than written into."""
    return one.checked is not None or one.role in BOXES
