"""The parts of one running service, put together by hand: what each needs is what it is given."""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Self

import structlog

from api.audit.checkpointer import Checkpointer
from api.audit.delivery import delivery_of
from api.audit.note import PublicKey
from api.audit.owning import Owner
from api.audit.store import Audits
from api.audit.watching import HealthGauges
from api.auth.rates import Rates
from api.auth.store import FIRST, Tokens
from api.blame.blames import Blames
from api.cascade.draft_bills import DraftBills
from api.cascade.evidence import Readings
from api.cascade.reading_ahead import ReadingAhead
from api.cascade.stages import Stages
from api.cascade.store import Verdicts
from api.cascade.worker import Stores, Worker
from api.commands.command_queue import CommandQueue
from api.commands.store import Commands
from api.core.background import AFTER_START_S
from api.core.errors import UnavailableError
from api.core.keys import Keys, first_admin_token, load_keys
from api.core.metrics import Metrics
from api.core.notify import Notifier
from api.core.settings import Limits, Settings, TelemetrySettings
from api.core.signing import Signer
from api.core.yaml_apart import ApartReader
from api.db.database import Database
from api.db.migrate import upgrade
from api.episodes.idempotency import Answers
from api.episodes.search import Search
from api.episodes.shared_transaction import SharedTransaction
from api.episodes.store import Episodes
from api.fleet.daemon_calls import CALL, SILENT, DaemonCalls
from api.fleet.ending import end
from api.fleet.leases import Leases
from api.fleet.owners import Owners
from api.fleet.readiness import EpisodeReadiness
from api.fleet.store import Sandboxes
from api.fleet.watch import LOOKS, End, FleetWatch
from api.ingest.admission import AdmissionGate
from api.ingest.appender import Log
from api.ingest.crew import Crew
from api.ingest.engines import Engines
from api.ingest.strangers import Strangers
from api.labelling.store import Preferences
from api.live.live_subscribers import Followers
from api.live.stream_ids import StreamIds
from api.live.streams import Streams
from api.log.arrivals import Arrivals
from api.log.broadcast import Broadcast
from api.log.packing import Packing
from api.log.reader import Follower
from api.log.segments import StoredSegments
from api.ors.calls import ToolCalls
from api.ors.environments import TaskEnvironments
from api.ors.groups import GroupScoring
from api.ors.lifecycle import Lifecycle
from api.ors.parts import OpenReward
from api.ors.payments import Payments
from api.ors.sessions import ToolSessions
from api.proposal.apart import ApartProposer
from api.rescoring.background import Rescorer
from api.rescoring.store import Rescores
from api.rewards.credits import Credits
from api.rewards.curriculum import Curriculum
from api.rewards.ledger import Ledger
from api.rewards.rewards import RewardReader
from api.rewards.sampling import EpisodeSampler
from api.scoring.cause_masks import CauseMasks
from api.scoring.groups import GroupScorer
from api.scoring.scorer import Scorer
from api.scoring.ties import TieBreaker
from api.scoring.turns import Turns
from api.service.gauges import Gauges
from api.service.overview import Overview
from api.service.removal import Removal
from api.service.retention import Upkeep
from api.start_states.store import StartGuard, StartStates
from api.tasks.store import Tasks
from api.timeline.outlines import Outlines
from api.verdicts.escalations import Escalations
from api.verdicts.opinions import Opinions

