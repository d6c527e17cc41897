"""Every column of every table: verification proves it, or it is said here why nobody needs to
believe it.

The columns come from the schema itself, so that a new one fails until somebody decides.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlalchemy import Boolean, Column, LargeBinary, Table, and_, select, text, update
from sqlalchemy import types as sql

from api.db.base import metadata
from api.labelling.store import LabelWord
from tests.api.audit.audited import differences, sign, told, whole
from tests.api.service import TASK, Service, Store, running

PROVEN: dict[str, dict[str, str]] = {
    "episodes": {
        "task_number": "task", "task": "task, by the statement", "version": "version, by the statement",
        "digest": "ruleset, by the statement", "labels": "labels_sha256, by the statement",
        "seed": "seed, by the statement", "status": "episode.status", "through": "episode.through",
        "head": "episode.head", "step": "episode.step", "success": "episode.success", "total": "episode.total",
        "milestones": "episode.milestones", "opened_at": "opened_at, by the statement",
        "closed_at": "closed_at, by the statement", "tenant": "tenant, by the statement",
        "opened_by": "opened_by, by the statement", "guided": "guided, by the statement",
    },
    "tasks": {
        "tenant": "task.tenant", "id": "task.id", "version": "task.version",
        "digest": "task_digest, by the statement", "attainable": "attainable, by the statement",
        "body": "task_sha256, by the statement",
    },
    "segments": {
        "episode": "segment", "first": "segment", "last": "segment 1.last", "prev": "segment 1.prev",
        "digest": "segment 1.digest", "frame": "segment 1",
    },
    "engine_states": {
        "episode": "engine state", "through": "engine state", "body": "engine state at event",
    },
    "steps": {"episode": "step 0", "step": "step", "began": "step 0.began", "ended": "step 0.ended"},
    "milestones": {
        "episode": "milestone 0", "number": "milestone", "seq": "milestone 0.seq", "step": "milestone 0.step",
        "id": "milestone 0.id", "worth": "milestone 0.worth", "body": "milestone 0.body",
    },
    "rewards": {
        "episode": "reward of step 0", "step": "reward of step", "status": "reward of step 0.status",
        "reward": "reward of step 0.reward", "through": "reward of step 0.through", "body": "reward of step 0.body",
    },
    "leaves": {"number": "number of its leaf", "episode": "statement", "body": "tree at size"},
    "checkpoints": {"origin": "checkpoint 1.origin", "size": "checkpoint 1.size", "note": "checkpoint 1"},
    "audit_trees": {
        "name": "stored tree", "size": "stored tree.size", "full": "stored tree.full",
        "signed_size": "stored tree.signed_size", "signed_day": "stored tree.signed_day", "key": "stored tree.key",
    },
    "episode_facts": {
        "episode": "facts", "steps": "facts.steps", "masked": "facts.masked", "calls": "facts.calls",
        "syntax_errors": "facts.syntax_errors", "execution_errors": "facts.execution_errors",
        "repeated_calls": "facts.repeated_calls", "judged": "facts.judged", "cost": "facts.cost",
        "body": "facts.milestones",
    },
    "label_leaves": {
        "number": "number of label leaf", "first": "label tree at size", "second": "label tree at size",
        "slot": "label tree at size", "digest": "label tree at size",
    },
    "preferences": dict.fromkeys(
        ("tenant", "task", "first", "second", "step", "item", "choice", "annotator", "final", "said_at", "leaf"),
        "label 1 of",
    ),
    "episode_marks": {"key": "marks", "tenant": "marks", "opened_at": "marks", "episode": "marks"},
    "tokens": {
        "id": "opener_sha256, by the statement", "scope": "opener_sha256, by the statement",
        "label": "opener_sha256, by the statement", "created_at": "opener_sha256, by the statement",
        "tenant": "opener_sha256, by the statement",
    },
    "tombstones": {
        "episode": "tombstone", "tenant": "tombstone.tenant", "deleted_at": "tombstone.deleted_at",
        "body": "tombstone", "signature": "tombstone", "key": "tombstone.key",
    },
}  # fmt: skip
"""Table → column → how the finding begins that names an edit of it."""
_QUEUE = "a queue's: it says what is still to be done, and nothing of what was"
_RESCORE = (
    "a rescore's result, of which the one that was paid is no part: the same rescore again says"
    " whether it is so"
)
_MONEY = "what calls cost and whether one may be made; what was said stands in the log of verdicts"
_FLEET = "where a sandbox is, told by its daemon while it lives"
_VERDICTS = (
    "tests/cascade/test_audit.py: the log of verdicts is a chain, and its head is in the statement"
)
_KEY = "an idempotency key's digest: whether a repeated request is one"
_TIME = "the service's own word on its work; what is signed has no time in it"
_SESSION = (
    "how far a client of the Open Reward Standard is, and its last answers for when it comes back;"
    " what they say of rewards is copied from those that are proven"
)
_START = (
    "what stood at the start, copied from the log, which is proven; an episode's own is read there"
)
_ACCESS = "who may come in, which no report shows: who can write here can make a token"
UNPROVEN: dict[str, dict[str, str] | str] = {
    "episodes": {"id": "all that belongs to it names it: the database refuses, and a renamed one is a missing one",
                 "intent": _KEY,
                 "traceparent": "whose trace it is in, by the opener's word: nothing is paid by it",
                 "reached": "by which samples are drawn: nothing is paid by it, and milestones are proven"},
    "tasks": {"number": "its episodes name it: the database refuses"},
    "checkpoints": {"number": "the order in which they are delivered", "made_at": _TIME, "delivered_at": _TIME},
    "tokens": {"hash": _ACCESS, "episode": _ACCESS, "revoked_at": _ACCESS, "expires_at": _ACCESS,
               "last_used": _ACCESS, "requests_per_s": _ACCESS},
    "tombstones": {"intent": _KEY},
    "preferences": {"number": "a row's own: each word has its time, which is proven"},
    "installation": "whose secret the services have: another one's start is refused",
    "verdicts": _VERDICTS,
    "closings": _QUEUE,
    "packings": _QUEUE,
    "trace_exports": _QUEUE,
    "commands": _QUEUE,
    "arrivals": _QUEUE,
    "escalations": _QUEUE,
    "idempotency": _QUEUE,
    "leases": _QUEUE,
    "owners": _QUEUE,
    "hearing": _FLEET,
    "opinions": _MONEY,
    "budgets": _MONEY,
    "rescores": _RESCORE,
    "rescored": _RESCORE,
    "sandboxes": _FLEET,
    "ors_sessions": _SESSION,
    "ors_calls": _SESSION,
    "start_states": _START,
}  # fmt: skip
"""Table (or table → column) → why it carries no claim that an audit has to prove."""


def decided(table: Table) -> set[str]:
    """The columns of a table that are proven, or of which it is said why not."""
    reasons = UNPROVEN.get(table.name, {})
    named = {column.name for column in table.c} if isinstance(reasons, str) else set(reasons)
    both = named & PROVEN.get(table.name, {}).keys()
    assert not both, (table.name, both)
    return named | PROVEN.get(table.name, {}).keys()


@pytest.mark.parametrize("table", metadata.sorted_tables, ids=lambda table: table.name)
def test_every_column_is_proven_or_it_is_said_why_not(table: Table) -> None:
    assert decided(table) == {column.name for column in table.c}


def test_no_table_is_named_that_there_is_not() -> None:
    assert PROVEN.keys() | UNPROVEN.keys() == {table.name for table in metadata.sorted_tables}


def edited(column: Column[Any], value: Any) -> Any:
    """Another value of the column's type, as long as it was."""
    kind = column.type
    if isinstance(kind, LargeBinary):
        return flipped(bytes(value), column)
    if isinstance(kind, Boolean):
        return not value
    if isinstance(kind, sql.Float):
        return (value or 0.0) + 0.125
    if isinstance(kind, sql.Integer):
        return (value or 0) + 7
    said = str(value or "")
    if said.startswith("{"):
        return '{"policy": "another"}'
    return said[:-1] + ("0" if said[-1:] != "0" else "1")


