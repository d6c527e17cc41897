"""An audited service in few words: episodes that are told whole, what was signed, what verification
finds."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from sqlalchemy import text

from api.audit.difference import Difference
from api.audit.note import PublicKey, split
from api.audit.verifying import Verifier
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from tests.api.service import TASK, Service
from tests.support.logs import Said, clicked, episode, sealed, went

DIGEST = compile_task(task_from_json(TASK)).digest
STEPS = ([went("/cart"), sealed(0)], [went("/"), sealed(1)], [clicked("Buy")])


def whole(*steps: list[Said], close: bool = True) -> list[Said]:
    """An episode whose journal names the ruleset that it was opened under, as a daemon's does."""
    said = episode(*(steps or STEPS), close=close)
    return [("episode.opened", {"task": TASK["id"], "digest": DIGEST}), *said[1:]]


async def told(service: Service, *steps: list[Said], close: bool = True) -> str:
    """A new episode, told in segments of three events."""
    id, token = await service.open()
    said = whole(*steps, close=close)
    await service.tell(id, token, *said, sizes=[3] * len(said))
    return id


async def sign(service: Service) -> None:
    """Sign and deliver all that waits, and the head over all."""
    await service.app.state.parts.checkpointer.turn(head=True)


async def differences(
    service: Service, outside: Path | None = None, episode: str | None = None
) -> list[Difference]:
    """What verification names."""
    parts = service.app.state.parts
    key = PublicKey(parts.signer.name, parts.signer.public)
    notes = split(await asyncio.to_thread(outside.read_text)) if outside else ()
    verifier = Verifier(parts.audits, parts.ledger, parts.settings.limits, key, notes)
    walk = verifier.everything() if episode is None else verifier.episode(episode)
    return [one async for one in walk]


async def tamper(service: Service, statement: str, **values: Any) -> int:
    """Change the database behind the service's back; how many rows it was."""
    async with service.app.state.parts.database.write() as conn:
        if service.app.state.parts.database.embedded:
            await conn.execute(text("PRAGMA defer_foreign_keys = ON"))
        found: int = (await conn.execute(text(statement), values)).rowcount
    return found