if TYPE_CHECKING:
    from api.telemetry.exporter import TraceExporter

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """All parts; a route gets those that it uses from `api.http.dependencies`."""

    settings: Settings
    keys: Keys
    database: Database
    notifier: Notifier
    metrics: Metrics
    tokens: Tokens
    rates: Rates
    draft_bills: DraftBills
    gate: AdmissionGate
    answers: Answers
    tasks: Tasks
    yaml: ApartReader
    proposer: ApartProposer
    episodes: Episodes
    commands: Commands
    channel: CommandQueue
    ledger: Ledger
    crew: Crew
    log: Log
    segments: StoredSegments
    rewards: RewardReader
    signer: Signer
    owner: Owner
    audits: Audits
    checkpointer: Checkpointer
    packing: Packing
    gauges: Gauges
    follower: Follower
    readiness: EpisodeReadiness
    followers: Followers
    streams: Streams
    outlines: Outlines
    search: Search
    overview: Overview
    preferences: Preferences
    scorer: Scorer
    sampler: EpisodeSampler
    curriculum: Curriculum
    ties: TieBreaker
    groups: GroupScorer
    credits: Credits
    blames: Blames
    start_states: StartStates
    start_guard: StartGuard
    masks: CauseMasks
    turns: Turns
    open_reward: OpenReward
    sandboxes: Sandboxes
    leases: Leases
    owners: Owners
    daemon_calls: DaemonCalls
    watch: FleetWatch
    rescores: Rescores
    rescorer: Rescorer
    removal: Removal
    arrivals: Arrivals
    upkeep: Upkeep
    escalations: Escalations
    verdicts: Verdicts
    stages: Stages
    cascade: Worker
    reading_ahead: ReadingAhead
    broadcast: Broadcast | None
    traces: TraceExporter | None

    @classmethod
    def build(
        cls, settings: Settings, notifier: Notifier, metrics: Metrics, stages: Stages
    ) -> Self:
        """Put the parts together; nothing is read or written yet but the secret."""
        limits = settings.limits
        database = Database(settings.database)
        tasks = Tasks(database)
        episodes = Episodes(database, traced=bool(settings.telemetry.traces_url))
        commands = Commands(database, notifier)
        ledger = Ledger(database, limits.rewards_cached)
        answers = Answers(database)
        arrivals = Arrivals(database)
        audits = Audits(database)
        rescores = Rescores(database)
        sandboxes = Sandboxes(database)
        segments = StoredSegments(database)
        signer = Signer.load(settings)
        removal = Removal(database, signer, notifier)

        crew = Crew(settings.workers, limits)
        engines = Engines(database, episodes, tasks, limits.engines_bytes)
        log = Log(database, engines, episodes, ledger, notifier, metrics, limits, crew)
        calls = DaemonCalls(notifier, limits.sandbox_lost_s * SILENT)
        call_s = limits.sandbox_lost_s * CALL
        channel = CommandQueue(commands, episodes, notifier, call_s, calls.spread_call)

        followers = Followers(notifier)
        keys = load_keys(settings)
        ids = StreamIds(keys.derived("ids of the stream of all", 64))
        streams = Streams(
            segments, ledger, episodes, arrivals, notifier, followers, ids, limits.heartbeat_s
        )
        outlines = Outlines(segments)
        readings = Readings(segments)
        rewards = RewardReader(ledger, episodes, notifier)
        follower = Follower(segments)
        transaction = SharedTransaction(database)
        verdicts = Verdicts(database, transaction)
        blames = Blames(episodes, ledger, tasks, follower, verdicts)
        start_states = StartStates(database)
        start_guard = StartGuard(start_states, follower, tasks)
        masks = CauseMasks(blames, start_guard)
        scorer = Scorer(rewards, ledger, episodes, tasks, notifier, masks)
        turns = Turns(scorer, commands, channel, episodes, tasks)

        leases = Leases(database, notifier, 2 * limits.sandbox_lost_s / LOOKS)
        owners = Owners(database, notifier, metrics)
        closing = partial(end, log, segments, episodes, commands)
        watch = _build_watch(limits, database, notifier, calls, tasks, sandboxes, leases, closing)
        readiness = EpisodeReadiness(segments, episodes, leases, notifier, watch.silent_s, calls)

        sessions = ToolSessions(database)
        tool_calls = ToolCalls(
            sessions,
            commands,
            channel,
            turns,
            Payments(rewards, ledger, episodes, blames, masks),
            notifier,
        )
        lifecycle = Lifecycle(sessions, tool_calls, commands, readiness)

        runner = uuid.uuid4().hex
        escalations = Escalations(database, transaction, runner)
        opinions = Opinions(transaction, database.embedded, runner)
        stores = Stores(escalations, opinions, verdicts, tasks)
        ties = TieBreaker(opinions, readings, tasks, metrics, stages, settings.stages)

        groups = GroupScorer(scorer, ledger, episodes, tasks, ties)
        open_reward = OpenReward(
            TaskEnvironments(tasks),
            sessions,
            tool_calls,
            lifecycle,
            GroupScoring(groups, scorer, notifier),
        )

        remembering = (engines, episodes, ledger, streams, outlines, readings, readiness, ties)
        for part in remembering:
            notifier.on_gone(part.forget)
        metrics.watch_caches(
            {
                "engines": engines.kept,
                "rules": tasks.compiled,
                "rewards": ledger,
                "readings": readings.kept,
                "outlines": outlines.kept,
                "explanations": outlines.explanations,
                "sights": readiness.seen,
                "calls": calls.kept,
                "ties": ties.kept,
            }
        )
        return cls(
            settings=settings,
            keys=keys,
            database=database,
            notifier=notifier,
            metrics=metrics,
            tokens=Tokens(database, limits.token_cache_s),
            rates=Rates(limits),
            draft_bills=DraftBills(opinions, metrics, settings.stages.budgets),
            gate=AdmissionGate(limits),
            answers=answers,
            tasks=tasks,
            yaml=ApartReader(),
            proposer=ApartProposer(),
            episodes=episodes,
            commands=commands,
            channel=channel,
            ledger=ledger,
            crew=crew,
            log=log,
            segments=segments,
            rewards=rewards,
            signer=signer,
            owner=Owner(PublicKey(signer.name, signer.public)),
            audits=audits,
            checkpointer=_build_checkpointer(settings, audits, ledger, signer, metrics),
            packing=Packing(database, segments),
            gauges=_build_gauges(metrics, episodes, sandboxes, leases, owners, escalations, audits),
            follower=follower,
            readiness=readiness,
            followers=followers,
            streams=streams,
            outlines=outlines,
            search=Search(database),
            sampler=EpisodeSampler(database),
            curriculum=Curriculum(database),
            overview=Overview(database),
            preferences=Preferences(database),
            scorer=scorer,
            ties=ties,
            groups=groups,
            credits=Credits(database, ledger, episodes, tasks),
            blames=blames,
            start_states=start_states,
            start_guard=start_guard,
            masks=masks,
            sandboxes=sandboxes,
            leases=leases,
            owners=owners,
            daemon_calls=calls,
            watch=watch,
            turns=turns,
            open_reward=open_reward,
            rescores=rescores,
            rescorer=Rescorer(database, rescores),
            removal=removal,
            arrivals=arrivals,
            upkeep=_build_upkeep(settings, episodes, removal, answers, arrivals),
            escalations=escalations,
            verdicts=verdicts,
            stages=stages,
            cascade=Worker(stores, readings, notifier, metrics, runner, stages, settings.stages),
            reading_ahead=ReadingAhead(
                notifier,
                readings,
                episodes,
                tasks,
                stages.by_tier.get("model", ()) if database.embedded else (),
            ),
            broadcast=None if database.embedded else Broadcast(database.url, notifier),
            traces=_build_traces(settings.telemetry, database, segments, ledger, tasks, metrics),
        )

    async def start(self) -> None:
        """Bring the schema up to date and see to it that there is an admin.

        Where the database is signed with another key than this process has, it serves and signs
        nothing.
        """
        await upgrade(self.database)
        await self.owner.settle(self.audits, self.signer)
        if self.owner.foreign is not None:
            log.error(
                "This service signs no checkpoints and deletes nothing.", why=self.owner.foreign
            )
            self.removal.refuse(self.owner.foreign)
        label = FIRST[0] if self.settings.admin_token else FIRST[1]
        await self.tokens.ensure_admin(first_admin_token(self.settings), label)
        await self.arrivals.adopt()
        if self.broadcast is not None:
            await self.broadcast.start()
        await self.upkeep.start()
        if self.owner.foreign is None:
            self.checkpointer.start()
        self.packing.periodic.start(AFTER_START_S)
        self.rescorer.start()
        self.cascade.start()
        self.reading_ahead.start()
        await self.watch.start()
        self.owners.start()
        self.open_reward.lifecycle.start()
        if self.traces is not None:
            self.traces.start()

    async def stop(self) -> None:
        """Answer those who wait, end the background work, then close the database."""
        self.notifier.stop()
        if self.traces is not None:
            await self.traces.stop()
        await self.open_reward.lifecycle.stop()
        await self.checkpointer.stop()
        await self.packing.periodic.stop()
        await self.rescorer.stop()
        await self.cascade.stop()
        await self.reading_ahead.stop()
        await self.ties.stop()
        await self.stages.close()
        await self.owners.stop()
        await self.watch.stop()
        await self.upkeep.stop()
        await self.crew.stop()
        await self.gauges.stop()
        with suppress(UnavailableError):  # no more is lost than when a token was used last
            await self.tokens.note_uses()
        if self.broadcast is not None:
            await self.broadcast.stop()
        await self.database.close()