def flipped(value: bytes, column: Column[Any]) -> bytes:
    """JSON with another number or letter in it; other bytes with one bit flipped.

    Random bytes, as of a key, may begin as JSON does.
    """
    if is_json(value):
        said = {
            "engine_states": (b'"step":2', b'"step":3'),
            "episode_facts": (b'"buy":[1', b'"buy":[2'),
        }
        old, new = said.get(column.table.name, (b"i", b"j"))
        assert old in value, (column, value)
        return value.replace(old, new, 1)
    middle = len(value) // 2
    return value[:middle] + bytes([value[middle] ^ 1]) + value[middle + 1 :]


def is_json(value: bytes) -> bool:
    """Whether the bytes are one JSON document."""
    try:
        json.loads(value)
    except ValueError:
        return False
    return True


def test_a_key_that_begins_as_json_does_is_edited_too() -> None:
    key = metadata.tables["tombstones"].c.key
    assert flipped(b"{" + bytes(15), key) == b"{" + bytes(7) + b"\1" + bytes(7)


class Edited(NamedTuple):
    """Three episodes: one that is signed, one that was deleted, and one that is open and has no
    event."""

    id: str
    deleted: str
    spare: str


async def edit(service: Service, column: Column[Any], of: Edited) -> Any:
    """Edit one row's column behind the service's back; what puts it back."""
    table, database = column.table, service.app.state.parts.database
    assert isinstance(table, Table)
    whose = of.deleted if table.name == "tombstones" else of.id
    rows = select(table).order_by(*table.primary_key.columns)
    if table.name == "episodes":
        rows = rows.where(table.c.id == whose)
    elif table.name == "tokens":
        rows = rows.where(
            table.c.id == (await service.app.state.parts.audits.episode(of.id)).opened_by
        )
    elif "episode" in table.c:
        rows = rows.where(table.c.episode == whose)
    row = (await database.first(rows))._mapping
    old = row[column.name]
    new = of.spare if column.name == "episode" else edited(column, old)
    if column.name == "task_number":
        new = (
            await database.first(
                select(table.metadata.tables["tasks"].c.number).where(text("id = 'shop/other'"))
            )
        ).number
    keys = {key.name: row[key.name] for key in table.primary_key.columns}

    async def put(value: Any, at: dict[str, Any]) -> None:
        async with database.write() as conn:
            where = and_(*(table.c[name] == known for name, known in at.items()))
            done = await conn.execute(update(table).where(where).values({column.name: value}))
            assert done.rowcount == 1, (column, at)

    await put(new, keys)

    async def back() -> None:
        await put(old, {**keys, **({column.name: new} if column.name in keys else {})})

    return back


