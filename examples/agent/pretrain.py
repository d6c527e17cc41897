"""The model before any reward: trained on demonstrations, as `milestoned export --form sft` wrote
them. In `.venv-trl`.

    python -m examples.agent.pretrain DATA OUT --epochs N --clumsy SHARE

A model of this size that has seen few demonstrations either cannot read the page at all or hardly
errs. So it is taught to read first, by the shortest demonstrations alone, since what is to be looked up
stands nearer there, and with other names in each epoch, so that it has to look them up. Then come all,
and then it is taught to be clumsy: in the last epochs, over the longest alone, the element that it is
taught to name is, in a share of the actions, another one of the same role, for which the instruction does not ask.

OUT has the model, and `figures.json`: how it does demonstrations that it was not trained on, before it
was made clumsy and after.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow.dataset
import torch
from transformers import AutoModelForCausalLM

from examples.agent.families import POOLS
from examples.agent.kinds import FIGURES
from examples.agent.turns import Row, Turn, rename
from examples.agent.words import END, begin, model, then, tokenizer

BATCH = 8
RATE = 1.5e-3
CLUMSY_EPOCHS = 3
ABLE = "able"
"""The folder, beside OUT, of the model that reads and is not yet clumsy; it is made once."""
KEPT = 11
"""One of so many demonstrations is kept from training, for the figures."""
SHARE_OF_ALL = 4
"""The epochs over the shortest demonstrations, for one over all."""
WARM_UP = 100
"""Steps over which the rate rises to `RATE`."""


def conversation(messages: Sequence[dict[str, str]]) -> list[Turn]:
    """Return an episode's turns. The instruction is the first line that the user says; page and
    action are what the harness noted of the step."""
    instruction = messages[0]["content"].splitlines()[0]
    acts = [json.loads(one["content"]) for one in messages if one["role"] == "assistant"]
    told = [begin(instruction, acts[0]["saw"]), *(then(act["saw"]) for act in acts[1:])]
    asked = frozenset(instruction.split())
    return [
        Turn(page, f"{act['do']} {END}", act["saw"], asked)
        for page, act in zip(told, acts, strict=True)
    ]


def read_messages(data: Path) -> list[Any]:
    """Return the conversations of an export; what it said of another one in a folder of the same
    name is in no cache."""
    read = pyarrow.dataset.dataset(sorted(data.rglob("*.parquet"))).to_table(columns=["messages"])
    found: list[Any] = read.column("messages").to_pylist()
    return found


def tokens(
    words: Any, turns: Iterable[Turn], clumsy: float = 0.0, chance: random.Random | None = None
) -> Row:
    """Return a conversation's tokens, and the labels: the actions alone, for the names on a page are
    drawn, and nothing about them can be learned. The label of the element's name is in ``clumsy``
    of the actions another one, drawn by ``chance``."""
    ids: list[int] = []
    labels: list[int] = []
    for turn in turns:
        before, after = words(turn.told)["input_ids"], words(turn.said)["input_ids"]
        taught = list(after)
        others = turn.others()
        if chance is not None and others and chance.random() < clumsy:
            taught[1] = words.convert_tokens_to_ids(chance.choice(others))
        ids += [*before, *after]
        labels += [*([-100] * len(before)), *taught]
    return ids, labels


def padded(rows: Sequence[Row], pad: int, device: str) -> dict[str, Any]:
    """Return a batch of rows as tensors, padded at the right."""
    width = max(len(ids) for ids, _ in rows)
    ids = [row + [pad] * (width - len(row)) for row, _ in rows]
    mask = [[1] * len(row) + [0] * (width - len(row)) for row, _ in rows]
    labels = [row + [-100] * (width - len(row)) for _, row in rows]
    made = {"input_ids": ids, "attention_mask": mask, "labels": labels}
    return {name: torch.tensor(value, device=device) for name, value in made.items()}


def fit(
    learner: Any, words: Any, rows: list[Row], epochs: int, device: str, *, seed: int = 0
) -> None:
    """Fit the model to the rows, and print the loss of each fifth epoch. In each epoch they have
    other names."""
    chance = random.Random(seed)
    pools = [words.convert_tokens_to_ids(list(pool)) for pool in POOLS]
    optimizer = torch.optim.AdamW(learner.parameters(), lr=RATE, weight_decay=0.01)
    warming = torch.optim.lr_scheduler.LinearLR(optimizer, 0.01, total_iters=WARM_UP)
    learner.train()
    for epoch in range(1, epochs + 1):
        chance.shuffle(rows)
        losses = []
        for at in range(0, len(rows), BATCH):
            renamed = [rename(row, pools, chance) for row in rows[at : at + BATCH]]
            batch = padded(renamed, words.pad_token_id, device)
            loss = learner(**batch).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(learner.parameters(), 1.0)
            optimizer.step()
            warming.step()
            losses.append(loss.item())
        if epoch % 5 == 0 or epoch == epochs:
            print(f"epoch {epoch}: loss {sum(losses) / len(losses):.3f}", flush=True)


@dataclass(frozen=True)
class Figures:
    """How a model does demonstrations, each action after those that the script did. ``demos``: how
    many; ``right``: the share of the actions of which the right one is the likeliest; ``sampled``:
    the mean probability of the right action; ``whole``: that of a whole demonstration, its right
    actions one after the other, which is the success of a policy that may not err."""

    demos: int
    right: float
    sampled: float
    whole: float


def measure(learner: Any, words: Any, shown: Sequence[Sequence[Turn]], device: str) -> Figures:
    """Return how the model does demonstrations."""
    right, sampled, whole = [], [], []
    learner.eval()
    for turns in shown:
        ids, _ = tokens(words, turns)
        with torch.no_grad():
            found = learner(input_ids=torch.tensor([ids], device=device)).logits[0].float().cpu()
        logprobs, at, surprise = torch.log_softmax(found, dim=-1), 0, 0.0
        for turn in turns:
            at += len(words(turn.told)["input_ids"])
            end = at + len(words(turn.said)["input_ids"])
            said, places = torch.tensor(ids[at:end]), logprobs[at - 1 : end - 1]
            logprob = places.gather(1, said[:, None]).sum().item()
            right.append(bool((places.argmax(dim=-1) == said).all()))
            sampled.append(math.exp(logprob))
            surprise, at = surprise + logprob, end
        whole.append(math.exp(surprise))
    return Figures(
        len(shown),
        *(round(sum(share) / len(share), 4) for share in (right, sampled, whole)),
    )


def read_shown(data: Path) -> tuple[list[list[Turn]], list[list[Turn]]]:
    """Return the demonstrations to train on, and those of the longest that are kept for the
    figures; the same recording gives the same ones in the same order."""
    shown = [conversation(messages) for messages in read_messages(data)]
    shown.sort(key=lambda turns: (len(turns), turns[0].told))
    longest = len(shown[-1])
    kept = [turns for turns in shown if len(turns) == longest][::KEPT]
    return [turns for turns in shown if turns not in kept], kept


def teach_reading(given: argparse.Namespace, shown: list[list[Turn]], words: Any) -> Any:
    """Return a model that can read pages: the one that is saved, or one that is made and saved."""
    able: Path = given.out.with_name(ABLE)
    if able.exists():
        return AutoModelForCausalLM.from_pretrained(able).to(given.device)
    learner = model(words, seed=0).to(given.device)
    weights = sum(one.numel() for one in learner.parameters())
    print(f"{len(shown)} demonstrations, {weights:,} weights", flush=True)
    short = [turns for turns in shown if len(turns) == len(shown[0])]
    fit(learner, words, [tokens(words, turns) for turns in short], given.epochs, given.device)
    if len(short) < len(shown):
        rows = [tokens(words, turns) for turns in shown]
        fit(learner, words, rows, given.epochs // SHARE_OF_ALL, given.device)
    learner.save_pretrained(made := able.with_suffix(".new"))
    made.rename(able)
    return learner


def main() -> None:
    """Read the data, fit the model, save it."""
    parser = argparse.ArgumentParser(prog="python -m examples.agent.pretrain", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--clumsy", type=float, required=True)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    torch.set_num_threads(1)
    words = tokenizer()
    shown, kept = read_shown(given.data)
    learner = teach_reading(given, shown, words)
    figures = {"able": asdict(measure(learner, words, kept, given.device))}
    chance = random.Random(0)
    long = [turns for turns in shown if len(turns) == len(kept[0])] * CLUMSY_EPOCHS
    rows = [tokens(words, turns, given.clumsy, chance) for turns in long]
    fit(learner, words, rows, 1, given.device)
    figures["clumsy"] = asdict(measure(learner, words, kept, given.device))
    print(json.dumps(figures), flush=True)
    learner.save_pretrained(given.out)
    words.save_pretrained(given.out)
    (given.out / FIGURES).write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
