"""One desktop for the tests of a file; each test starts programs of its own, and ends them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.desktop import Desktop, missing


@pytest.fixture(scope="module")
def shared_desktop() -> Iterator[Desktop]:
    if lacking := missing():
        pytest.skip(f"missing: {', '.join(lacking)}")
    with Desktop() as one:
        yield one


@pytest.fixture
def desktop(shared_desktop: Desktop) -> Iterator[Desktop]:
    """The file's desktop; what the test starts in it is ended after it."""
    before = shared_desktop.running()
    yield shared_desktop
    shared_desktop.end(shared_desktop.running() - before)


@pytest.fixture
def own_desktop() -> Iterator[Desktop]:
    """A desktop that the test may break."""
    if lacking := missing():
        pytest.skip(f"missing: {', '.join(lacking)}")
    with Desktop() as one:
        yield one
