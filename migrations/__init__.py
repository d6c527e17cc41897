"""Alembic migrations of the service's tables: the only way that a table changes."""
