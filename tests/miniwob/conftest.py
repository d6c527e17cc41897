"""One browser, one site and one service for all pages; a tab and a daemon for each episode."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.miniwob.__main__ import running
from tests.miniwob.bench import Bench
from tests.support.chromium import EXECUTABLE


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Everything that runs; skips where the browser or the pages are missing."""
    if not Path(EXECUTABLE).exists():
        pytest.skip(f"{EXECUTABLE} is missing")
    if find_spec("miniwob") is None:
        pytest.skip("the package miniwob is missing; requirements/dev.txt has it")
    with running(tmp_path_factory.mktemp("miniwob")) as bench:
        yield bench
