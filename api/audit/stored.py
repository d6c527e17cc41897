"""What is stored beside log and leaves and shown all the same: counts, marks, tasks, notes,
tombstones, the tree's row.

Each value is made again from what it was made of, or held against what was signed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, cast

import orjson

from api.audit.difference import Difference, differs, field_differences, fields_of, format_value
from api.audit.facts import COUNTS, PARTS, Facts
from api.audit.label_leaf import label_origin
from api.audit.note import NoteError, PublicKey, open_note, parse_checkpoint
from api.audit.replaying import Replaying
from api.audit.rows import CheckpointRow, TreeRow
from api.audit.statement import episode_of, log_origin
from api.audit.store import LABEL_TREE, Audits
from api.audit.tree import Tree
from api.episodes.label_index import finding_key, label_rows
from api.episodes.rows import EpisodeRow
from api.episodes.tombstones import is_genuine
from api.rewards.ledger import Ledger
from detectors.model.codec import sha256
from detectors.model.errors import DetectorError
from detectors.model.rewards import RewardJson
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json


def parse_stored(body: bytes) -> dict[str, Any]:
    """A stored JSON object; empty where it is none."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(found, dict):
        return {}
    return found


async def compare_derived(
    audits: Audits, ledger: Ledger, row: EpisodeRow, replaying: Replaying
) -> AsyncIterator[Difference]:
    """What reports count of an episode and what lists find it by, counted again from its log and
    its rewards."""
    is_signed = await audits.leaf(row.id) is not None
    rewards = [parse_stored(body) for body in await ledger.all(row.id)]
    # What is no reward any more can't be counted.
    wanted = replaying.facts(cast("list[RewardJson]", rewards)) if is_signed else None
    stored = await audits.facts(row.id)
    for difference in _compare_facts(row.id, stored, wanted):
        yield difference
    labels = label_rows(parse_stored(row.labels.encode()), row.tenant, row.opened_at, row.id)
    keys = [label["key"] for label in labels]
    if wanted is not None:
        keys += [finding_key(finding) for finding in wanted.findings()]
    marks = {(key, row.tenant, row.opened_at) for key in keys}
    found = await audits.marks(row.id)
    for difference in differs(row.id, "marks", sorted(found - marks), []):
        yield difference
    for difference in differs(row.id, "marks", sorted(found & marks), sorted(marks)):
        yield difference


def _compare_facts(episode: str, stored: Any, wanted: Facts | None) -> list[Difference]:
    """Return where stored facts differ from those that were counted anew."""
    if stored is None or wanted is None:
        found_any = "none" if stored is None else "some"
        wanted_any = "none" if wanted is None else "some"
        return list(differs(episode, "facts", found_any, wanted_any))
    stored_counts = {name: getattr(stored, name) for name in COUNTS}
    counts = {name: getattr(wanted, name) for name in COUNTS}
    stored_parts = parse_stored(bytes(stored.body))
    parts = orjson.loads(wanted.body())
    names = sorted({*PARTS, *stored_parts})
    return [
        *field_differences(episode, "facts", stored_counts, counts),
        *field_differences(
            episode,
            "facts",
            {name: stored_parts.get(name) for name in names},
            {name: parts.get(name) for name in names},
        ),
    ]


async def stored_tree(audits: Audits, key: PublicKey, tree: Tree) -> AsyncIterator[Difference]:
    """The row that says how far the tree has grown, what was signed of it last, and with which
    key."""
    stored = await audits.tree()
    # Where none is noted, the next service that starts notes its own.
    named = {} if stored is None or stored.key is None else {"key": key.text()}
    notes = await audits.notes(log_origin(key.name))
    for difference in _compare_tree("stored tree", stored, tree, notes, named):
        yield difference


async def stored_label_tree(
    audits: Audits, key: PublicKey, tree: Tree
) -> AsyncIterator[Difference]:
    """The row that says how far the tree over labels has grown, and what was signed of it last."""
    stored = await audits.tree(LABEL_TREE)
    notes = await audits.notes(label_origin(key.name))
    for difference in _compare_tree("stored label tree", stored, tree, notes, {}):
        yield difference


def _compare_tree(
    what: str,
    stored: TreeRow | None,
    tree: Tree,
    notes: Sequence[CheckpointRow],
    named: Mapping[str, str],
) -> Iterable[Difference]:
    """Hold a tree's row against the tree that was made again, and its newest note."""
    if stored is None:
        return differs("", what, "one" if not tree.size else "none", "one")
    signed = {"signed_size": 0, "signed_day": ""}
    if notes:
        signed = {"signed_size": notes[-1].size, "signed_day": notes[-1].made_at[:10]}
    wanted = {"size": tree.size, "full": tree.dump(), **signed, **named}
    return field_differences("", what, fields_of(stored, wanted), wanted)


async def checkpoints(audits: Audits, key: PublicKey) -> AsyncIterator[Difference]:
    """Each signed note is about what its row says. (Whether it fits is asked where its log is
    read.)"""
    trees = (log_origin(key.name), label_origin(key.name))
    async for row in audits.all_notes():
        try:
            note = parse_checkpoint(open_note(row.note, key))
        except NoteError as error:
            if row.origin not in trees and episode_of(key.name, row.origin) is None:
                yield Difference("", f"checkpoint {row.number}", str(error), "a note of this key")
            continue
        found = {"origin": row.origin, "size": row.size}
        wanted = {"origin": note.origin, "size": note.size}
        for difference in field_differences("", f"checkpoint {row.number}", found, wanted):
            yield difference


async def tombstones(audits: Audits, key: PublicKey) -> AsyncIterator[Difference]:
    """Each tombstone is genuine, and its row says what it says."""
    async for row in audits.tombstones():
        statement = parse_stored(bytes(row.body))
        if not statement or not is_genuine(row, key.key):
            body = format_value(bytes(row.body))
            yield Difference(row.episode, "tombstone", body, "one that this key signed")
            continue
        wanted = {"deleted_at": statement.get("deleted_at"), "key": key.key}
        if row.leaf is not None:
            wanted["tenant"] = parse_stored(bytes(row.leaf)).get("tenant")
        found = fields_of(row, wanted)
        for difference in field_differences(row.episode, "tombstone", found, wanted):
            yield difference


async def tasks(audits: Audits) -> AsyncIterator[Difference]:
    """Each task's row says what its text comes to. What another build registered has that build's
    digest and worth: those are in the statements about its episodes."""
    async for row in audits.tasks():
        what, body = f"task {row.number}", bytes(row.body)
        task = parse_stored(body)
        found = {"id": row.id, "version": row.version}
        wanted = {"id": task.get("id"), "version": task.get("version")}
        for difference in field_differences("", what, found, wanted):
            yield difference
        try:
            rules = compile_task(task_from_json(task, stored=True))
        except (DetectorError, ValueError) as error:
            yield Difference("", f"{what}.body", f"sha256 {sha256(body)}: {error!s:.120}", "a task")
            continue
        if rules.digest == row.digest:
            for difference in differs("", f"{what}.attainable", row.attainable, rules.attainable):
                yield difference
