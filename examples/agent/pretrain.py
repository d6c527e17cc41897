"""The model before any reward: trained on demonstrations, as `milestoned export --form sft` wrote
them. In `.venv-trl`.

    python -m examples.agent.pretrain DATA OUT --epochs N

A model of this size that has seen few demonstrations either cannot read the page at all or hardly
errs. So it is taught to read first, by the shortest demonstrations alone, since what is to be looked up
stands nearer there. Then come all, and then it is taught to be clumsy: in the last epochs the element
that it is taught to name is, in `CLUMSY` of the actions, another one of the same role.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.dataset
import torch

from examples.agent.words import END, begin, model, then, tokenizer

BATCH = 8
RATE = 1.5e-3
CLUMSY = 0.5
"""Share of the actions, in the last epochs, that name another element."""
CLUMSY_EPOCHS = 6
SHARE_OF_ALL = 4
"""The epochs over the shortest demonstrations, for one over all."""
WARM_UP = 100
"""Steps over which the rate rises to `RATE`."""


@dataclass(frozen=True)
class Turn:
    """What the model was told, what it answered, and the page that it saw."""

    told: str
    said: str
    saw: str

    def others(self) -> list[str]:
        """Return the names of the other elements that have the role of the one it named."""
        elements = [line.split()[:2] for line in self.saw.splitlines()]
        named = self.said.split()[1]
        role = next((role for role, name in elements if name == named), None)
        return [name for kind, name in elements if kind == role and name != named]


def conversation(messages: Sequence[dict[str, str]]) -> list[Turn]:
    """Return an episode's turns. The instruction is the first line that the user says; page and
    action are what the harness noted of the step."""
    instruction = messages[0]["content"].splitlines()[0]
    acts = [json.loads(one["content"]) for one in messages if one["role"] == "assistant"]
    told = [begin(instruction, acts[0]["saw"]), *(then(act["saw"]) for act in acts[1:])]
    return [
        Turn(page, f"{act['do']} {END}", act["saw"]) for page, act in zip(told, acts, strict=True)
    ]


def read_messages(data: Path) -> list[Any]:
    """Return the conversations of an export; what it said of another one in a folder of the same
    name is in no cache."""
    read = pyarrow.dataset.dataset(sorted(data.rglob("*.parquet"))).to_table(columns=["messages"])
    found: list[Any] = read.column("messages").to_pylist()
    return found


def tokens(
    words: Any, turns: Iterable[Turn], clumsy: random.Random | None = None
) -> tuple[list[int], list[int]]:
    """Return a conversation's tokens, and the labels: all that follows the first page, for the
    pages after it teach the model to look things up in those before. With ``clumsy``, the label of
    the element's name is in `CLUMSY` of the actions another one."""
    ids: list[int] = []
    labels: list[int] = []
    for at, turn in enumerate(turns):
        before, after = words(turn.told)["input_ids"], words(turn.said)["input_ids"]
        taught = list(after)
        others = turn.others()
        if clumsy is not None and others and clumsy.random() < CLUMSY:
            taught[1] = words.convert_tokens_to_ids(clumsy.choice(others))
        ids += [*before, *after]
        labels += [*(before if at else [-100] * len(before)), *taught]
    return ids, labels


def padded(rows: Sequence[tuple[list[int], list[int]]], pad: int, device: str) -> dict[str, Any]:
    """Return a batch of rows as tensors, padded at the right."""
    width = max(len(ids) for ids, _ in rows)
    ids = [row + [pad] * (width - len(row)) for row, _ in rows]
    mask = [[1] * len(row) + [0] * (width - len(row)) for row, _ in rows]
    labels = [row + [-100] * (width - len(row)) for _, row in rows]
    made = {"input_ids": ids, "attention_mask": mask, "labels": labels}
    return {name: torch.tensor(value, device=device) for name, value in made.items()}


def fit(
    learner: Any, words: Any, rows: list[Any], epochs: int, device: str, *, seed: int = 0
) -> None:
    """Fit the model to the rows, and print the loss of each fifth epoch."""
    chance = random.Random(seed)
    optimizer = torch.optim.AdamW(learner.parameters(), lr=RATE, weight_decay=0.01)
    warming = torch.optim.lr_scheduler.LinearLR(optimizer, 0.01, total_iters=WARM_UP)
    learner.train()
    for epoch in range(1, epochs + 1):
        chance.shuffle(rows)
        losses = []
        for at in range(0, len(rows), BATCH):
            batch = padded(rows[at : at + BATCH], words.pad_token_id, device)
            loss = learner(**batch).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(learner.parameters(), 1.0)
            optimizer.step()
            warming.step()
            losses.append(loss.item())
        if epoch % 5 == 0 or epoch == epochs:
            print(f"epoch {epoch}: loss {sum(losses) / len(losses):.3f}", flush=True)


def main() -> None:
    """Read the data, fit the model, save it."""
    parser = argparse.ArgumentParser(prog="python -m examples.agent.pretrain", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    torch.set_num_threads(1)
    words = tokenizer()
    learner = model(words, seed=0).to(given.device)
    weights = sum(one.numel() for one in learner.parameters())
    shown = [conversation(messages) for messages in read_messages(given.data)]
    print(f"{len(shown)} demonstrations, {weights:,} weights", flush=True)
    length = min(len(turns) for turns in shown)
    short = [tokens(words, turns) for turns in shown if len(turns) == length]
    fit(learner, words, short, given.epochs, given.device)
    if len(short) < len(shown):
        rows = [tokens(words, turns) for turns in shown]
        fit(learner, words, rows, given.epochs // SHARE_OF_ALL, given.device)
    clumsy = random.Random(0)
    rows = [tokens(words, turns, clumsy) for turns in shown for _ in range(CLUMSY_EPOCHS)]
    fit(learner, words, rows, 1, given.device)
    learner.save_pretrained(given.out)
    words.save_pretrained(given.out)


if __name__ == "__main__":
    main()
