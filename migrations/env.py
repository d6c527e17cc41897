"""What alembic runs: on the connection that `api.db.migrate` hands over, and on nothing else."""

from __future__ import annotations

from alembic import context

from api.db.base import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    compare_server_default=True,
)
with context.begin_transaction():
    context.run_migrations()