async def test_an_edit_of_every_proven_column_is_named(store: Store, tmp_path: Path) -> None:
    """Column by column, each put back before the next; without what is outside, and with it nothing
    else is found."""
    file = tmp_path / "notes"
    async with running(store, checkpoints=str(file)) as service:
        parts = service.app.state.parts
        await parts.checkpointer.stop()
        await service.post("/v1/tasks", TASK)
        opened = (
            await service.post("/v1/episodes", {"task": TASK["id"], "labels": {"policy": "one"}})
        ).json()
        await service.tell(opened["episode"], opened["token"], *whole(), sizes=[3] * 9)
        spare, _ = await service.open({**TASK, "id": "shop/other"})
        await parts.preferences.say(
            "main", "tok_1", LabelWord(TASK["id"], spare, "", 0, "step", "yes")
        )
        of = Edited(opened["episode"], await told(service), spare)
        await sign(service)
        assert (
            await service.call("DELETE", f"/v1/episodes/{of.deleted}?reason=a+test")
        ).status_code < 300
        assert await differences(service, file) == []
        missed: list[str] = []
        for name, columns in PROVEN.items():
            for column, begins in columns.items():
                back = await edit(service, metadata.tables[name].c[column], of)
                found = await differences(service)
                if not any(one.what.startswith(begins) for one in found):
                    missed.append(
                        f"{name}.{column}: wanted {begins!r}, found {[one.what for one in found]}"
                    )
                await back()
        assert missed == []
        assert await differences(service, file) == []
