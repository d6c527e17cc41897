"""One Debian for the slow tests of deploy/."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.root import Debian


@pytest.fixture
def debian() -> Iterator[Debian]:
    """An empty Debian; a tmp_path would be kept for three sessions, and this one is large."""
    folder = Path(tempfile.mkdtemp(prefix="milestoned-debian-"))
    try:
        yield Debian(folder)
    finally:
        shutil.rmtree(folder)
