"""What one person is asked next (pure): what waits for an answer, what others disagree on, what one
other person said, then pairs that nobody saw. Nobody is asked the same twice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

NEXT_TO = 2
"""An episode is paired with so many others of its task: a chain of pairs ranks them all."""


class QueueItem(NamedTuple):
    """A pair (``second`` not empty) or an item of a step; ``why`` it comes now; ``waits``: its
    verdict can be final."""

    task: str
    first: str
    second: str
    step: int
    item: str
    why: str
    waits: bool = False

    @property
    def key(self) -> tuple[str, str, int, str]:
        """The two episodes, the step and the item, which tell it from all others in the queue."""
        return self.first, self.second, self.step, self.item


def queue(
    waiting: Sequence[object],
    unsettled: Iterable[tuple[str, int, str, str, str]],
    words: Sequence[object],
    closed: Sequence[object],
) -> list[QueueItem]:
    """Everything that people can be asked, in the order in which they should be; each once."""
    found: dict[tuple[str, str, int, str], QueueItem] = {}
    for item in (*_steps(waiting, unsettled), *_again(words), *_pairs(closed)):
        found.setdefault(item.key, item)
    return list(found.values())


def open_to(items: Sequence[QueueItem], words: Sequence[Any], annotator: str) -> list[QueueItem]:
    """Those that this person has not answered."""
    mine = {
        (word.first, word.second, word.step, word.item)
        for word in words
        if word.annotator == annotator
    }
    return [item for item in items if item.key not in mine]


def by_item(words: Sequence[Any]) -> dict[tuple[str, str, int, str], list[Any]]:
    """People's words together, by what they are about."""
    found: dict[tuple[str, str, int, str], list[Any]] = {}
    for word in words:
        found.setdefault((word.first, word.second, word.step, word.item), []).append(word)
    return found


def is_disagreed(words: Iterable[Any]) -> bool:
    """Whether those who could tell say different things."""
    return len({word.choice for word in words if word.choice != "unsure"}) > 1


def is_swapped(item: QueueItem, annotator: str) -> bool:
    """Whether this person sees the second on the left: by chance, but always the same, so that no
    side is favoured."""
    return bool(hashlib.sha256(f"{annotator} {item.first} {item.second}".encode()).digest()[0] & 1)


def _steps(
    waiting: Sequence[Any], unsettled: Iterable[tuple[str, int, str, str, str]]
) -> Iterator[QueueItem]:
    """Yield steps that wait for a person's answer, then those that a person could settle."""
    for row in waiting:
        yield QueueItem(
            row.task, row.episode, "", row.step, row.item, "it waits for an answer", True
        )
    for episode, step, item, task, why in unsettled:
        yield QueueItem(task, episode, "", step, item, why)


def _again(words: Sequence[Any]) -> Iterator[QueueItem]:
    """Yield items on which people disagree, then those on which one has said."""
    groups = by_item(words)
    for why, wanted in (
        ("people disagree on it", True),
        ("somebody else has said, and agreement can be told", False),
    ):
        yield from (
            QueueItem(said[0].task, *key, why)
            for key, said in groups.items()
            if is_disagreed(said) == wanted
        )


def _pairs(closed: Sequence[Any]) -> Iterator[QueueItem]:
    """Yield pairs of closed episodes of one task, mixed so that each meets some others."""
    by_task: dict[str, list[str]] = {}
    for row in closed:
        by_task.setdefault(row.task, []).append(row.id)
    for apart in range(1, NEXT_TO + 1):
        for task, ids in sorted(by_task.items()):
            mixed = sorted(ids, key=lambda id: hashlib.sha256(id.encode()).digest())
            for one, other in zip(mixed, mixed[apart:], strict=False):
                yield QueueItem(
                    task, min(one, other), max(one, other), -1, "", "nobody has said yet"
                )
