"""Which signed episodes wait for their segments to be packed together. Back: each segment has a row
of its own again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from common.frames import live_packer, unpack
from detectors.model.codec import read_header, sha256, split_segments

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

_SEGMENTS = sa.table(
    "segments",
    sa.column("episode", sa.String()),
    sa.column("first", sa.BigInteger()),
    sa.column("last", sa.BigInteger()),
    sa.column("prev", sa.String()),
    sa.column("digest", sa.String()),
    sa.column("frame", sa.LargeBinary()),
)


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "packings",
        sa.Column("episode", sa.String(64), nullable=False),
        sa.Column("queued_at", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("episode", name="pk_packings"),
    )
    op.create_index("ix_packings_queued_at", "packings", ["queued_at"])
    op.execute(
        "INSERT INTO packings (episode, queued_at) SELECT leaves.episode, '' FROM leaves"
        " JOIN episodes ON episodes.id = leaves.episode"
    )


def downgrade() -> None:
    """Take back."""
    conn = op.get_bind()
    keys = sa.select(_SEGMENTS.c.episode, _SEGMENTS.c.first)
    for episode, first in conn.execute(keys).all():
        where = (_SEGMENTS.c.episode == episode, _SEGMENTS.c.first == first)
        row = conn.execute(sa.select(_SEGMENTS).where(*where)).one()
        texts = list(split_segments(unpack(bytes(row.frame))))
        if len(texts) > 1:
            conn.execute(sa.delete(_SEGMENTS).where(*where))
            conn.execute(sa.insert(_SEGMENTS), [_row_of(episode, text) for text in texts])
    op.drop_table("packings")


def _row_of(episode: str, text: bytes) -> dict[str, object]:
    header = read_header(text)
    return {
        "episode": episode,
        "first": header["first"],
        "last": header["first"] + header["count"] - 1,
        "prev": header["prev"],
        "digest": sha256(text),
        "frame": live_packer().pack(text),
    }
