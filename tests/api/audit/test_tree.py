"""The tree is RFC 6962's: the roots that every implementation of it gives for the same leaves."""

from __future__ import annotations

import hashlib

import pytest

from api.audit.tree import Tree, leaf_hash, node_hash, root_of

# The leaves and roots by which Certificate Transparency's own implementations are tested.
LEAVES = [
    bytes.fromhex(x) for x in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657")
] + [bytes(range(0x60, 0x70))]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]


@pytest.mark.parametrize("size", range(len(ROOTS)))
def test_the_known_roots(size: int) -> None:
    assert root_of(LEAVES[:size]) == (size, bytes.fromhex(ROOTS[size]))


def naive(leaves: list[bytes]) -> bytes:
    """The definition in section 2.1, word for word."""
    if len(leaves) < 2:
        return leaf_hash(leaves[0]) if leaves else hashlib.sha256().digest()
    k = 1 << (len(leaves) - 1).bit_length() - 1
    return node_hash(naive(leaves[:k]), naive(leaves[k:]))


def test_a_tree_that_grows_over_restarts_is_the_tree_at_once() -> None:
    tree, leaves = Tree(), [str(n).encode() for n in range(130)]
    for n, leaf in enumerate(leaves):
        tree = Tree.load(tree.size, tree.dump())
        tree.add(leaf)
        assert tree.root() == naive(leaves[: n + 1])


def test_a_size_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="wanted 64"):
        Tree.load(3, bytes(32))
