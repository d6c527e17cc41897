"""One run: TRL's GRPO with an advantage for each turn, on pages in Chromium, paid over HTTP by the
service. In `.venv-trl`.

    python -m examples.agent.train KIND SEED FOLDER --start MODEL --python PYTHON …

MILESTONED_URL and MILESTONED_TOKEN say where the service is. FOLDER holds TRL's checkpoints and
`log.jsonl`: a line an update, and one for each evaluation. A run that was cut off goes on from its
last checkpoint; the lines of later updates are removed then.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import torch
from datasets import Dataset
from milestoned_client.adapters.trl_trainer import TurnRewards
from milestoned_client.adapters.turn_rewards import advantages_of_returns
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from examples.agent.browser import Browser
from examples.agent.families import SPARE, UNSEEN, families
from examples.agent.kinds import KINDS
from examples.agent.rollouts import Rollout, play

GROUP, GROUPS = 8, 3
"""Rollouts of one instance, and instances in one update."""
INSTANCES = 200
"""Of each family, to train on."""
STAGE = 10
"""Updates of which the episodes have the same label `policy`, for the alarms of docs/health.md."""


class Log:
    """The lines of a run, in a file that only grows, but for a run that goes on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.lines: list[dict[str, Any]] = []
        if path.exists():
            whole = [line for line in path.read_text().splitlines(True) if line.endswith("\n")]
            self.lines = [json.loads(line) for line in whole]

    def keep_until(self, update: int) -> None:
        """Forget what came after an update."""
        self.lines = [line for line in self.lines if line["update"] <= update]
        whole = self._path.with_suffix(".new")
        whole.write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        whole.replace(self._path)

    def add(self, **line: Any) -> None:
        """Append a line."""
        self.lines.append(line)
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    @property
    def steps(self) -> int:
        """Return the environment steps of all updates so far."""
        return sum(line["steps"] for line in self.lines if "steps" in line)


class Trainer(TurnRewards, GRPOTrainer):  # type: ignore[misc]  # TRL's has no types
    """TRL's trainer, with the rollouts of this example as the environments of `TurnRewards`."""

    advantages = staticmethod(advantages_of_returns)
    rollouts: Sequence[Rollout] = ()

    def _environments(self) -> list[Any]:
        return list(self.rollouts)


class Run:
    """What a run has besides its trainer: the browser, the log and the names of its episodes."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.folder: Path = given.folder
        self.families = families(given.parts)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = Log(self.folder / "log.jsonl")
        state = self.folder / "state"
        shutil.rmtree(state, ignore_errors=True)  # journals of a run that was cut off
        told = os.environ["MILESTONED_URL"], os.environ["MILESTONED_TOKEN"]
        self.browser = Browser(given.python, *told, state)
        self.began = time.monotonic()

    def roll_out(self, prompts: list[str], trainer: Any) -> dict[str, Any]:
        """TRL's `rollout_func`: play an episode for each prompt."""
        update = trainer.state.global_step
        began = time.monotonic()
        trainer.model.eval()
        found = self._play(trainer.model, trainer.processing_class, prompts, update)
        trainer.model.train()
        trainer.rollouts = found
        self._note(update + 1, found, time.monotonic() - began)
        return {
            "prompt_ids": [one.prompt_ids for one in found],
            "completion_ids": [one.ids for one in found],
            "logprobs": [one.logprobs for one in found],
            "env_mask": [one.written for one in found],
        }

    def _play(self, model: Any, words: Any, prompts: list[str], update: int) -> list[Rollout]:
        labels = {"policy": f"update-{update // STAGE * STAGE:04d}", "seed": self.given.seed}
        given = self.given
        return play(self.browser, model, words, prompts, given.kind, labels, given.spare)

    def _note(self, update: int, found: Sequence[Rollout], seconds: float) -> None:
        steps = sum(len(one.rewards) for one in found)
        known = [one for one in found if one.success is not None]
        won = sum(bool(one.success) for one in known)
        self.log.add(
            update=update,
            steps=steps,
            episodes=len(found),
            known=len(known),
            won=won,
            steps_of_won=sum(len(one.rewards) for one in known if one.success),
            total=round(sum(r for one in found for r in one.rewards if r is not None), 6),
            unknown=sum(r is None for one in found for r in one.rewards),
            seconds=round(seconds, 2),
        )
        print(
            f"{self.given.kind}, seed {self.given.seed}: update {update} of {self.given.updates},"
            f" {self.log.steps:,} steps, {won} of {len(known)} episodes won,"
            f" {1000 * seconds / steps:.0f} ms a step",
            flush=True,
        )

    def evaluate(self, model: Any, words: Any, update: int, each: int, name: str) -> None:
        """Play unseen instances, ``each`` of every family, as often as the policy would choose."""
        model.eval()
        prompts = [f"{family} {UNSEEN + at}" for at in range(each) for family in self.families]
        labels = {"policy": name, "seed": self.given.seed}
        given = self.given
        found = play(self.browser, model, words, prompts, given.kind, labels, given.spare)
        model.train()
        by_family = {
            family: sum(bool(one.success) for one in found if one.prompt.startswith(family))
            for family in self.families
        }
        won = sum(by_family.values())
        self.log.add(
            update=update,
            evaluation=name,
            unseen=len(found),
            unseen_won=won,
            families=by_family,
            after=self.log.steps,
            unseen_turns=sum(len(one.rewards) for one in found),
        )
        print(
            f"{self.given.kind}, seed {self.given.seed}: {name}: {won} of {len(found)} unseen won"
        )


