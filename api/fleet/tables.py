"""Sandboxes that daemons registered, and who has which for which episode.

Times are UTC text for people: whether a sandbox is alive is decided by whether ``beats`` moves
while a replica looks, never by a clock that another machine read (api/core/heartbeat.py).
``instance`` is the hash of a secret that the daemon's state folder holds: who knows the fleet's
token alone can't speak for a sandbox that is there.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from api.db.base import metadata

sandboxes = Table(
    "sandboxes",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("name", String(128), nullable=False),
    Column("instance", String(64), nullable=False),
    Column("address", String(512)),
    Column("labels", Text, nullable=False),
    Column("agentd", String(64), nullable=False),
    Column("wire", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("episode", String(64)),
    Column("beats", BigInteger, nullable=False),
    Column("through", BigInteger),
    Column("gaps", Text, nullable=False),
    Column("registered_at", String(32), nullable=False),
    Column("heard_at", String(32), nullable=False),
    UniqueConstraint("tenant", "name"),
    Index(None, "state", "tenant"),
)
"""``state``: idle, busy (it has ``episode``), lost (not heard of in time), left (told to stop)."""

leases = Table(
    "leases",
    metadata,
    Column("number", Integer, primary_key=True),
    Column(
        "episode",
        String(64),
        ForeignKey("episodes.id", ondelete="CASCADE"),
        nullable=False,
        unique=True,
    ),
    Column("tenant", String(64), nullable=False),
    Column("selector", Text, nullable=False),
    Column("sandbox", String(64)),
    Column("state", String(16), nullable=False),
    Column("why", String(1024)),
    Column("asked_at", String(32), nullable=False),
    Column("held_at", String(32)),
    Column("ended_at", String(32)),
    Index(None, "state", "tenant", "number"),
)
"""``state``: queued, held, ended (the daemon saw the episode's end), lost (the service has to end
it; ``why`` has the reason).
``held_at`` is NULL until the sandbox's daemon was told of it."""

owners = Table(
    "owners",
    metadata,
    Column("episode", String(64), ForeignKey("episodes.id", ondelete="CASCADE"), primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("silence_s", Float, nullable=False),
    Column("heard_at", Float, nullable=False),
    Column("step", BigInteger),
    Column("why", String(1024)),
    Index(None, "why"),
)
"""Open episodes that end when their owner is silent (api/fleet/owners.py). ``heard_at``: seconds of
the database's clock; ``step``: the episode's at that time; ``why``: set where the owner was silent
for ``silence_s``, which ends the episode."""

hearing = Table(
    "hearing",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("since", Float, nullable=False),
    Column("looked_at", Float, nullable=False),
)
"""One row, of all replicas: ``since`` when without a break some replica could hear owners, and when
one last looked; seconds of the database's clock."""
