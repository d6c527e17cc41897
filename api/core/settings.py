"""What an operator can set, as one table read once at the start.

Limits are part of the wire: a daemon that exceeds one is answered 413 or 422, and nothing is
written.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from detectors.task.language import Budget


@dataclass(frozen=True, slots=True)
class Limits:
    """The wire's bounds. Sizes in bytes, times in seconds unless the name says otherwise.

    ``requests_per_s`` and ``bytes_per_s`` (of segments) are a token's at one replica, 0 for none;
    for ``burst_s`` seconds' worth it may be faster. ``drafts_per_hour``: how often a tenant may ask
    the judge's endpoint for a draft at one replica, 0 for any number. ``appends`` are a replica's
    segments in flight, ``appends_bytes`` theirs, ``appends_token`` those of one token, and
    ``appends_at_once`` how many are worked at together; a text of ``apart_bytes`` is large enough
    for a process beside the service (api/ingest/crew.py). Such a process is ended when it takes
    more than ``detection_cpu_s`` of processor time or ``detection_s`` for one segment, or more than
    ``detection_bytes`` of memory. ``engines_bytes``: of the engines that the service, and each such
    process, keeps between two segments (docs/scale.md). ``lease_ms``: how long who opens an episode
    waits for an idle sandbox's daemon to be told of it. ``owner_silence_s``: after how long without
    a word of its owner an episode of the fleet ends (api/fleet/owners.py), 0 for never.
    ``head_s``: from a connection's begin, or a request's first byte, to the end of the
    request's head; ``body_idle_s``: within which more of a body comes, where the service is
    ready to take it; ``body_s``: for a whole body.
    """

    frame_bytes: int = 4 * 1024 * 1024
    text_bytes: int = 5 * 1024 * 1024
    ratio: int = 1_000
    events: int = 20_000
    depth: int = 200
    body_bytes: int = 1024 * 1024
    wait_ms: int = 50_000
    query_items: int = 1_000
    page: int = 5_000
    heartbeat_s: float = 15.0
    token_cache_s: float = 2.0
    rewards_cached: int = 50_000
    engines_bytes: int = 256 * 1024 * 1024
    keys_kept_days: int = 7
    sandbox_lost_s: float = 60.0
    owner_silence_s: float = 1_800.0
    head_s: float = 15.0
    body_idle_s: float = 20.0
    body_s: float = 300.0
    lease_ms: int = 1_000
    requests_per_s: float = 5_000.0
    bytes_per_s: float = 64.0 * 1024 * 1024
    burst_s: float = 10.0
    drafts_per_hour: int = 60
    appends: int = 1_024
    appends_bytes: int = 64 * 1024 * 1024
    appends_token: int = 16
    appends_at_once: int = 64
    apart_bytes: int = 32 * 1024
    detection_cpu_s: int = 120
    detection_s: float = 300.0
    detection_bytes: int = 2 * 1024 * 1024 * 1024
    task_bytes: int = 256 * 1024
    rescore_episodes: int = 10_000


@dataclass(frozen=True, slots=True)
class StageSettings:
    """``model``: a model's folder or a scorer's address; ``judges``: addresses of endpoints; both
    empty: off.

    ``model_risk``: of a model's answers, how many may be wrong; ``at_once``: calls of one endpoint
    that run together at this replica; ``lease_s``: after which the work of a worker that died is
    taken up; ``budgets``: the operator's, by scope.
    """

    model: str = ""
    judges: tuple[str, ...] = ()
    at_once: int = 8
    lease_s: float = 30.0
    budgets: Mapping[str, Budget] = field(default_factory=dict)
    model_risk: float = 0.05


Protocol = Literal["http/protobuf", "http/json"]


@dataclass(frozen=True, slots=True)
class TelemetrySettings:
    """Where traces go (docs/telemetry.md); ``traces_url`` empty: nowhere, and ``off`` may say why.

    ``logs_url`` empty: evaluations are events of their spans. ``headers``: by signal, `traces` and
    `logs`. ``certificate``: a file of the authorities that are trusted instead of the system's.
    ``resource``: what traces say of this service. ``content``: with texts of agent and page.
    """

    traces_url: str = ""
    logs_url: str = ""
    headers: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    protocol: Protocol = "http/protobuf"
    timeout_s: float = 10.0
    gzip: bool = False
    certificate: str = ""
    resource: Mapping[str, str] = field(default_factory=dict)
    content: bool = False
    off: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the service keeps its data and who it trusts first.

    ``data`` is a folder of the service alone: database, secret and first admin token, files of mode
    0600. ``database_url`` empty means SQLite in that folder. ``checkpoints`` is the file or the
    address that signed checkpoints go to, outside the database; empty: they stay in it.
    ``keep_days``: closed episodes are deleted that many days after; None: never. ``workers``:
    processes beside the service that detect in large segments.
    """

    data: Path
    database_url: str = ""
    secret: str | None = None
    admin_token: str | None = None
    signing_key: str | None = None
    token_file: Path | None = None
    checkpoints: str = ""
    keep_days: float | None = None
    tasks_need_tests: bool = False
    tasks_need_attack: bool = False
    workers: int = 0
    limits: Limits = field(default_factory=Limits)
    stages: StageSettings = field(default_factory=StageSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)

    @property
    def needs_proof(self) -> bool:
        """Whether a task is registered only with recordings that show what it pays."""
        return self.tasks_need_tests or self.tasks_need_attack

    @property
    def database(self) -> str:
        """SQLAlchemy's address of the database, with an async driver."""
        return (
            async_url(self.database_url)
            if self.database_url
            else f"sqlite+aiosqlite:///{self.data / 'milestoned.db'}"
        )


_DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "postgresql": "postgresql+asyncpg",
    "postgres": "postgresql+asyncpg",
}


def async_url(url: str) -> str:
    """``url`` with the async driver that the service uses, where it names none."""
    scheme, mark, rest = url.partition("://")
    return _DRIVERS.get(scheme, scheme) + mark + rest


def settings_from_environment(
    data: Path | None,
    database_url: str = "",
    token_file: Path | None = None,
    env: Mapping[str, str] = os.environ,
) -> Settings:
    """Return what the command line said, with the secrets of MILESTONED_SECRET, _ADMIN_TOKEN and
    _SIGNING_KEY: these are never options, as command lines are read by others."""
    return Settings(
        data=data or _beside(database_url),
        database_url=database_url,
        secret=env.get("MILESTONED_SECRET") or None,
        admin_token=env.get("MILESTONED_ADMIN_TOKEN") or None,
        signing_key=env.get("MILESTONED_SIGNING_KEY") or None,
        token_file=token_file,
    )


def _beside(database_url: str) -> Path:
    """Return the folder of a database's file; the default one for a server's."""
    scheme, _, path = database_url.partition(":///")
    return Path(path).parent if scheme.startswith("sqlite") and path else Path("milestoned-data")
