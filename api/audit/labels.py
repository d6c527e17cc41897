"""Holds what people said, as it is stored, against the leaves that were signed of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from api.audit.difference import Difference, differs
from api.audit.label_leaf import LabelLeaf
from api.audit.rows import LabelLeafRow
from api.audit.store import Audits


async def compare_labels(
    audits: Audits, newest: Mapping[str, LabelLeafRow]
) -> AsyncIterator[Difference]:
    """Each stored word is the newest leaf of its slot, and each such leaf has its word, unless one
    of its episodes was deleted. A word that is no leaf yet waits for the next signature."""
    stored: set[str] = set()
    async for row in audits.labels():
        leaf = LabelLeaf.of_word(row)
        stored.add(leaf.slot)
        if row.leaf is None:
            continue
        signed = newest.get(leaf.slot)
        what = f"label {row.number} of {row.first}"
        if signed is None:
            yield Difference("", what, "a word of which no leaf was signed", "one that was signed")
            continue
        for one in differs("", f"{what}: its leaf", row.leaf, signed.number):
            yield one
        for one in differs("", f"{what}: its digest", leaf.digest, signed.digest):
            yield one
    for slot, signed in newest.items():
        if slot not in stored and not await _is_deleted(audits, signed):
            yield Difference(
                signed.first, "label", "none", f"the word of leaf {signed.number}, or a tombstone"
            )


async def _is_deleted(audits: Audits, leaf: LabelLeafRow) -> bool:
    """Whether one of the episodes that a word is about was deleted, and the word with it."""
    for episode in (leaf.first, leaf.second):
        if episode and await audits.tombstone(episode) is not None:
            return True
    return False
