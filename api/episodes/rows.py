"""Rows of this room's tables, as the database gives them."""

from __future__ import annotations

from typing import Protocol


class EpisodeRow(Protocol):
    """A row of `episodes`; ``labels`` is canonical JSON, times are UTC text."""

    id: str
    task_number: int
    task: str
    version: str
    digest: str
    labels: str
    seed: int | None
    status: str
    through: int
    head: str
    step: int | None
    success: bool | None
    total: float | None
    milestones: int
    opened_at: str
    closed_at: str | None
    tenant: str
    opened_by: str | None
    intent: str | None
    traceparent: str | None
    reached: str | None
    guided: bool | None


class TombstoneRow(Protocol):
    """A row of `tombstones`; ``body`` is the statement that was signed."""

    episode: str
    tenant: str
    intent: str | None
    deleted_at: str
    body: bytes
    signature: bytes
    key: bytes
