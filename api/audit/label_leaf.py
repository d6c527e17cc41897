"""What people said of episodes, committed to: each word is a leaf of a tree of its own, whose head
is signed.

A leaf has digests alone, since it outlives the episodes that it names. What a person says of the
same thing later is another leaf; the newest one counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from detectors.model.codec import canonical, sha256

_SLOT = ("tenant", "first", "second", "step", "item", "annotator")
"""Who speaks of what: a later word in the same slot replaces the one before."""
_WORD = (*_SLOT, "task", "choice", "final", "said_at")


class LabelLeaf(NamedTuple):
    """A leaf of the tree over labels. ``slot``: the digest of who spoke of what; ``digest``: of the
    whole word; both are sha256 in hexadecimal digits."""

    first: str
    second: str
    slot: str
    digest: str

    @classmethod
    def of_word(cls, row: Any) -> LabelLeaf:
        """Make the leaf of a stored word, a row of `preferences`."""
        slot, word = (
            sha256(canonical({name: getattr(row, name) for name in names}))
            for names in (_SLOT, _WORD)
        )
        return cls(row.first, row.second, slot, word)

    def body(self) -> bytes:
        """The bytes that the tree hashes."""
        return canonical(self._asdict())


def label_origin(name: str) -> str:
    """The tree over all labels of the service ``name``."""
    return f"{name}/labels"
