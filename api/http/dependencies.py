"""Parts of the service as FastAPI dependencies: a handler's signature says which ones it uses.

Handlers that need more than a few declare a dataclass of them beside themselves. The hot paths
(segments, rewards) take theirs from `parts_of`: FastAPI's resolving would cost them more than all
else that they do before the database.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from api.audit.store import Audits
from api.commands.command_queue import Channel
from api.commands.store import Commands
from api.core.settings import Limits, Settings
from api.core.yaml_text import ApartReader
from api.db.database import Database
from api.episodes.store import Episodes
from api.http.support import parts_of
from api.live.streams import Streams
from api.log.reader import Follower
from api.rescoring.background import Rescorer
from api.rescoring.store import Rescores
from api.rewards.ledger import Ledger
from api.scoring.scorer import Scorer
from api.scoring.turns import Turns
from api.tasks.store import Tasks


async def _settings(request: Request) -> Settings:
    return parts_of(request).settings


async def _limits(request: Request) -> Limits:
    return parts_of(request).settings.limits


async def _database(request: Request) -> Database:
    return parts_of(request).database


async def _tasks(request: Request) -> Tasks:
    return parts_of(request).tasks


async def _yaml(request: Request) -> ApartReader:
    return parts_of(request).yaml


async def _episodes(request: Request) -> Episodes:
    return parts_of(request).episodes


async def _commands(request: Request) -> Commands:
    return parts_of(request).commands


async def _channel(request: Request) -> Channel:
    return parts_of(request).channel


async def _ledger(request: Request) -> Ledger:
    return parts_of(request).ledger


async def _follower(request: Request) -> Follower:
    return parts_of(request).follower


async def _streams(request: Request) -> Streams:
    return parts_of(request).streams


async def _scorer(request: Request) -> Scorer:
    return parts_of(request).scorer


async def _turns(request: Request) -> Turns:
    return parts_of(request).turns


async def _audits(request: Request) -> Audits:
    return parts_of(request).audits


async def _rescores(request: Request) -> Rescores:
    return parts_of(request).rescores


async def _rescorer(request: Request) -> Rescorer:
    return parts_of(request).rescorer


SettingsPart = Annotated[Settings, Depends(_settings)]
LimitsPart = Annotated[Limits, Depends(_limits)]
DatabasePart = Annotated[Database, Depends(_database)]
TasksPart = Annotated[Tasks, Depends(_tasks)]
YamlPart = Annotated[ApartReader, Depends(_yaml)]
EpisodesPart = Annotated[Episodes, Depends(_episodes)]
CommandsPart = Annotated[Commands, Depends(_commands)]
ChannelPart = Annotated[Channel, Depends(_channel)]
LedgerPart = Annotated[Ledger, Depends(_ledger)]
FollowerPart = Annotated[Follower, Depends(_follower)]
StreamsPart = Annotated[Streams, Depends(_streams)]
ScorerPart = Annotated[Scorer, Depends(_scorer)]
TurnsPart = Annotated[Turns, Depends(_turns)]
AuditsPart = Annotated[Audits, Depends(_audits)]
RescoresPart = Annotated[Rescores, Depends(_rescores)]
RescorerPart = Annotated[Rescorer, Depends(_rescorer)]
