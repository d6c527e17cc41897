"""Closed episodes as chat data for fine-tuning, in the columns that TRL's trainers load.

An episode is a conversation: the user says the instruction and what was observed before a step, the
assistant answers with the step's action. What is labelled by rewards needs them known: an unknown
reward is no 0 and no failure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, get_args

import orjson

from api.exporting.detours import find_detours
from api.exporting.returns import Return, returns_to_go
from api.exporting.rows import Exported, scored_result
from api.replay.recordings import read_frames
from api.rewards.observation import ObservationJson, state_as_text
from api.rewards.trajectory import TransitionJson, transitions
from detectors.model.codec import canonical, sha256, text_or_json
from detectors.model.rewards import RewardJson

Form = Literal["sft", "dpo", "kto", "prm"]
FORMS: tuple[Form, ...] = get_args(Form)
PURIFIABLE: tuple[Form, ...] = ("sft", "kto", "prm")
"""Forms that can leave out detours; pairs compare actions, and a detour is one of them."""
Message = dict[str, str]
Row = dict[str, object]

OPEN = "not closed"
NO_ACTIONS = "without an action in every step"
NO_SUCCESS = "not known to be a success"
BELOW = "worth less than --min-total, or not known"
UNKNOWN = "with a reward that is not known"


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One step of a conversation: what the user says, the action, and the step's reward, None where
    it is not known."""

    step: int
    user: str
    action: str
    reward: float | None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A closed episode with an action in every step. ``returns``: the returns-to-go of its turns;
    what the close of the episode pays is part of them. ``left_out``: steps that led nowhere, each
    with why, where they are left out."""

    episode: str
    task: str
    success: bool | None
    total: float | None
    turns: Sequence[ChatTurn]
    returns: Sequence[Return]
    left_out: Mapping[int, str] | None = None

    def prompt(self, turn: int) -> list[Message]:
        """Return the messages up to what the user says in ``turn``."""
        messages: list[Message] = []
        for earlier in self.turns[:turn]:
            messages += [_message("user", earlier.user), _message("assistant", earlier.action)]
        return [*messages, _message("user", self.turns[turn].user)]


@dataclass(slots=True)
class ChatExport:
    """What is exported in one form, and what was left out of it, by reason."""

    form: Form
    gamma: float
    min_total: float | None = None
    purified: bool = False
    left_out: Counter[str] = field(default_factory=Counter)
    detours: Counter[str] = field(default_factory=Counter)
    """Steps that led nowhere and were left out, `idle` and `loop`."""

    def rows(self, episodes: Iterable[Exported]) -> Iterator[Row]:
        """Yield the rows of the form. Raises `RecordingError`, `TaskError`."""
        conversations = self._conversations(episodes)
        if self.form == "dpo":
            yield from preference_rows(conversations)
            return
        for conversation in conversations:
            if self.form == "sft":
                yield from self._sft(conversation)
            elif self.form == "kto":
                yield from kto_rows(conversation)
            elif _is_known(conversation):
                yield prm_row(conversation)
            else:
                self.left_out[UNKNOWN] += 1

    def _conversations(self, episodes: Iterable[Exported]) -> Iterator[Conversation]:
        """Yield each episode that can be said as a chat; others are counted by reason, as are left
        out turns."""
        for exported in episodes:
            conversation = read_conversation(exported, self.gamma, purified=self.purified)
            if isinstance(conversation, str):
                self.left_out[conversation] += 1
                continue
            reasons = (conversation.left_out or {}).values()
            self.detours.update(reason.partition(":")[0] for reason in reasons)
            yield conversation

    def _sft(self, conversation: Conversation) -> Iterator[Row]:
        reason = self._reason_against(conversation)
        if reason is not None:
            self.left_out[reason] += 1
            return
        last = conversation.turns[-1]
        prompt = conversation.prompt(len(conversation.turns) - 1)
        yield {
            "messages": [*prompt, _message("assistant", last.action)],
            "episode": conversation.episode,
            "task": conversation.task,
            "success": conversation.success,
            "total": conversation.total,
            **_left_out(conversation),
        }

    def _reason_against(self, conversation: Conversation) -> str | None:
        """Return why a conversation is no example to learn from; None where it is one."""
        if self.min_total is None:
            return None if conversation.success else NO_SUCCESS
        total = conversation.total
        is_enough = total is not None and total >= self.min_total
        return None if is_enough else BELOW


def read_conversation(
    exported: Exported, gamma: float, *, purified: bool = False
) -> Conversation | str:
    """Return an episode as a conversation, or why it is none. ``purified``: without the steps that
    led nowhere; returns-to-go are of all steps. Raises `RecordingError`, `TaskError`."""
    assert exported.task is not None, "recordings and stored episodes come with their task"
    segments = list(read_frames(exported.content, exported.name))
    result = scored_result(exported, segments)
    if not result["closed"]:
        return OPEN
    rewards = {reward["step"]: reward for reward in result["rewards"]}
    events = list(chain.from_iterable(segment.events for segment in segments))
    steps = [step for step in transitions(events, rewards) if step["step"] in rewards]
    acted = _acted_steps(steps)
    if not acted:
        return NO_ACTIONS
    values = [rewards[step["step"]]["reward"] for step in steps]
    returns = returns_to_go(values, gamma, closed=True)
    detours = find_detours(acted, events) if purified else None
    kept_steps: list[TransitionJson] = []
    kept_returns: list[Return] = []
    for step, known in zip(acted, returns, strict=False):
        if detours is not None and step["step"] in detours:
            continue
        kept_steps.append(step)
        kept_returns.append(known)
    instruction = str(orjson.loads(exported.task)["instruction"])
    return Conversation(
        episode=result["episode"],
        task=result["task"],
        success=result["success"],
        total=result["total"],
        turns=_chat_turns(kept_steps, rewards, instruction),
        returns=kept_returns,
        left_out=detours,
    )


def _chat_turns(
    steps: Sequence[TransitionJson], rewards: Mapping[int, RewardJson], instruction: str
) -> list[ChatTurn]:
    """Return a turn a step; the first one's observation begins with the instruction."""
    turns = []
    for number, step in enumerate(steps):
        said = instruction if number == 0 else None
        observation = _observation_text(step["observation"], said)
        reward = rewards[step["step"]]["reward"]
        turns.append(ChatTurn(step["step"], observation, _action_text(step["action"]), reward))
    return turns


