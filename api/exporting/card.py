"""The dataset card that stands beside exported chat data: README.md with the header that Hugging
Face's `datasets` reads."""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from api.exporting.chats import ChatExport, Form

ABOUT: Mapping[Form, str] = {
    "sft": "Conversations of episodes that succeeded (or earned at least --min-total), for"
    " supervised fine-tuning: column `messages`.",
    "dpo": "Pairs of actions after the same messages, for DPO: columns `prompt`, `chosen`,"
    " `rejected`. `margin` is the difference of their returns-to-go.",
    "kto": "Single actions, desirable (their step was paid) or not (it was penalised), for KTO:"
    " columns `prompt`, `completion`, `label`. Steps with a reward of 0 are left out.",
    "prm": "Episodes with a label a step, for process reward models: columns `prompt`,"
    " `completions`, `labels`. A step's label is true if it was not penalised and something was"
    " earned from it on.",
}


def dataset_card(export: ChatExport, rows: int) -> str:
    """Return the card's text: what the rows are, how their labels came about, what is missing."""
    header: dict[str, object] = {
        "configs": [{"config_name": "default", "data_files": f"{export.form}.parquet"}],
        "tags": ["milestoned", "computer-use", export.form],
    }
    lines = [
        "---",
        yaml.safe_dump(header, sort_keys=False).rstrip(),
        "---",
        "",
        f"# {rows} rows of {export.form} data",
        "",
        ABOUT[export.form],
        "",
        "The user's messages are the task's instruction and, as JSON, the observation before each"
        " step; the assistant's are the actions as the harness gave them. Rewards are those of"
        " milestoned, from observed events. A reward that is not known is never read as 0.",
        f"Returns-to-go are discounted by γ = {export.gamma:g}.",
        "",
        "Observations and actions are recorded data: they can contain text of web pages. Secrets"
        " were masked when they were recorded.",
    ]
    if export.left_out:
        lines += ["", "Left out:", ""]
        lines += [f"- {count} episodes: {reason}" for reason, count in export.left_out.items()]
    return "\n".join(lines) + "\n"
