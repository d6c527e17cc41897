"""The bodies of requests, as models that check them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from api.blame.masking import MASK_CAUSES, MaskCause
from api.cascade.submitted import MAX_EVENTS, MAX_PICTURES
from api.core.frames import MAX_NUMBER
from api.http.support import SHA256, Body
from detectors.engine.attribution import Credit

NO_NUL = r"^[^\x00]*$"
"""Postgres has no character of that number in a text."""
LabelName = Annotated[str, Field(min_length=1, max_length=128, pattern=NO_NUL)]
Label = Annotated[str, Field(max_length=1_024, pattern=NO_NUL)] | int | float | bool | None
Wait = Annotated[int, Field(ge=0, le=50_000, description="Milliseconds to wait at most.")]
Text = Annotated[str, Field(max_length=65_536)]
Name = Annotated[str, Field(min_length=1, max_length=256)]
MaskCauses = Annotated[Sequence[MaskCause], Field(max_length=len(MASK_CAUSES))]
MAX_SILENCE_S = 366 * 86_400.0
MAX_HEARTBEATS = 1_000


class OpenEpisode(Body):
    """Open an episode of a registered task, of its latest version by default."""

    task: Annotated[str, Field(min_length=1, max_length=512)]
    version: Annotated[str, Field(max_length=256)] | None = None
    labels: Annotated[dict[LabelName, Label], Field(default_factory=dict, max_length=64)]
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    sandbox: Annotated[
        Literal["any"]
        | Annotated[dict[Name, Annotated[str, Field(max_length=256)]], Field(max_length=32)]
        | None,
        Field(description="Have a sandbox of the fleet work on it: any, or one with these labels."),
    ] = None
    owner_silence_s: Annotated[float, Field(ge=0.0, le=MAX_SILENCE_S)] | None = None
    """End the episode, masked, once its owner is silent for this long; 0: never. By default the
    service's `--owner-silence` for an episode that asks for a sandbox, never for any other."""


class OwnerHeartbeat(Body):
    """Episodes whose owner is alive."""

    episodes: Annotated[
        list[Annotated[str, Field(max_length=64)]], Field(max_length=MAX_HEARTBEATS)
    ]


class BeginStep(Body):
    """Begin a step: the next one by default; the one that began last again changes nothing."""

    step: Annotated[int, Field(ge=0, le=MAX_NUMBER)] | None = None
    action: object = None
    wait_ms: Wait = 10_000


class AdvanceStep(Body):
    """End a step and begin the next one; `action` is what the next one begins with."""

    action: object = None
    wait_ms: Wait = 10_000


class EndStep(Body):
    """End the step that began last."""

    wait_ms: Wait = 10_000


class Answer(Body):
    """The agent's final answer."""

    text: Text
    wait_ms: Wait = 10_000


class SubmitEvidence(Body):
    """What shows that a criterion of the task's rubric is met: events by their numbers, pictures by
    the sha256 of a `screen.captured`."""

    criterion: Annotated[str, Field(min_length=1, max_length=64)]
    events: Annotated[
        list[Annotated[int, Field(ge=1, le=MAX_NUMBER)]],
        Field(default_factory=list, max_length=MAX_EVENTS),
    ]
    pictures: Annotated[
        list[Annotated[str, Field(pattern=SHA256)]],
        Field(default_factory=list, max_length=MAX_PICTURES),
    ]
    wait_ms: Wait = 10_000


class CallTool(Body):
    """The agent calls a tool; `call` names the call."""

    call: Name
    tool: Name
    arguments: object = None
    wait_ms: Wait = 10_000


class ReturnTool(Body):
    """The tool came back."""

    call: Name
    ok: bool
    result: object = None
    error: Text | None = None
    wait_ms: Wait = 10_000


class Close(Body):
    """Close the episode. `truncated`: it was cut off, as at a limit of steps, and its last state is
    no end of it."""

    reason: Annotated[str, Field(min_length=1, max_length=1_024)] = "asked"
    truncated: bool = False
    wait_ms: Wait = 10_000


class Item(Body):
    """One step of one episode."""

    episode: Annotated[str, Field(max_length=64)]
    step: Annotated[int, Field(ge=0, le=MAX_NUMBER)]


class Query(Body):
    """Many rewards at once."""

    items: Annotated[list[Item], Field(max_length=1_000)]
    wait_ms: Wait = 0
    credit_to: Credit = "as_paid"
    """Which step a milestone is credited to: the one in which it was paid, or the one that set it
    in motion; then each reward has a `credit` beside it. `spread`: evenly those that led to it;
    `siblings`: the step by what other episodes earned from the same point on."""
