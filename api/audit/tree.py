"""Merkle trees as RFC 6962, section 2.1, hashes them: a tree that only grows, kept as the roots of
its full parts.

A tree of n leaves is known by at most log2(n) hashes, one for each bit of n: enough to add a leaf
and to give the root, with no leaf read again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

HASH_BYTES = 32


def leaf_hash(data: bytes) -> bytes:
    """Hash a leaf, as RFC 6962, 2.1: MTH({d}) = SHA-256(0x00 || d)."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash two subtrees, as RFC 6962, 2.1: SHA-256(0x01 || left || right)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Tree:
    """A growing tree: ``size`` leaves; ``full`` are the roots of its full parts, the largest
    first."""

    def __init__(self, size: int = 0, full: Iterable[bytes] = ()) -> None:
        self.size = size
        self.full = list(full)

    @classmethod
    def load(cls, size: int, data: bytes) -> Tree:
        """The tree that `dump` gave. Raises `ValueError` where the two do not belong together."""
        full = [data[at : at + HASH_BYTES] for at in range(0, len(data), HASH_BYTES)]
        if len(data) != HASH_BYTES * size.bit_count():
            raise ValueError(
                f"tree: {len(data)} bytes for {size} leaves, wanted {HASH_BYTES * size.bit_count()}"
            )
        return cls(size, full)

    def dump(self) -> bytes:
        """The roots of the full parts, one after the other."""
        return b"".join(self.full)

    def add(self, data: bytes) -> None:
        """Add a leaf with this content on the right."""
        grown = leaf_hash(data)
        size = self.size
        while size & 1:
            grown = node_hash(self.full.pop(), grown)
            size >>= 1
        self.full.append(grown)
        self.size += 1

    def root(self) -> bytes:
        """The tree's hash; of no leaves, SHA-256 of nothing."""
        if not self.full:
            return hashlib.sha256(b"").digest()
        *left, root = self.full
        for part in reversed(left):
            root = node_hash(part, root)
        return root


def root_of(leaves: Iterable[bytes]) -> tuple[int, bytes]:
    """Size and root of a tree over these leaves."""
    tree = Tree()
    for leaf in leaves:
        tree.add(leaf)
    return tree.size, tree.root()
