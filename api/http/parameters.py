"""Parameters that many routes have: paths, pages of lists, how long to wait."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Query
from pydantic import AfterValidator, BeforeValidator
from pydantic_core import PydanticCustomError

from api.core.notify import Deadline
from api.http.dependencies import LimitsPart
from api.http.support import MAX_SEQ, checked_step, whole

MAX_WAIT_MS = 50_000
_MAX_DIGITS = 19


def _digits(value: object) -> object:
    """Refuse what Python reads as a whole number beside plain digits: signs, spaces, points."""
    if not isinstance(value, str):
        return value
    if value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS:
        return value
    raise PydanticCustomError("digits", "Input should be a whole number from 0, in digits")


DIGITS = BeforeValidator(_digits)
"""Beside the `Query` or `Header` of a whole number."""

After = Annotated[int, Query(ge=0, le=MAX_SEQ, description="Those with a higher number."), DIGITS]
"""The last event, or the like, that the caller has."""
EpisodeId = Annotated[str, Path(description="The episode's id.")]
Step = Annotated[int, Path(description="The step's number."), AfterValidator(checked_step)]
WaitMs = Annotated[
    int, Query(ge=0, le=MAX_WAIT_MS, description="Milliseconds to wait at most."), DIGITS
]


async def _deadline(limits: LimitsPart, wait_ms: WaitMs = 0) -> Deadline:
    return Deadline(whole("wait_ms", str(wait_ms), limits.wait_ms))


Wait = Annotated[Deadline, Depends(_deadline)]
"""How long the caller is ready to wait, by `wait_ms` of its query."""
