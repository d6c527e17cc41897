"""The model before any reward: trained on demonstrations, as `milestoned export --form sft` wrote
them. In `.venv-trl`.

    python -m examples.agent.pretrain DATA OUT --epochs N
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.dataset
import torch

from examples.agent.words import END, begin, model, then, tokenizer

BATCH = 8
RATE = 1.5e-3
WARM_UP = 100
"""Steps over which the rate rises to `RATE`."""


def conversation(messages: Sequence[dict[str, str]]) -> tuple[list[str], list[str]]:
    """Return what the model was told and what it answered, turn by turn. The instruction is the
    first line that the user says; page and action are what the harness noted of the step."""
    instruction = messages[0]["content"].splitlines()[0]
    acts = [json.loads(one["content"]) for one in messages if one["role"] == "assistant"]
    told = [begin(instruction, acts[0]["saw"]), *(then(act["saw"]) for act in acts[1:])]
    return told, [f"{act['do']} {END}" for act in acts]


def read_messages(data: Path) -> list[Any]:
    """Return the conversations of an export; what it said of another one in a folder of the same
    name is in no cache."""
    read = pyarrow.dataset.dataset(sorted(data.rglob("*.parquet"))).to_table(columns=["messages"])
    found: list[Any] = read.column("messages").to_pylist()
    return found


def tokens(words: Any, told: Iterable[str], said: Iterable[str]) -> tuple[list[int], list[int]]:
    """Return a conversation's tokens, and the labels: all that follows the first page, for the
    pages after it teach the model to look things up in those before."""
    ids: list[int] = []
    labels: list[int] = []
    for turn, (asked, answer) in enumerate(zip(told, said, strict=True)):
        before, after = words(asked)["input_ids"], words(answer)["input_ids"]
        ids += [*before, *after]
        labels += [*(before if turn else [-100] * len(before)), *after]
    return ids, labels


def padded(rows: Sequence[tuple[list[int], list[int]]], pad: int, device: str) -> dict[str, Any]:
    """Return a batch of rows as tensors, padded at the right."""
    width = max(len(ids) for ids, _ in rows)
    ids = [row + [pad] * (width - len(row)) for row, _ in rows]
    mask = [[1] * len(row) + [0] * (width - len(row)) for row, _ in rows]
    labels = [row + [-100] * (width - len(row)) for _, row in rows]
    made = {"input_ids": ids, "attention_mask": mask, "labels": labels}
    return {name: torch.tensor(value, device=device) for name, value in made.items()}


def fit(learner: Any, words: Any, rows: list[Any], epochs: int, device: str, seed: int = 0) -> None:
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
    rows = [tokens(words, *conversation(messages)) for messages in read_messages(given.data)]
    print(f"{len(rows)} demonstrations, {weights:,} weights", flush=True)
    fit(learner, words, rows, given.epochs, given.device)
    learner.save_pretrained(given.out)
    words.save_pretrained(given.out)


if __name__ == "__main__":
    main()
