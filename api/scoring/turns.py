"""Rollouts that report turn by turn over a trainer's own dialect, and want each turn's reward.

With an episode whose daemon watches the sandbox, a turn is a step: it ends when it is reported, and
the next one begins. Without one there is nothing but words: the final answer is scored by its task.
"""

from __future__ import annotations

from dataclasses import dataclass

from api.commands.command_queue import CommandQueue
from api.commands.store import Commands
from api.core.errors import InvalidError, UnavailableError
from api.core.notify import Deadline
from api.episodes.store import Episodes
from api.scoring.fold import RewardFolding
from api.scoring.reference import Reference
from api.scoring.score import SampleScore
from api.scoring.scorer import ScoredSample, Scorer
from api.tasks.store import Tasks


@dataclass(frozen=True, slots=True)
class Turn:
    """What came of a turn: its score, and the step that runs now (None: it was the last)."""

    score: SampleScore
    next_step: int | None


class Turns:
    """The turns of one service's rollouts."""

    def __init__(
        self,
        scorer: Scorer,
        commands: Commands,
        channel: CommandQueue,
        episodes: Episodes,
        tasks: Tasks,
    ) -> None:
        self._scorer, self._commands, self._channel = scorer, commands, channel
        self._episodes, self._tasks = episodes, tasks

    async def check_exists(self, tenant: str, where: Reference) -> None:
        """Raises `NotFoundError` unless the episode or the task is there, and is ``tenant``'s."""
        if where.episode is not None:
            await self._episodes.owned(tenant, where.episode)
        else:
            await self._tasks.find(tenant, where.task or "", where.version)

    async def begin(self, tenant: str, where: Reference, deadline: Deadline) -> tuple[str, int]:
        """Begin the first step, or find the one that runs: the task's instruction, and the step.

        Raises `ProblemError`, `UnavailableError` where no daemon journals it in time.
        """
        await self.check_exists(tenant, where)
        if where.episode is None:
            task = await self._tasks.find(tenant, where.task or "", where.version)
            return (await self._tasks.ruleset(task.number)).task.instruction, 0
        row = await self._episodes.get(where.episode)
        instruction = (await self._tasks.ruleset(row.task_number)).task.instruction
        if row.step is not None:
            return instruction, row.step
        await self._say_begun(where.episode, 0, deadline)
        return instruction, 0

    async def end(
        self,
        tenant: str,
        where: Reference,
        step: int,
        answer: str | None,
        final: bool,
        deadline: Deadline,
    ) -> Turn:
        """The turn's reward. ``final``: nothing follows, the episode is closed. Raises
        `ProblemError`."""
        await self.check_exists(tenant, where)
        if where.episode is None:
            if answer is None:
                raise InvalidError(
                    "answer: got none; without an episode only a final answer can be scored"
                )
            return Turn(
                await self._scorer.score(
                    tenant, ScoredSample(where, answer), RewardFolding(), deadline
                ),
                None,
            )
        row = await self._episodes.get(where.episode)
        if row.status == "open" and row.step == step:
            if answer is not None:
                await self._commands.say(
                    where.episode, "agent.answered", {"text": answer}, f"turn {step}"
                )
            await self._commands.end(where.episode, step, None)
            if final:
                # A close seals at once; what the turn set in motion is given the time that any step
                # has to settle.
                await self._scorer.score(
                    tenant, ScoredSample(Reference(where.episode, step)), RewardFolding(), deadline
                )
                await self._commands.close(where.episode, "the rollout ended")
                await self._channel.closed(where.episode, deadline)
        if final:
            return Turn(await self._scorer.last_turn(tenant, where.episode, step, deadline), None)
        score = await self._scorer.score(
            tenant, ScoredSample(Reference(where.episode, step)), RewardFolding(), deadline
        )
        if score.done:
            return Turn(score, None)
        await self._say_begun(where.episode, step + 1, deadline)
        return Turn(score, step + 1)

    async def _say_begun(self, episode: str, step: int, deadline: Deadline) -> None:
        queued = await self._commands.begin(episode, step, None, None)
        said: dict[str, object] = await self._channel.journalled(episode, queued, deadline)
        if "seq" not in said:
            raise UnavailableError(
                f"episode: no daemon of {episode} took step {step}'s begin in time"
            )
