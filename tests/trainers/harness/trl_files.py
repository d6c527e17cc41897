"""TRL's SFTTrainer, DPOTrainer and KTOTrainer on the CPU, each a step over an exported file."""

from __future__ import annotations

import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from datasets import load_dataset
from trl import DPOConfig, DPOTrainer, KTOConfig, KTOTrainer, SFTConfig, SFTTrainer

from tests.trainers.harness.words import model, tokenizer

TRAINERS: dict[str, tuple[Any, Any]] = {
    "sft": (SFTTrainer, SFTConfig),
    "dpo": (DPOTrainer, DPOConfig),
    "kto": (KTOTrainer, KTOConfig),
}


def trained(folder: Path, form: str) -> dict[str, Any]:
    """The loss of one step, whether the weights moved, and the columns as `datasets` has them."""
    trainer_class, config_class = TRAINERS[form]
    rows = load_dataset(str(folder / form))["train"]
    words = tokenizer()
    with tempfile.TemporaryDirectory() as output:
        model(len(words)).save_pretrained(f"{output}/model")  # DPO and KTO load a reference from it
        settings = config_class(
            output_dir=output,
            per_device_train_batch_size=2,
            max_steps=1,
            learning_rate=1e-2,
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            seed=1,
        )
        trainer = trainer_class(
            model=f"{output}/model", args=settings, train_dataset=rows, processing_class=words
        )
        policy = trainer.model
        before = [parameter.detach().clone() for parameter in policy.parameters()]
        trainer.train()
    moved = any(not torch.equal(a, b) for a, b in zip(before, policy.parameters(), strict=True))
    losses = [line["loss"] for line in trainer.state.log_history if "loss" in line]
    finite = bool(losses) and all(math.isfinite(loss) for loss in losses)
    return {"columns": rows.column_names, "rows": len(rows), "finite": finite, "moved": moved}


if __name__ == "__main__":
    print(json.dumps({form: trained(Path(sys.argv[1]), form) for form in TRAINERS}))
