"""Signs the head of each closed episode, of what people said, and, daily, of the tree over all
episodes; sees to their delivery.

What has to be signed is queued in the transaction that closes the episode, so a crash at any moment
loses none. Of many replicas one works at a time, and the tree's row is locked while it grows: each
checkpoint is made once. Where somebody gave the database another key meanwhile (`milestoned db
adopt-key`), nothing more is signed with this one.
"""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import orjson
import structlog
import zstandard

from api.audit.counting import Counting
from api.audit.delivery import Delivery, DeliveryError
from api.audit.facts import Facts
from api.audit.judging import chain_head
from api.audit.label_leaf import LabelLeaf, label_origin
from api.audit.note import Checkpoint, PublicKey, Signing, sign_note
from api.audit.statement import (
    encode_statement,
    episode_head,
    log_origin,
    rewards_digest,
    statement,
)
from api.audit.store import LABEL_TREE, Audits
from api.audit.tree import Tree
from api.core.background import AFTER_START_S, PeriodicTask
from api.core.errors import ForeignKeyError, UnavailableError
from api.core.metrics import Metrics
from api.db.database import now
from api.log.frames import texts_in
from api.log.rows import SegmentRow
from api.rewards.ledger import Ledger
from api.start_states.facts import StartState
from detectors.model.codec import sha256

EVERY_S = 1.0
"""How often the queue is looked at."""
SLOWEST_S = 60.0
"""The longest pause after deliveries that failed; it doubles from `EVERY_S` on."""
TOGETHER = 64
"""The most episodes in one transaction."""
LABELS_TOGETHER = 500
"""The most words of people in one transaction."""

log = structlog.get_logger(__name__)


class _Closed(NamedTuple):
    """A closed episode, read and ready to be signed. ``leaf`` is None where its rows are gone or
    broken, ``facts`` and ``start`` where it can't be counted."""

    episode: str
    leaf: bytes | None
    head: Checkpoint | None
    facts: Facts | None
    task_number: int = 0
    start: StartState | None = None


