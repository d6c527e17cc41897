"""docs/telemetry.md names the versions that were tried, and the attributes that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "telemetry.md").read_text()


@pytest.mark.parametrize(("name", "package"), [("mlflow", "mlflow"), ("phoenix", "arize-phoenix")])
def test_the_version_that_was_tried_is_the_one_that_is_pinned(name: str, package: str) -> None:
    pins = (ROOT / "requirements" / f"trainers-{name}.in").read_text()
    (version,) = re.findall(rf"^{package}==(\S+)$", pins, re.M)
    assert f"| `{package}` {version}, `make test-all` |" in PAGE


def test_each_attribute_that_the_page_names_is_written_somewhere() -> None:
    code = "".join(path.read_text() for path in (ROOT / "api" / "telemetry").glob("*.py"))
    named = set(re.findall(r"`((?:milestoned|gen_ai)\.[a-z_.]+[a-z])`", PAGE))
    # Of those that are put together the beginning stands there.
    missing = {name for name in named if name not in code and name.rpartition(".")[0] not in code}
    assert len(named) > 15
    assert missing == set()
