"""What every test finds, whatever the one before it or the user's shell left."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """Debian's own: commands that a test calls in its own process set a narrower one for all of that process."""
    found = os.umask(0o022)
    yield
    os.umask(found)


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    """As structlog comes: commands that a test calls in its own process set it up for all of that process."""
    yield
    structlog.reset_defaults()
