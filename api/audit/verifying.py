"""Verifies a whole log: each episode recomputed, what was signed of it, and the tree over all of
them.

Nothing that is checked is believed: roots, statements and rewards are made again from segments and
tasks, by the functions that made them. What a signature is checked with comes from outside the
database.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from api.audit.difference import Difference, differs, format_value
from api.audit.judging import chain_head
from api.audit.label_leaf import LabelLeaf, label_origin
from api.audit.labels import compare_labels
from api.audit.note import Checkpoint, NoteError, PublicKey, open_note, parse_checkpoint
from api.audit.replaying import Replaying
from api.audit.rows import LabelLeafRow
from api.audit.statement import (
    encode_statement,
    episode_head,
    episode_of,
    log_origin,
    rewards_digest,
    statement,
)
from api.audit.store import Audits
from api.audit.stored import (
    checkpoints,
    compare_derived,
    parse_stored,
    stored_label_tree,
    stored_tree,
    tasks,
    tombstones,
)
from api.audit.tree import Tree
from api.core.settings import Limits
from api.episodes.rows import EpisodeRow
from api.episodes.tombstones import is_genuine
from api.rewards.ledger import Ledger


class Outside:
    """Checkpoints that left the database: the roots that were seen for each origin and size."""

    def __init__(self, notes: Iterable[str], key: PublicKey) -> None:
        self.roots: dict[str, dict[int, bytes]] = {}
        self.problems: list[Difference] = []
        for number, note in enumerate(notes, 1):
            self._take(number, note, key)

    def _take(self, number: int, note: str, key: PublicKey) -> None:
        """Add a note from outside; one that does not open, and a second root at one size, are
        problems."""
        try:
            found = parse_checkpoint(open_note(note, key))
        except NoteError as error:
            self.problems.append(
                Difference("", f"checkpoint {number} outside", str(error), "a note of this key")
            )
            return
        known = self.roots.setdefault(found.origin, {})
        if known.setdefault(found.size, found.root) != found.root:
            what = f"{found.origin} at size {found.size}"
            self.problems.append(
                Difference("", what, "two roots", "one: somebody with the key signed two histories")
            )


class Verifier:
    """``key`` is the service's public key, ``notes`` the checkpoints that were kept outside its
    database."""

    def __init__(
        self,
        audits: Audits,
        ledger: Ledger,
        limits: Limits,
        key: PublicKey,
        notes: Iterable[str] = (),
    ) -> None:
        self._audits, self._ledger, self._limits, self._key = audits, ledger, limits, key
        self._outside = Outside(notes, key)
        self.episodes = self.events = self.rewards = 0

    async def everything(self) -> AsyncIterator[Difference]:
        """Every episode, the tree over them and the checkpoints outside."""
        for problem in self._outside.problems:
            yield problem
        async for row in self._audits.episode_rows():
            async for one in self.of_row(row):
                yield one
        async for one in self._tree():
            yield one
        async for one in self._verify_labels():
            yield one
        for check in (
            checkpoints(self._audits, self._key),
            tombstones(self._audits, self._key),
            tasks(self._audits),
        ):
            async for one in check:
                yield one
        for origin in self._outside.roots:
            episode = episode_of(self._key.name, origin)
            if episode is not None and await self._is_known_outside_alone(episode):
                async for one in self._verify_tombstone(episode):
                    yield one

    async def _is_known_outside_alone(self, episode: str) -> bool:
        """Whether there is neither the episode nor a leaf of it, with which it was looked for."""
        if await self._audits.leaf(episode) is not None:
            return False
        return await self._audits.episode(episode) is None

    async def episode(self, episode: str) -> AsyncIterator[Difference]:
        """One episode, whether it is there or was deleted."""
        row = await self._audits.episode(episode)
        async for one in self._verify_tombstone(episode) if row is None else self.of_row(row):
            yield one

    async def of_row(self, row: EpisodeRow) -> AsyncIterator[Difference]:
        """One stored episode: recomputed, then against what was signed."""
        replaying = Replaying(self._audits, self._limits, row)
        async for one in replaying.differences():
            yield one
        self.episodes += 1
        self.events += replaying.events
        self.rewards += replaying.rewards
        head = episode_head(self._key.name, row.id, replaying.digests)
        async for one in self._heads(row, head):
            yield one
        async for one in self._statement(row, head):
            yield one
        if replaying.whole:
            async for one in compare_derived(self._audits, self._ledger, row, replaying):
                yield one

    async def _heads(self, row: EpisodeRow, head: Checkpoint) -> AsyncIterator[Difference]:
        """The signed heads of one episode, in the database and outside."""
        # Asked first: what is signed meanwhile is no finding.
        is_queued = await self._audits.queued(row.id)
        notes = await self._audits.notes(head.origin)
        for note in notes:
            what = f"checkpoint {note.number}"
            try:
                signed = parse_checkpoint(open_note(note.note, self._key))
            except NoteError as error:
                yield Difference(row.id, what, str(error), "a note of this key")
                continue
            for difference in differs(row.id, f"log, by {what}", head.text(), signed.text()):
                yield difference
        what = "log, by the checkpoint outside"
        for size, root in self._outside.roots.get(head.origin, {}).items():
            outside = Checkpoint(head.origin, size, root)
            for difference in differs(row.id, what, head.text(), outside.text()):
                yield difference
        if not notes and row.status == "closed" and not is_queued:
            yield Difference(row.id, "checkpoint", "none", "one: the episode is closed")

    async def _statement(self, row: EpisodeRow, head: Checkpoint) -> AsyncIterator[Difference]:
        """The statement that was signed when the episode was closed."""
        is_queued = await self._audits.queued(row.id)
        leaf = await self._audits.leaf(row.id)
        if leaf is None:
            if row.status == "closed" and not is_queued:
                yield Difference(row.id, "statement", "none", "one: the episode is closed")
            return
        task = await self._audits.task(row.task_number)
        opener = await self._audits.opener(row.opened_by)
        signed = parse_stored(bytes(leaf.body))
        # What a person or an audit said later lengthens the log of verdicts; what was signed stays
        # its beginning.
        until = signed.get("verdicts")
        said = chain_head(
            await self._audits.verdicts(row.id),
            until if type(until) is int and until >= 0 else None,
        )
        found = statement(
            row, task, opener, head, rewards_digest(await self._ledger.all(row.id)), said
        )
        if encode_statement(found) == bytes(leaf.body):
            return
        for name in sorted(found.keys() | signed.keys()):
            for one in differs(
                row.id, f"{name}, by the statement", found.get(name), signed.get(name)
            ):
                yield one

    async def _tree(self) -> AsyncIterator[Difference]:
        """The tree over all episodes: its leaves, its heads, and whether each leaf's episode is
        accounted for."""
        origin = log_origin(self._key.name)
        wanted, problems = await self._signed_roots(origin)
        for one in problems:
            yield one
        tree = Tree()
        async for leaf in self._audits.leaves():
            for one in differs(leaf.episode, "number of its leaf", leaf.number, tree.size):
                yield one
            tree.add(bytes(leaf.body))
            for one in _compare_root("tree", tree, wanted):
                yield one
            if leaf.stored is None:
                async for one in self._verify_tombstone(leaf.episode):
                    yield one
        for one in _missing_leaves("tree", tree, wanted):
            yield one
        async for one in stored_tree(self._audits, self._key, tree):
            yield one

    async def _verify_labels(self) -> AsyncIterator[Difference]:
        """The tree over what people said: its leaves, its heads, and each word that is shown."""
        wanted, problems = await self._signed_roots(label_origin(self._key.name))
        for one in problems:
            yield one
        tree = Tree()
        newest: dict[str, LabelLeafRow] = {}
        async for row in self._audits.label_leaves():
            for one in differs("", f"number of label leaf {tree.size}", row.number, tree.size):
                yield one
            tree.add(LabelLeaf(row.first, row.second, row.slot, row.digest).body())
            newest[row.slot] = row
            for one in _compare_root("label tree", tree, wanted):
                yield one
        for one in _missing_leaves("label tree", tree, wanted):
            yield one
        async for one in stored_label_tree(self._audits, self._key, tree):
            yield one
        async for one in compare_labels(self._audits, newest):
            yield one

    async def _signed_roots(self, origin: str) -> tuple[dict[int, bytes], list[Difference]]:
        """The signed roots of a tree by size, in the database and outside; and notes that are
        none."""
        wanted = dict(self._outside.roots.get(origin, {}))
        problems = []
        for row in await self._audits.notes(origin):
            try:
                found = parse_checkpoint(open_note(row.note, self._key))
            except NoteError as error:
                problems.append(
                    Difference("", f"checkpoint {row.number}", str(error), "a note of this key")
                )
                continue
            if wanted.setdefault(found.size, found.root) != found.root:
                problems.append(
                    Difference(
                        "", f"checkpoint {row.number}", "another root than outside", "the same"
                    )
                )
        return wanted, problems

    async def _verify_tombstone(self, episode: str) -> AsyncIterator[Difference]:
        """An episode that was signed and is not there: only a genuine tombstone accounts for it."""
        tombstone = await self._audits.tombstone(episode)
        if tombstone is None:
            yield Difference(episode, "episode", "none", "its log, or a tombstone")
        elif not is_genuine(tombstone, self._key.key):
            yield Difference(
                episode,
                "tombstone",
                format_value(bytes(tombstone.body)),
                "one that this key signed",
            )


def _compare_root(what: str, tree: Tree, wanted: dict[int, bytes]) -> Iterable[Difference]:
    """Hold the tree's root against the one that was signed at its size, and take that out."""
    root = tree.root()
    signed = wanted.pop(tree.size, root)
    return differs("", f"{what} at size {tree.size}", root.hex(), signed.hex())


def _missing_leaves(what: str, tree: Tree, wanted: Iterable[int]) -> Iterable[Difference]:
    """Name the signed sizes that the tree does not reach."""
    for size in wanted:
        yield Difference(
            "", what, f"{tree.size} leaves", f"{size} at least, by a signed checkpoint"
        )