class Bounds(TrainerCallback):  # type: ignore[misc]  # transformers' has no types
    """Ends a run after so many environment steps."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Stop where the log has the steps that were asked for."""
        if self._run.log.steps >= self._run.given.most:
            control.should_save = control.should_training_stop = True


def last_checkpoint(folder: Path) -> Path | None:
    """Return the newest checkpoint that is whole: what TRL writes last is in it."""
    whole = [one.parent for one in folder.glob("checkpoint-*/trainer_state.json")]
    return max(whole, key=lambda one: int(one.name.split("-")[1]), default=None)


def settings(given: argparse.Namespace) -> Any:
    """Return TRL's settings: the same for every kind of reward."""
    return GRPOConfig(
        output_dir=str(given.folder / "trl"),
        per_device_train_batch_size=GROUP * GROUPS,
        num_generations=GROUP,
        max_completion_length=768,
        max_steps=given.updates,
        learning_rate=given.rate,
        lr_scheduler_type="constant",
        max_grad_norm=1.0,
        beta=0.0,
        seed=given.seed,
        use_cpu=given.device == "cpu",
        bf16=False,
        scale_rewards="none",
        logging_steps=1000,
        save_strategy="steps",
        save_steps=1,
        save_total_limit=2,
        dataloader_pin_memory=False,
        disable_tqdm=True,
        report_to=[],
    )


def train(given: argparse.Namespace) -> None:
    """Train, or go on with it, and evaluate before and after."""
    torch.set_num_threads(1)
    run = Run(given)
    chance = random.Random(given.seed)
    rows = [f"{family} {at}" for family in run.families for at in range(INSTANCES)]
    chance.shuffle(rows)
    words = AutoTokenizer.from_pretrained(given.start)
    policy = AutoModelForCausalLM.from_pretrained(given.start)
    checkpoint = last_checkpoint(given.folder / "trl")
    done = int(checkpoint.name.split("-")[1]) if checkpoint else 0
    run.log.keep_until(done)
    try:
        if not any("evaluation" in line for line in run.log.lines):
            policy.to(given.device)
            run.evaluate(policy, words, 0, given.unseen_before, "start")
        trainer = Trainer(
            model=policy,
            args=settings(given),
            train_dataset=Dataset.from_list([{"prompt": row} for row in rows]),
            processing_class=words,
            reward_funcs=[paid],
            rollout_func=run.roll_out,
            callbacks=[Bounds(run)],
        )
        if run.log.steps < given.most and done < given.updates:
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        elif checkpoint:
            trainer.model = AutoModelForCausalLM.from_pretrained(checkpoint).to(given.device)
        ended = trainer.state.global_step or done
        run.evaluate(trainer.model, words, ended, given.unseen, "end")
    finally:
        run.browser.close()
    (given.folder / "done").touch()


def paid(prompts: list[str], **columns: Any) -> list[float]:
    """What TRL logs of a rollout, which trains nothing: `TurnRewards` has the advantages."""
    return [0.0] * len(prompts)


def main() -> None:
    """Train one run as the arguments say."""
    parser = argparse.ArgumentParser(prog="python -m examples.agent.train", description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("seed", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--start", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--parts", type=int, required=True)
    parser.add_argument("--updates", type=int, required=True)
    parser.add_argument("--most", type=int, required=True)
    parser.add_argument("--unseen", type=int, required=True)
    parser.add_argument("--unseen-before", type=int, required=True)
    parser.add_argument("--spare", type=int, default=SPARE)
    parser.add_argument("--rate", type=float, default=6e-4)
    parser.add_argument("--device", default="cpu")
    train(parser.parse_args())


if __name__ == "__main__":
    main()
