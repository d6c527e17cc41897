"""The schema of the service's own tests."""

from tests.api.conftest import sqlite_schema

__all__ = ["sqlite_schema"]
