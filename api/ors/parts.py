"""What the service has for the Open Reward Standard, put together."""

from __future__ import annotations

from dataclasses import dataclass

from api.ors.calls import ToolCalls
from api.ors.environments import TaskEnvironments
from api.ors.groups import GroupScoring
from api.ors.lifecycle import Lifecycle
from api.ors.sessions import ToolSessions


@dataclass(frozen=True, slots=True)
class OpenReward:
    """The parts."""

    environments: TaskEnvironments
    sessions: ToolSessions
    calls: ToolCalls
    lifecycle: Lifecycle
    groups: GroupScoring