class Checkpointer:
    """The one who signs, in the background of a service."""

    def __init__(
        self,
        audits: Audits,
        ledger: Ledger,
        signer: Signing,
        delivery: Delivery | None,
        metrics: Metrics,
    ) -> None:
        self._audits, self._ledger, self._signer = audits, ledger, signer
        self._delivery, self._metrics = delivery, metrics
        self.periodic = PeriodicTask(
            "checkpoints",
            self._run,
            retry_s=EVERY_S,
            max_retry_s=SLOWEST_S,
            postponed="Checkpoints have to wait.",
            failed="Checkpoints can't be made.",
            expected=(UnavailableError, DeliveryError),
        )
        self._turn = asyncio.Lock()

    def start(self) -> None:
        """Sign in the background until `stop`."""
        self.periodic.start(AFTER_START_S)

    async def stop(self) -> None:
        """Cancel the turn that runs and return once it ended; what is queued stays queued."""
        await self.periodic.stop()
        if self._delivery is not None:
            await self._delivery.close()

    async def _run(self) -> float | None:
        """Sign what has closed. Return the seconds to the next turn, None where another key signs
        this database."""
        try:
            has_more = await self.turn()
        except ForeignKeyError as error:
            log.error("This service signs no more checkpoints.", why=error.detail)
            return None
        return 0.0 if has_more else EVERY_S

    async def turn(self, *, head: bool = False) -> bool:
        """Sign what is queued, and the head over all where it is due or ``head``; deliver. Whether
        there is more.

        Raises `UnavailableError`, `DeliveryError`, `ForeignKeyError`.
        """
        async with self._turn, self._audits.alone() as mine:
            if not mine:
                return False
            pending = await self._audits.pending(TOGETHER)
            await self._sign([await self._read(episode) for episode in pending])
            if len(pending) == TOGETHER:
                return True  # all are signed first, whatever becomes of deliveries
            await self._sign_labels()
            await self._sign_head(head)
            await self._deliver()
            return False

    async def _read(self, episode: str) -> _Closed:
        """Read a closed episode whole and count its facts; what does not read any more is not
        signed."""
        row = await self._audits.episode(episode)
        task = None if row is None else await self._audits.task(row.task_number)
        if row is None or task is None:
            return _Closed(episode, None, None, None)
        digests = []
        counting = Counting(episode)
        try:
            async for segment in self._audits.segments(episode):
                digests += await asyncio.to_thread(_digests_of, segment)
                await asyncio.to_thread(counting.read, segment.frame)
            bodies = await self._ledger.all(episode)
            facts = counting.finish([orjson.loads(body) for body in bodies])
            head = episode_head(self._signer.name, episode, digests)
            said = chain_head(await self._audits.verdicts(episode))
            opener = await self._audits.opener(row.opened_by)
            leaf = encode_statement(
                statement(row, task, opener, head, rewards_digest(bodies), said)
            )
            return _Closed(episode, leaf, head, facts, row.task_number, counting.start())
        except (zstandard.ZstdError, ValueError) as error:
            # It was stored whole: somebody changed it since. Unsigned, it is named by `audit
            # verify`.
            log.error(
                "A closed episode can't be read, so it is not signed.",
                episode=episode,
                why=str(error),
            )
            return _Closed(episode, None, None, None)

    async def _sign(self, closed: list[_Closed]) -> None:
        """Sign episodes in one transaction: leaf, facts, start and note of each, and the grown
        tree."""
        if not closed:
            return
        made = 0
        async with self._audits.signing() as work:
            self._own(work.tree)
            tree = Tree.load(work.tree.size, bytes(work.tree.full))
            for one in closed:
                if not await work.take(one.episode) or one.leaf is None or one.head is None:
                    continue
                await work.add_leaf(tree.size, one.episode, one.leaf)
                if one.facts is not None:
                    await work.add_facts(one.episode, one.facts.row(), one.facts.findings())
                if one.start is not None:
                    await work.add_start(one.episode, one.task_number, one.start)
                await work.add_note(
                    one.head.origin, one.head.size, sign_note(one.head.text(), self._signer)
                )
                tree.add(one.leaf)
                made += 1
            await work.grown(size=tree.size, full=tree.dump())
        self._metrics.checkpoints.labels("episode").inc(made)

    async def _sign_labels(self) -> None:
        """Add to their tree what people said since, and sign its head."""
        if not await self._audits.unsigned_labels(1):
            return
        if (over_all := await self._audits.tree()) is not None:
            self._own(over_all)
        async with self._audits.signing(LABEL_TREE) as work:
            tree = Tree.load(work.tree.size, bytes(work.tree.full))
            for word in await work.unsigned_labels(LABELS_TOGETHER):
                leaf = LabelLeaf.of_word(word)
                await work.add_label(tree.size, word.number, leaf)
                tree.add(leaf.body())
            head = Checkpoint(label_origin(self._signer.name), tree.size, tree.root())
            await work.add_note(head.origin, head.size, sign_note(head.text(), self._signer))
            signed = {"signed_size": tree.size, "signed_day": _today()}
            await work.grown(size=tree.size, full=tree.dump(), **signed)
        self._metrics.checkpoints.labels("labels").inc()

    async def _sign_head(self, asked: bool) -> None:
        """The head over all is due where a day has passed since the last one and the tree has
        grown."""
        if not _due(await self._audits.tree(), asked):
            return
        async with self._audits.signing() as work:
            if not _due(work.tree, asked):
                return
            self._own(work.tree)
            tree = Tree.load(work.tree.size, bytes(work.tree.full))
            head = Checkpoint(log_origin(self._signer.name), tree.size, tree.root())
            await work.add_note(head.origin, head.size, sign_note(head.text(), self._signer))
            await work.grown(signed_size=tree.size, signed_day=_today())
        self._metrics.checkpoints.labels("all").inc()

    def _own(self, tree: Any) -> None:
        """Raise `ForeignKeyError` where another key signs this database by now."""
        own = PublicKey(self._signer.name, self._signer.public).text()
        if tree.key not in (None, own):
            raise ForeignKeyError(
                f"signing key: got {own}, but the database is signed with {tree.key} by now"
            )

    async def _deliver(self) -> None:
        """Hand the notes that were not delivered yet to where they go, in their order."""
        if self._delivery is None:
            return
        while rows := await self._audits.undelivered(TOGETHER):
            for row in rows:
                await self._delivery.send(row.note)
                await self._audits.delivered(row.number)


def _digests_of(row: SegmentRow) -> list[str]:
    """Digests of the segments in a stored row: of one as the row has it, for `audit verify` to hold
    against its text."""
    texts = list(texts_in(row.frame))
    return [row.digest] if len(texts) == 1 else [sha256(text) for text in texts]


def _today() -> str:
    return now()[:10]


def _due(tree: Any, asked: bool) -> bool:
    """Whether the tree is to be signed: it grew, and a day passed or somebody asks."""
    if tree is None or tree.size == tree.signed_size:
        return False
    return asked or tree.signed_day < _today()
