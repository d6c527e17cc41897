"""Parts of the service as FastAPI dependencies: a handler's signature says which ones it uses.

Handlers that need more than a few declare a dataclass of them beside themselves. The hot paths
(segments, rewards) take theirs from `parts_of`: FastAPI's resolving would cost them more than all
else that they do before the database.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from api.audit.store import Audits
from api.auth.rates import Rates
from api.auth.store import Tokens
from api.blame.blames import Blames
from api.commands.command_queue import CommandQueue
from api.commands.store import Commands
from api.core.keys import Keys
from api.core.settings import Limits, Settings
from api.core.yaml_apart import ApartReader
from api.db.database import Database
from api.episodes.idempotency import Answers
from api.episodes.search import Search
from api.episodes.store import Episodes
from api.fleet.owners import Owners
from api.http.support import parts_of
from api.labelling.store import Preferences
from api.live.live_subscribers import Followers
from api.live.streams import Streams
from api.log.reader import Follower
from api.proposal.apart import ApartProposer
from api.rescoring.store import Rescores
from api.rewards.ledger import Ledger
from api.scoring.groups import GroupScorer
from api.scoring.scorer import Scorer
from api.scoring.turns import Turns
from api.service.overview import Overview
from api.stages.judge.judge import Judge
from api.tasks.store import Tasks
from api.timeline.outlines import Outlines


async def _settings(connection: HTTPConnection) -> Settings:
    return parts_of(connection).settings


async def _limits(connection: HTTPConnection) -> Limits:
    return parts_of(connection).settings.limits


async def _database(connection: HTTPConnection) -> Database:
    return parts_of(connection).database


async def _blames(connection: HTTPConnection) -> Blames:
    return parts_of(connection).blames


async def _tasks(connection: HTTPConnection) -> Tasks:
    return parts_of(connection).tasks


async def _yaml(connection: HTTPConnection) -> ApartReader:
    return parts_of(connection).yaml


async def _proposer(connection: HTTPConnection) -> ApartProposer:
    return parts_of(connection).proposer


async def _judge(connection: HTTPConnection) -> Judge | None:
    """Return the service's judge, None without one."""
    judges = parts_of(connection).stages.by_tier.get("judge") or ()
    return next((stage for stage in judges if isinstance(stage, Judge)), None)


async def _episodes(connection: HTTPConnection) -> Episodes:
    return parts_of(connection).episodes


async def _owners(connection: HTTPConnection) -> Owners:
    return parts_of(connection).owners


async def _commands(connection: HTTPConnection) -> Commands:
    return parts_of(connection).commands


async def _channel(connection: HTTPConnection) -> CommandQueue:
    return parts_of(connection).channel


async def _followers(connection: HTTPConnection) -> Followers:
    return parts_of(connection).followers


async def _ledger(connection: HTTPConnection) -> Ledger:
    return parts_of(connection).ledger


async def _follower(connection: HTTPConnection) -> Follower:
    return parts_of(connection).follower


async def _streams(connection: HTTPConnection) -> Streams:
    return parts_of(connection).streams


async def _scorer(connection: HTTPConnection) -> Scorer:
    return parts_of(connection).scorer


async def _groups(connection: HTTPConnection) -> GroupScorer:
    return parts_of(connection).groups


async def _turns(connection: HTTPConnection) -> Turns:
    return parts_of(connection).turns


async def _audits(connection: HTTPConnection) -> Audits:
    return parts_of(connection).audits


async def _preferences(connection: HTTPConnection) -> Preferences:
    return parts_of(connection).preferences


async def _rescores(connection: HTTPConnection) -> Rescores:
    return parts_of(connection).rescores


async def _answers(connection: HTTPConnection) -> Answers:
    return parts_of(connection).answers


async def _keys(connection: HTTPConnection) -> Keys:
    return parts_of(connection).keys


@dataclass(frozen=True, slots=True)
class Authenticator:
    """What finds out whose a token is, and counts what is asked with it."""

    tokens: Tokens
    rates: Rates


async def _authenticator(connection: HTTPConnection) -> Authenticator:
    parts = parts_of(connection)
    return Authenticator(parts.tokens, parts.rates)


async def _overview(connection: HTTPConnection) -> Overview:
    return parts_of(connection).overview


async def _outlines(connection: HTTPConnection) -> Outlines:
    return parts_of(connection).outlines


async def _search(connection: HTTPConnection) -> Search:
    return parts_of(connection).search


SettingsPart = Annotated[Settings, Depends(_settings)]
LimitsPart = Annotated[Limits, Depends(_limits)]
DatabasePart = Annotated[Database, Depends(_database)]
BlamesPart = Annotated[Blames, Depends(_blames)]
TasksPart = Annotated[Tasks, Depends(_tasks)]
YamlPart = Annotated[ApartReader, Depends(_yaml)]
ProposerPart = Annotated[ApartProposer, Depends(_proposer)]
JudgePart = Annotated[Judge | None, Depends(_judge)]
"""The first judge that the service has; None where it has none."""
EpisodesPart = Annotated[Episodes, Depends(_episodes)]
OwnersPart = Annotated[Owners, Depends(_owners)]
CommandsPart = Annotated[Commands, Depends(_commands)]
ChannelPart = Annotated[CommandQueue, Depends(_channel)]
FollowersPart = Annotated[Followers, Depends(_followers)]
LedgerPart = Annotated[Ledger, Depends(_ledger)]
FollowerPart = Annotated[Follower, Depends(_follower)]
StreamsPart = Annotated[Streams, Depends(_streams)]
ScorerPart = Annotated[Scorer, Depends(_scorer)]
GroupsPart = Annotated[GroupScorer, Depends(_groups)]
TurnsPart = Annotated[Turns, Depends(_turns)]
PreferencesPart = Annotated[Preferences, Depends(_preferences)]
AuditsPart = Annotated[Audits, Depends(_audits)]
RescoresPart = Annotated[Rescores, Depends(_rescores)]
AnswersPart = Annotated[Answers, Depends(_answers)]
KeysPart = Annotated[Keys, Depends(_keys)]
AuthenticatorPart = Annotated[Authenticator, Depends(_authenticator)]
OverviewPart = Annotated[Overview, Depends(_overview)]
OutlinesPart = Annotated[Outlines, Depends(_outlines)]
SearchPart = Annotated[Search, Depends(_search)]
