"""What is stored beside log and leaves and shown all the same: counts, marks, tasks, notes,
tombstones, the tree's row.

Each value is made again from what it was made of, or held against what was signed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import orjson

from api.audit.difference import Difference, differs, format_value
from api.audit.facts import COUNTS, PARTS, Facts
from api.audit.note import NoteError, PublicKey, opened, parse_checkpoint
from api.audit.replaying import Replaying
from api.audit.statement import episode_of, log_origin
from api.audit.store import Audits
from api.audit.tree import Tree
from api.episodes.label_index import finding_key, label_rows
from api.episodes.tombstones import is_genuine
from api.rewards.ledger import Ledger
from detectors.model.codec import sha256
from detectors.model.errors import DetectorError
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json


def parsed(body: bytes) -> dict[str, Any]:
    """A stored JSON object; empty where it is none."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


async def derived(
    audits: Audits, ledger: Ledger, row: Any, replaying: Replaying
) -> AsyncIterator[Difference]:
    """What reports count of an episode and what lists find it by, counted again from its log and
    its rewards."""
    signed = await audits.leaf(row.id) is not None
    rewards = [parsed(body) for body in await ledger.all(row.id)]
    wanted = replaying.facts(rewards) if signed else None
    stored = await audits.facts(row.id)
    for one in _facts(row.id, stored, wanted):
        yield one
    labels = label_rows(parsed(row.labels.encode()), row.tenant, row.opened_at, row.id)
    keys = [one["key"] for one in labels] + [
        finding_key(one) for one in (wanted.findings() if wanted else ())
    ]
    marks = {(key, row.tenant, row.opened_at) for key in keys}
    found = await audits.marks(row.id)
    for one in differs(row.id, "marks", sorted(found - marks), []):
        yield one
    for one in differs(row.id, "marks", sorted(found & marks), sorted(marks)):
        yield one


def _facts(episode: str, stored: Any, wanted: Facts | None) -> list[Difference]:
    if stored is None or wanted is None:
        return list(
            differs(
                episode,
                "facts",
                "none" if stored is None else "some",
                "none" if wanted is None else "some",
            )
        )
    said = parsed(bytes(stored.body))
    again = orjson.loads(wanted.row()["body"])
    found = [
        one
        for name in COUNTS
        for one in differs(episode, f"facts.{name}", getattr(stored, name), getattr(wanted, name))
    ]
    for name in sorted({*PARTS, *said}):
        found += differs(episode, f"facts.{name}", said.get(name), again.get(name))
    return found


async def stored_tree(audits: Audits, key: PublicKey, tree: Tree) -> AsyncIterator[Difference]:
    """The row that says how far the tree has grown, what was signed of it last, and with which
    key."""
    kept = await audits.tree()
    if kept is None:
        for one in differs("", "stored tree", "none", "one" if tree.size else "none"):
            yield one
        return
    notes = await audits.notes(log_origin(key.name))
    newest = notes[-1] if notes else None
    wanted = {
        "size": tree.size,
        "full": tree.dump(),
        "signed_size": 0 if newest is None else newest.size,
        "signed_day": "" if newest is None else newest.made_at[:10],
    }
    for name, value in wanted.items():
        found = bytes(kept.full) if name == "full" else getattr(kept, name)
        for one in differs("", f"stored tree.{name}", found, value):
            yield one
    if kept.key is not None:  # the next service that starts notes its own
        for one in differs("", "stored tree.key", kept.key, key.text()):
            yield one


async def checkpoints(audits: Audits, key: PublicKey) -> AsyncIterator[Difference]:
    """Each signed note is about what its row says. (Whether it fits is asked where its log is
    read.)"""
    async for row in audits.all_notes():
        try:
            found = parse_checkpoint(opened(row.note, key))
        except NoteError as error:
            if row.origin != log_origin(key.name) and episode_of(key.name, row.origin) is None:
                yield Difference("", f"checkpoint {row.number}", str(error), "a note of this key")
            continue
        for name in ("origin", "size"):
            for one in differs(
                "", f"checkpoint {row.number}.{name}", getattr(row, name), getattr(found, name)
            ):
                yield one


async def tombstones(audits: Audits, key: PublicKey) -> AsyncIterator[Difference]:
    """Each tombstone is genuine, and its row says what it says."""
    async for row in audits.tombstones():
        what, said = "tombstone", parsed(bytes(row.body))
        if not said or not is_genuine(row, key.key):
            yield Difference(
                row.episode, what, format_value(bytes(row.body)), "one that this key signed"
            )
            continue
        for one in differs(
            row.episode, f"{what}.deleted_at", row.deleted_at, said.get("deleted_at")
        ):
            yield one
        for one in differs(row.episode, f"{what}.key", bytes(row.key), key.key):
            yield one
        if row.leaf is not None:
            tenant = parsed(bytes(row.leaf)).get("tenant")
            for one in differs(row.episode, f"{what}.tenant", row.tenant, tenant):
                yield one


async def tasks(audits: Audits) -> AsyncIterator[Difference]:
    """Each task's row says what its text comes to. What another build registered has that build's
    digest and worth: those are in the statements about its episodes."""
    async for row in audits.tasks():
        what, body = f"task {row.number}", bytes(row.body)
        said = parsed(body)
        for name in ("id", "version"):
            for one in differs("", f"{what}.{name}", getattr(row, name), said.get(name)):
                yield one
        try:
            rules = compile_task(task_from_json(said, stored=True))
        except (DetectorError, ValueError) as error:
            yield Difference("", f"{what}.body", f"sha256 {sha256(body)}: {error!s:.120}", "a task")
            continue
        if rules.digest == row.digest:
            for one in differs("", f"{what}.attainable", row.attainable, rules.attainable):
                yield one
