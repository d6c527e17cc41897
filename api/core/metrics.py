"""What an operator can watch: counters of one application, in Prometheus' text form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)


class MeasuredCache(Protocol):
    """What is reported of a cache."""

    @property
    def bytes(self) -> int:
        """Bytes that the cache holds now."""

    @property
    def max_bytes(self) -> int:
        """Bytes that the cache may hold."""


class Metrics:
    """One registry an application, so that two in one process do not mix."""

    def __init__(self, waiting: Callable[[], int]) -> None:
        self.registry = registry = CollectorRegistry()
        self.events = Counter("milestoned_events", "Events appended to the log.", registry=registry)
        self.segments = Counter(
            "milestoned_segments", "Segments appended to the log.", registry=registry
        )
        self.apart = Counter(
            "milestoned_segments_apart",
            "Segments that a process beside the service worked at.",
            registry=registry,
        )
        self.costly = Counter(
            "milestoned_costly_segments",
            "Segments refused because two processes died over them.",
            registry=registry,
        )
        self.refusals = Counter(
            "milestoned_refusals", "Requests refused.", ["reason"], registry=registry
        )
        self.sealed = Counter(
            "milestoned_rewards_sealed", "Rewards sealed.", ["status"], registry=registry
        )
        self.milestones = Counter("milestoned_milestones", "Milestones reached.", registry=registry)
        self.matcher_failures = Counter(
            "milestoned_matcher_failures",
            "Texts from agent or page that made a matcher fail, and so did not match.",
            ["matcher", "error"],
            registry=registry,
        )
        self.reward_reads = Counter("milestoned_reward_reads", "Rewards read.", registry=registry)
        self.open_episodes = Gauge(
            "milestoned_open_episodes", "Episodes that are not closed.", registry=registry
        )
        self.sandboxes = Gauge(
            "milestoned_sandboxes", "Sandboxes of the fleet.", ["state"], registry=registry
        )
        self.queued = Gauge(
            "milestoned_episodes_queued", "Episodes that wait for a sandbox.", registry=registry
        )
        self.owned = Gauge(
            "milestoned_episodes_owned",
            "Open episodes that end when their owner is silent.",
            registry=registry,
        )
        self.owner_silence = Gauge(
            "milestoned_owner_silence_seconds",
            "The longest time for which the owner of an open episode was not heard of.",
            registry=registry,
        )
        self.owner_silent = Counter(
            "milestoned_owner_silent_episodes",
            "Episodes that this replica ended because their owner was silent.",
            registry=registry,
        )
        self.checkpoints = Counter(
            "milestoned_checkpoints", "Checkpoints signed.", ["of"], registry=registry
        )
        self.traces = Counter(
            "milestoned_trace_parts",
            "Parts of traces, by what became of them.",
            ["state"],
            registry=registry,
        )
        self.escalations = Counter(
            "milestoned_escalations",
            "Questions taken up, by what became of them.",
            ["stage", "state"],
            registry=registry,
        )
        self.verdicts = Counter(
            "milestoned_verdicts", "Answers of stages.", ["stage", "outcome"], registry=registry
        )
        self.stage_cost = Counter(
            "milestoned_stage_cost", "Money spent on stages.", ["stage"], registry=registry
        )
        self.stage_seconds = Histogram(
            "milestoned_stage_seconds",
            "From a question to its answer.",
            ["stage"],
            buckets=(*_BUCKETS, 15.0, 60.0),
            registry=registry,
        )
        self.escalating = Gauge(
            "milestoned_escalating", "Items that wait for an answer.", registry=registry
        )
        self.gauges_age = Gauge(
            "milestoned_gauges_age_seconds",
            "Since the gauges above were counted in the database; more than moments where it is"
            " slow to answer.",
            registry=registry,
        )
        self.ingest_seconds = Histogram(
            "milestoned_ingest_seconds",
            "From a segment's receipt to its durability.",
            buckets=_BUCKETS,
            registry=registry,
        )
        waiters = Gauge(
            "milestoned_waiters", "Requests that wait for an episode to move on.", registry=registry
        )
        waiters.set_function(waiting)
        self._cached = Gauge(
            "milestoned_cache_bytes",
            "Bytes that a cache of this replica holds, as measured.",
            ["cache"],
            registry=registry,
        )
        self._cache_limits = Gauge(
            "milestoned_cache_max_bytes",
            "Bytes that a cache of this replica may hold.",
            ["cache"],
            registry=registry,
        )

    def watch_caches(self, caches: Mapping[str, MeasuredCache]) -> None:
        """Report each of these from now on, under its name."""
        for name, cache in caches.items():
            self._cached.labels(name).set_function(partial(getattr, cache, "bytes"))
            self._cache_limits.labels(name).set(cache.max_bytes)

    def appended(self, events: int, sealed: Sequence[str], milestones: int) -> None:
        """Count an appended segment by its events, sealed statuses and milestones."""
        self.segments.inc()
        self.events.inc(events)
        self.milestones.inc(milestones)
        for status in sealed:
            self.sealed.labels(status).inc()

    def fleet(self, sandboxes: Mapping[str, int], queued: int) -> None:
        """How many sandboxes are in each state, and how many episodes wait for one."""
        for state in ("idle", "busy", "lost", "left"):
            self.sandboxes.labels(state).set(sandboxes.get(state, 0))
        self.queued.set(queued)

    def text(self) -> bytes:
        """Render all metrics in Prometheus' text form."""
        return generate_latest(self.registry)
