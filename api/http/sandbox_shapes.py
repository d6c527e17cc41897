"""What the wire carries of sandboxes, as models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from api.core.frames import MAX_NUMBER
from api.http.support import AnswerShape, Body

LABELS = 32
Short = Annotated[str, Field(min_length=1, max_length=128)]
Version = Annotated[str, Field(min_length=1, max_length=64)]
Labels = Annotated[dict[Short, Annotated[str, Field(max_length=256)]], Field(max_length=LABELS)]
Instance = Annotated[
    str,
    Field(
        min_length=16,
        max_length=128,
        description="A secret of the daemon's state folder, made on its first start.",
    ),
]
Id = Annotated[str, Field(max_length=64)]


class Register(Body):
    """A daemon and its sandbox."""

    name: Short
    instance: Instance
    address: Annotated[str, Field(max_length=512)] | None = None
    labels: Annotated[Labels, Field(default_factory=dict)]
    agentd: Version
    wire: Annotated[int, Field(ge=1, le=MAX_NUMBER)]


class Failed(Body):
    """An episode that the daemon can't go on with."""

    episode: Id
    why: Annotated[str, Field(min_length=1, max_length=1_024)]


class Beat(Body):
    """`on`: what the daemon works on; `done`: what it saw closed and acknowledged."""

    instance: Instance
    on: Id | None = None
    done: Id | None = None
    failed: Failed | None = None
    through: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    gaps: Annotated[
        list[Annotated[str, Field(max_length=256)]], Field(default_factory=list, max_length=64)
    ]
    wait_ms: Annotated[int, Field(ge=0, le=50_000)] = 0


class Leave(Body):
    """The daemon goes."""

    instance: Instance


class Leased(AnswerShape):
    """What to work on, and the token that appends to it."""

    episode: str
    token: str
    task: str
    version: str


class GivenUp(AnswerShape):
    """The service ended the episode without its sandbox."""

    episode: str
    why: str


class BeatShape(AnswerShape):
    """What the service says to a daemon: beat every `beat_s` seconds; silent for `lost_s` it is
    lost."""

    sandbox: str
    beat_s: float
    lost_s: float
    lease: Leased | None
    given_up: GivenUp | None


class LeftShape(AnswerShape):
    """The state that the sandbox is in now."""

    sandbox: str
    state: Literal["idle", "busy", "lost", "left"]


class SandboxShape(AnswerShape):
    """A sandbox. `beats` and `heard_at`: its heartbeat; `through`: its journal's last event;
    `gaps`: blind sources."""

    sandbox: str
    name: str
    state: Literal["idle", "busy", "lost", "left"]
    episode: str | None
    address: str | None
    labels: dict[str, str]
    agentd: str
    wire: int
    beats: int
    through: int | None
    gaps: list[str]
    registered_at: str
    heard_at: str


class SandboxesShape(AnswerShape):
    """A page of sandboxes; `queued`: episodes that wait for one."""

    sandboxes: list[SandboxShape]
    queued: int
    next: str | None


class Where(AnswerShape):
    """The sandbox that an episode has, and where its harness finds it."""

    sandbox: str
    name: str
    address: str | None
    labels: dict[str, str]


class LeaseShape(AnswerShape):
    """Which sandbox of the fleet works on an episode."""

    episode: str
    state: Literal["queued", "held", "ended", "lost"]
    """`queued`: none yet; `lost`: the episode was closed without it."""
    why: str | None
    """Why it was lost."""
    sandbox: Where | None
    """Its name and labels, and the address that its daemon reported."""
    ready: bool | None = None
    """Whether a step can begin; absent where that was not asked for."""
    waiting: dict[str, str] | None = None
    """What is awaited before a step can begin, each with the reason; absent where `ready` is."""
