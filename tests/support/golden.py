"""What every source's golden recordings have in common: JSON lines, and observations with the
fields of their kind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from detectors.model.kinds import KINDS


def lines(path: Path) -> list[Any]:
    """The rows of a file of JSON lines."""
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def has_the_fields_of_its_kind(kind: str, data: Mapping[str, Any]) -> None:
    """Fail where an observation has a field that its kind does not name, or lacks one that it must
    have."""
    fields = KINDS[kind].fields
    assert set(data) <= {field.rstrip("?") for field in fields}, (
        f"{kind} has fields beside its own: {data}"
    )
    lacking = {field for field in fields if not field.endswith("?")} - set(data)
    assert not lacking, f"{kind} lacks {lacking}: {data}"
