"""What is left of a deleted episode: one statement, signed by the service, that it was here and why
it is not.

The statement names the chain's head, so a copy of the episode kept elsewhere can still be held
against it, and an auditor tells a deletion from a loss.
"""

from __future__ import annotations

import base64
from typing import Any

import orjson
from sqlalchemy import bindparam, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from api.core.errors import GoneError
from api.core.signing import Signer, verify
from api.db.database import Database, now
from api.episodes.rows import EpisodeRow, TombstoneRow
from api.episodes.tables import tombstones
from detectors.model.codec import canonical

PREAMBLE = b"milestoned tombstone 1\n"
"""What is signed begins with this, so that no other signature of the same key can pass for one."""

_OF_EPISODE = select(tombstones).where(tombstones.c.episode == bindparam("episode"))
_OF_EITHER = select(tombstones).where(
    or_(tombstones.c.episode == bindparam("episode"), tombstones.c.intent == bindparam("intent"))
)


def tombstone_row(signer: Signer, episode: EpisodeRow, reason: str, by: str) -> dict[str, object]:
    """The tombstone of the episode's row, which ``by`` (a token's id, or a setting) deletes for
    ``reason``."""
    at = now()
    told = ("task", "version", "digest", "status", "through", "head", "opened_at", "closed_at")
    statement = {"episode": episode.id, **{name: getattr(episode, name) for name in told}}
    body = canonical({**statement, "reason": reason, "deleted_by": by, "deleted_at": at})
    kept = {
        "episode": episode.id,
        "tenant": episode.tenant,
        "intent": episode.intent,
        "deleted_at": at,
    }
    return {**kept, "body": body, "signature": signer.sign(PREAMBLE + body), "key": signer.public}


def document(row: TombstoneRow) -> dict[str, Any]:
    """A tombstone as the wire has it: the statement, and what proves it."""
    return {
        "tombstone": orjson.loads(row.body),
        "signature": base64.b64encode(row.signature).decode(),
        "key": base64.b64encode(row.key).decode(),
    }


def is_genuine(row: TombstoneRow, public: bytes) -> bool:
    """Whether the tombstone's statement is about its episode and signed by the key ``public``."""
    body = bytes(row.body)
    return orjson.loads(body).get("episode") == row.episode and verify(
        public, PREAMBLE + body, bytes(row.signature)
    )


async def refuse_deleted(conn: AsyncConnection, episode: str, intent: str | None) -> None:
    """Raise `GoneError` where an episode of this id, or opened by this intent, was deleted."""
    row = (await conn.execute(_OF_EITHER, {"episode": episode, "intent": intent})).first()
    if row is not None:
        raise gone_error(row)


async def find(database: Database, episode: str) -> TombstoneRow | None:
    """The tombstone of an episode, or None."""
    row: TombstoneRow | None = await database.first(_OF_EPISODE, {"episode": episode})
    return row


def gone_error(row: TombstoneRow) -> GoneError:
    """The refusal that shows the tombstone."""
    said = document(row)
    statement = said["tombstone"]
    return GoneError(
        f"episode: {row.episode} was deleted at {row.deleted_at} by {statement['deleted_by']}:"
        f" {statement['reason']}",
        **said,
    )
