"""Rows of this room's tables, as the database gives them."""

from __future__ import annotations

from typing import Protocol


class SandboxRow(Protocol):
    """A row of `sandboxes`; ``labels`` and ``gaps`` are JSON, times are UTC text."""

    id: str
    tenant: str
    name: str
    instance: str
    address: str | None
    labels: str
    agentd: str
    wire: int
    state: str
    episode: str | None
    beats: int
    through: int | None
    gaps: str
    registered_at: str
    heard_at: str


class LeaseRow(Protocol):
    """A row of `leases`, with ``name``, ``address`` and ``labels`` of its sandbox if it has one."""

    episode: str
    tenant: str
    selector: str
    sandbox: str | None
    state: str
    why: str | None
    held_at: str | None
    name: str | None
    address: str | None
    labels: str


class OwnerRow(Protocol):
    """A row of `owners` that has no ``why``, with its episode's status, opener and step.

    ``silent_s``: for how long the owner could have been heard and was not, in seconds.
    """

    episode: str
    tenant: str
    silence_s: float
    silent_s: float
    known_step: int | None
    step: int | None
    status: str
    opened_by: str | None