def _acted_steps(steps: Sequence[TransitionJson]) -> Sequence[TransitionJson]:
    """Return the steps without the one that the close of the episode decides: nobody acts in it.
    None are returned where a step's action was not told."""
    if steps and _is_of_close(steps[-1]):
        steps = steps[:-1]
    is_whole = all(step["action"] is not None for step in steps)
    return steps if is_whole else []


def _is_of_close(step: TransitionJson) -> bool:
    """Whether a step is what the close of the episode decides."""
    return step["done"] and step["action"] is None


def kto_rows(conversation: Conversation) -> Iterator[Row]:
    """Yield the steps that were paid (desirable) or penalised (not); others say nothing of their
    action, and a reward that is not known says neither."""
    for number, turn in enumerate(conversation.turns):
        if turn.reward:
            yield {
                "prompt": conversation.prompt(number),
                "completion": [_message("assistant", turn.action)],
                "label": turn.reward > 0,
                "episode": conversation.episode,
                "task": conversation.task,
                "step": turn.step,
                "reward": turn.reward,
                **_left_out(conversation),
            }


def prm_row(conversation: Conversation) -> Row:
    """Return the episode with a label a step: whether it was not penalised and something was earned
    from it on (Math-Shepherd's hard estimate, Wang et al. 2024, over one rollout)."""
    first, *later = conversation.turns
    return {
        "prompt": first.user,
        "completions": [first.action, *(f"{turn.user}\n{turn.action}" for turn in later)],
        "labels": [
            turn.reward is not None and turn.reward >= 0 and _is_positive(to_go.value)
            for turn, to_go in zip(conversation.turns, conversation.returns, strict=True)
        ],
        "episode": conversation.episode,
        "task": conversation.task,
        "total": conversation.total,
        **_left_out(conversation),
    }


def _left_out(conversation: Conversation) -> Row:
    """Return the column of the steps that were left out, null where none are looked for."""
    steps = conversation.left_out
    if steps is None:
        return {"left_out": None}
    return {"left_out": [{"step": step, "reason": reason} for step, reason in steps.items()]}


@dataclass(frozen=True, slots=True)
class _Choice:
    """An action at one place of a conversation, and the return-to-go from there."""

    episode: str
    step: int
    action: str
    value: float


def preference_rows(conversations: Iterable[Conversation]) -> Iterator[Row]:
    """Yield a pair where episodes of a task went on from the same messages by different actions
    with different returns: the action of the highest against that of the lowest.

    Two choices a place are kept in memory, and the messages of the places where there are two.
    """
    best: dict[str, _Choice] = {}
    worst: dict[str, _Choice] = {}
    prompts: dict[str, tuple[str, list[Message]]] = {}
    for conversation in conversations:
        for number, turn in enumerate(conversation.turns):
            value = conversation.returns[number].value
            if value is None:
                continue
            prompt = conversation.prompt(number)
            place = sha256(canonical([conversation.task, prompt]))
            choice = _Choice(conversation.episode, turn.step, turn.action, value)
            if place in best:
                prompts.setdefault(place, (conversation.task, prompt))
            best[place] = max(best.get(place, choice), choice, key=_by_value)
            worst[place] = min(worst.get(place, choice), choice, key=_by_value)
    for place, (task, prompt) in prompts.items():
        if best[place].action != worst[place].action and best[place].value > worst[place].value:
            yield _pair(task, prompt, best[place], worst[place])


def _by_value(choice: _Choice) -> float:
    return choice.value


def _pair(task: str, prompt: list[Message], chosen: _Choice, rejected: _Choice) -> Row:
    return {
        "prompt": prompt,
        "chosen": [_message("assistant", chosen.action)],
        "rejected": [_message("assistant", rejected.action)],
        "task": task,
        "step": chosen.step,
        "margin": chosen.value - rejected.value,
        "chosen_episode": chosen.episode,
        "rejected_episode": rejected.episode,
    }


def _is_positive(value: float | None) -> bool:
    return value is not None and value > 0


def _is_known(conversation: Conversation) -> bool:
    return all(to_go.value is not None for to_go in conversation.returns)


def _message(role: Literal["user", "assistant"], content: str) -> Message:
    return {"role": role, "content": content}


def _observation_text(observation: ObservationJson, instruction: str | None) -> str:
    text = state_as_text(observation)
    return text if instruction is None else f"{instruction}\n\n{text}"


def _action_text(action: object) -> str:
    return text_or_json(action)
