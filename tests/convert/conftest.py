"""Fixtures of the converter's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture
def _own_logs() -> Iterator[None]:
    """The command sets up logs for its process; a test gives them back."""
    yield
    structlog.reset_defaults()
