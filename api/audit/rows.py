"""Rows of this room's tables, as the database gives them."""

from __future__ import annotations

from typing import Protocol


class LeafRow(Protocol):
    """A row of `leaves`; ``body`` is the statement that was signed."""

    number: int
    episode: str
    body: bytes


class StoredLeafRow(LeafRow, Protocol):
    """A leaf with its episode's id where that is still ``stored``."""

    stored: str | None


class LabelLeafRow(Protocol):
    """A row of `label_leaves`, as `api.audit.label_leaf.LabelLeaf` has it."""

    number: int
    first: str
    second: str
    slot: str
    digest: str


class TreeRow(Protocol):
    """A row of `audit_trees`. ``full``: the hashes of its complete subtrees; ``key``: the public
    key in signed-note's form, None where nobody noted it."""

    name: str
    size: int
    full: bytes
    signed_size: int
    signed_day: str
    key: str | None


class CheckpointRow(Protocol):
    """A row of `checkpoints`; times are UTC text, ``delivered_at`` None while it waits."""

    number: int
    origin: str
    size: int
    note: str
    made_at: str
    delivered_at: str | None


class OpenerRow(Protocol):
    """The token that opened an episode, without the token itself."""

    id: str
    label: str
    scope: str
    tenant: str
    created_at: str


class StoredVerdictRow(Protocol):
    """A row of `verdicts` of one episode's log."""

    seq: int
    step: int
    kind: str
    prev: str
    digest: str
    body: bytes


class StepRow(Protocol):
    """Where a step began and ended; None while it runs."""

    step: int
    began: int
    ended: int | None
