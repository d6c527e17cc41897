"""Episodes of the model in the browser: its side of the conversation with `examples.agent.world`.
In `.venv-trl`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from milestoned_client.adapters.paid import Paid
from milestoned_client.adapters.paid_turns import PaidTurns

from examples.agent.browser import SLOTS, Browser
from examples.agent.families import SPARE
from examples.agent.talk import Talk
from examples.agent.words import begin, then


@dataclass
class Rollout:
    """One episode: its tokens from the first page on, which of them the model wrote, and what each
    turn paid (None: not known). It is what `TurnRewards` asks of an environment."""

    prompt: str
    prompt_ids: list[int]
    ids: list[int]
    written: list[int]
    logprobs: list[float]
    rewards: list[float | None]
    success: bool | None
    actions: list[str]
    _turn: int = 0

    def _paid_turns(self, turns: int) -> PaidTurns | None:
        if len(self.rewards) != turns:
            raise RuntimeError(f"{self.prompt}: {turns} turns of tokens, rewards {self.rewards}")
        known = [reward for reward in self.rewards if reward is not None]
        return PaidTurns(self.rewards, Paid(sum(known))) if known else None


def play(
    browser: Browser,
    model: Any,
    words: Any,
    prompts: Sequence[str],
    kind: str,
    labels: Mapping[str, Any],
    spare: int = SPARE,
    temperature: float = 1.0,
) -> list[Rollout]:
    """Play an episode for each of ``prompts`` (`FAMILY SEED`), `SLOTS` at a time. ``spare``: the
    turns more than it needs after which an episode is cut off."""
    found: list[Rollout] = []
    for at in range(0, len(prompts), SLOTS):
        talk = Talk(
            model,
            words.eos_token_id,
            words.pad_token_id,
            len(prompts[at : at + SLOTS]),
            temperature,
        )
        opened = [
            _request_episode(prompt, kind, labels, spare) for prompt in prompts[at : at + SLOTS]
        ]
        found += _played(browser, talk, words, prompts[at : at + SLOTS], opened)
    return found


def _request_episode(
    prompt: str, kind: str, labels: Mapping[str, Any], spare: int
) -> dict[str, Any]:
    family, seed = prompt.split()
    asked = {"family": family, "seed": int(seed), "kind": kind, "labels": labels}
    return {**asked, "spare": spare}


def _played(
    browser: Browser,
    talk: Talk,
    words: Any,
    prompts: Sequence[str],
    asked: Sequence[Mapping[str, Any]],
) -> list[Rollout]:
    slots = [{"slot": slot, **one} for slot, one in enumerate(asked)]
    for slot, opened in enumerate(browser.ask("open", slots)):
        talk.tell(slot, words(begin(opened["instruction"], opened["text"]))["input_ids"])
    lengths = [len(ids) for ids in talk.ids]
    actions: list[list[str]] = [[] for _ in prompts]
    active = list(range(len(prompts)))
    while active:
        texts = [words.decode(ids) for ids in talk.write(active)]
        acts = [{"slot": slot, "do": text} for slot, text in zip(active, texts, strict=True)]
        seen = browser.ask("act", acts)
        for slot, text, one in zip(active, texts, seen, strict=True):
            actions[slot].append(text)
            if not one["over"]:
                talk.tell(slot, words(then(one["text"]))["input_ids"])
        active = [slot for slot, one in zip(active, seen, strict=True) if not one["over"]]
    closed = browser.ask("close", [{"slot": slot} for slot in range(len(prompts))])
    return [
        Rollout(
            prompt,
            talk.ids[slot][:length],
            talk.ids[slot][length:],
            talk.written[slot][length:],
            talk.logprobs[slot][length:],
            one["rewards"],
            one["success"],
            actions[slot],
        )
        for slot, (prompt, length, one) in enumerate(zip(prompts, lengths, closed, strict=True))
    ]
