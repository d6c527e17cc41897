"""Append tokens of episodes that are open, made again from another secret."""

from __future__ import annotations

from sqlalchemy import insert, select

from api.auth.store import Terms, token_row
from api.auth.tables import tokens
from api.core.keys import Keys, token_hash
from api.db.database import Database
from api.episodes.tables import episodes

_OPEN = select(episodes.c.id, episodes.c.tenant).where(episodes.c.status != "closed")


async def add_append_tokens(database: Database, keys: Keys) -> int:
    """Let the tokens that follow from ``keys`` append to the open episodes, beside those that their
    daemons have; return of how many episodes they did not yet."""
    added = 0
    for episode in await database.all(_OPEN):
        token = keys.append_token(episode.id)
        known = select(tokens.c.id).where(tokens.c.hash == token_hash(token))
        if await database.first(known) is not None:
            continue
        terms = Terms(episode.tenant)
        row = token_row(token, "append", f"daemon of {episode.id}", terms, episode.id)
        async with database.write() as conn:
            await conn.execute(insert(tokens), row)
        added += 1
    return added