def _build_watch(
    limits: Limits,
    database: Database,
    notifier: Notifier,
    calls: DaemonCalls,
    tasks: Tasks,
    sandboxes: Sandboxes,
    leases: Leases,
    closing: End,
) -> FleetWatch:
    strangers = Strangers(database, tasks)
    lost_s, keys_kept_days = limits.sandbox_lost_s, limits.keys_kept_days
    return FleetWatch(
        sandboxes, leases, strangers, notifier, calls, closing, lost_s, keys_kept_days
    )


def _build_checkpointer(
    settings: Settings, audits: Audits, ledger: Ledger, signer: Signer, metrics: Metrics
) -> Checkpointer:
    delivery = delivery_of(settings.checkpoints)
    return Checkpointer(audits, ledger, signer, delivery, metrics)


def _build_gauges(
    metrics: Metrics,
    episodes: Episodes,
    sandboxes: Sandboxes,
    leases: Leases,
    owners: Owners,
    escalations: Escalations,
    audits: Audits,
) -> Gauges:
    health = HealthGauges(audits, metrics.registry)
    return Gauges(metrics, episodes, sandboxes, leases, owners, escalations, health)


def _build_traces(
    settings: TelemetrySettings,
    database: Database,
    segments: StoredSegments,
    ledger: Ledger,
    tasks: Tasks,
    metrics: Metrics,
) -> TraceExporter | None:
    if not settings.traces_url:
        return None
    # Of an extra: see api/cli/telemetry.py for what is said where it is not installed.
    from api.telemetry.exporter import TraceExporter, TraceSources
    from api.telemetry.store import TraceExports

    sources = TraceSources(segments, ledger, tasks)
    return TraceExporter(TraceExports(database), sources, metrics, settings)


def _build_upkeep(
    settings: Settings,
    episodes: Episodes,
    removal: Removal,
    answers: Answers,
    arrivals: Arrivals,
) -> Upkeep:
    keys_kept_days, keep_days = settings.limits.keys_kept_days, settings.keep_days
    return Upkeep(episodes.partitions, removal, answers, arrivals, keys_kept_days, keep_days)
