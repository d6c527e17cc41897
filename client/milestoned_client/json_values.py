"""JSON as Python holds it, for what no model says more of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = str | int | float | bool | Sequence["Json"] | Mapping[str, "Json"] | None
"""Any JSON value. A number, text or truth value is used after `isinstance` has said which."""
JsonObject: TypeAlias = Mapping[str, Json]
"""A JSON object; its members are JSON values."""
