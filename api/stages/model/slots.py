"""What fields hold, against the slots of the goal."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from api.stages.model.clicks import Clicks
from api.stages.model.goal_comparison import AGREES, GoalComparison
from api.stages.model.step import Step
from api.stages.model.words import plain, ratio

MAX_LEFT = 3


class Slots:
    """The slots found so far, and how well the fields hold what the goal asks for."""

    def __init__(self, comparison: GoalComparison, clicks: Clicks) -> None:
        self.counts = {"submits": 0.0, "early": 0.0}
        self._comparison = comparison
        self._clicks = clicks
        self._recall = 0.0

    def fold_step(self, step: Step, *, ended: bool) -> dict[str, float]:
        """Return the features of the fields; ``ended``: the step ended something."""
        comparison, slots = self._comparison, self._comparison.goal.slots
        in_fields = self._find_slots(step)
        found = list(self._clicks.found_slots)
        recall = ratio(len(found), len(slots), 1.0)
        texts = self._text_agreements()
        changed = self._changed_agreements(step)
        boxes = comparison.compare_boxes()
        pairs, places = comparison.pair_fields(), comparison.field_places()
        missing = comparison.empty_fields() if recall < 1 else 0
        features = {
            "fill_goal": min(changed, default=0.0),
            "paired": pairs.share,
            "crossed": pairs.crossed,
            "fields_placed": places.placed,
            "fields_off": places.misplaced,
            "slots_gained": max(0.0, recall - self._recall),
            "wrong_gained": float(_count_wrong(changed)),
            "slots": math.log1p(len(slots)),
            "recall": recall,
            "recall_fields": ratio(len(in_fields), len(slots), 0.0),
            "boxes_recall": boxes.recall,
            "precision": ratio(sum(texts), len(texts), 1.0),
            "wrong_now": float(_count_wrong(texts) + boxes.wrong),
            "boxes_wrong": float(boxes.wrong),
            "boxes_left": float(boxes.left),
            "fields_left": float(min(MAX_LEFT, missing)),
            "order": _order(found, slots),
        }
        self._recall = recall
        self.counts["submits"] += ended
        self.counts["early"] += ended and (recall < 1 or boxes.left > 0)
        left = len(slots) - len(found) + boxes.left
        return features | self._texts_changed(step) | _at_ending(features, left, ended=ended)

    def _find_slots(self, step: Step) -> list[str]:
        """Return the slots that fields hold now; note these and those beside which what changed
        stands on the page."""
        for _, after in step.changed:
            for value in after.values:
                self._clicks.find_slots(self._comparison.beside(value))
        held: set[str] = set()
        for field in self._comparison.screen.fields.values():
            held.update(field.values)
            if field.checked:
                held.add(field.name)
        in_fields = [slot for slot in self._comparison.goal.slots if slot in held]
        self._clicks.find_slots(in_fields)
        return in_fields

    def _text_agreements(self) -> list[float]:
        """How well each text that somebody put into a field agrees with the goal."""
        fields = self._comparison.screen.fields.values()
        texts = [field for field in fields if not (field.is_box or field.given)]
        agreements = map(self._comparison.agreement, texts)
        return [agreement for agreement in agreements if agreement is not None]

    def _changed_agreements(self, step: Step) -> list[float]:
        """How well each field that the step changed agrees with the goal."""
        agreements = (self._comparison.agreement(after) for _, after in step.changed)
        return [agreement for agreement in agreements if agreement is not None]

    def _texts_changed(self, step: Step) -> dict[str, float]:
        """The features of where the changed values stand on the page."""
        texts = [plain(after.text or "") for _, after in step.changed]
        return {
            "fill_line": float(any(text in self._comparison.screen.lines for text in texts)),
            "fill_near": max(map(self._comparison.nearness, texts), default=0.0),
        }


def _at_ending(features: dict[str, float], left: int, *, ended: bool) -> dict[str, float]:
    """The features of how things stood where something was ended."""
    return {
        "end_recall": features["recall"] if ended else -1.0,
        "end_precision": features["precision"] if ended else -1.0,
        "end_wrong": features["wrong_now"] if ended else 0.0,
        "end_left": float(left) if ended else 0.0,
    }


def _count_wrong(agreements: Sequence[float]) -> int:
    return sum(agreement < AGREES for agreement in agreements)


def _order(found: Sequence[str], slots: Sequence[str]) -> float:
    """Of neighbouring slots that were found the share found in the goal's order; 1 without any."""
    places = [slots.index(slot) for slot in found]
    in_order = [a < b for a, b in itertools.pairwise(places)]
    return ratio(sum(in_order), len(in_order), 1.0)
