"""One engine with the images, for all tests of the fleet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fleet.containers import engine, images
from tests.fleet.containers.engine import say

MB = 10**6
MAX_OVER_BASE = {"milestoned-service": 250 * MB, "milestoned-sandbox": 900 * MB}


@pytest.fixture(scope="session")
def running_engine() -> Iterator[engine.Engine]:
    """An engine that has the images."""
    given = engine.given()
    if given is not None:
        _say_images(images.build(given, pulls=True))
        yield given
        return
    with engine.folder() as path:
        with engine.started(path, builds=True) as builder:
            _say_images(images.build(builder, pulls=False))
        with engine.started(path, builds=False) as own:
            say(own.docker("info", "--format", "engine {{.ServerVersion}}, {{.Driver}}"))
            yield own


def _say_images(built: dict[str, images.Built]) -> None:
    for name, one in built.items():
        sizes = f"{one.size / MB:.0f} MB, {one.over_base / MB:.0f} over its base"
        say(f"{name}: {sizes}, built in {one.seconds:.0f} s")
        assert one.over_base <= MAX_OVER_BASE[name]
