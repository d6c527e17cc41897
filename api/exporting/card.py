"""The dataset card that stands beside an export: README.md with the header that Hugging Face's
`datasets` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import yaml

from api.exporting.chats import ChatExport, Form
from detectors.engine.attribution import Credit

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


REWARDS_TWIN = "rewards_json.parquet"
"""The rewards with their components as JSON text: `datasets` has no type for a map."""
TABLES: Mapping[str, str] = {
    "episodes": "an episode: its task, labels, total and success",
    "steps": "a step: its action, and what was observed before and after it",
    "rewards": "a step: its reward, status, mask and components",
    "milestones": "a milestone that was reached: what it is worth, and the numbers of the events"
    " that are its evidence",
    "returns": "a step and a discount γ: its return-to-go",
}
RECORDED = (
    "Observations and actions are recorded data: they can contain text of web pages. Secrets were"
    " masked when they were recorded."
)


def tables_card(
    counts: Mapping[str, int], gammas: Sequence[float], credit_to: Credit, version: str
) -> str:
    """Return the card's text for the tables, each a configuration; ``counts``: their rows,
    ``version``: of the content."""
    configs: list[dict[str, object]] = [
        {"config_name": name, "data_files": f"{name}.parquet", "version": version}
        for name in counts
    ]
    configs[list(counts).index("rewards")] |= {"data_files": REWARDS_TWIN, "default": True}
    header = {"configs": configs, "tags": ["milestoned", "computer-use", "reinforcement-learning"]}
    lines = [
        *_header(header),
        f"# {counts['episodes']} episodes with step rewards",
        "",
        "| configuration | rows | one row is |",
        "| --- | --- | --- |",
        *(f"| `{name}` | {count} | {TABLES[name]} |" for name, count in counts.items()),
        "",
        "Rewards are those of milestoned, from observed events, under the `ruleset` of each row. A"
        " reward that is not known is null, with `mask` true and a `reason`; it is not 0.",
        f"Returns-to-go are discounted by γ = {', '.join(f'{gamma:g}' for gamma in gammas)};"
        f" `credit` and they are credited {credit_to}.",
        "",
        RECORDED,
    ]
    return "\n".join(lines) + "\n"


def _header(header: Mapping[str, object]) -> list[str]:
    return ["---", yaml.safe_dump(dict(header), sort_keys=False).rstrip(), "---", ""]


def dataset_card(export: ChatExport, rows: int, version: str) -> str:
    """Return the card's text: what the rows are, how their labels came about, what is missing;
    ``version``: of the content."""
    file = f"{export.form}.parquet"
    header: dict[str, object] = {
        "configs": [{"config_name": "default", "data_files": file, "version": version}],
        "tags": ["milestoned", "computer-use", export.form],
    }
    lines = [
        *_header(header),
        f"# {rows} rows of {export.form} data",
        "",
        ABOUT[export.form],
        "",
        "The user's messages are the task's instruction and the observation before each step; the"
        " assistant's are the actions as the harness gave them. Rewards are those of milestoned,"
        " from observed events. A reward that is not known is never read as 0.",
        f"Returns-to-go are discounted by γ = {export.gamma:g}.",
        "",
        RECORDED,
    ]
    if export.purified:
        counts = ", ".join(f"{count} {kind}" for kind, count in export.detours.items())
        lines += [
            "",
            "Purified: steps that led nowhere are left out of the conversations and named in"
            f" `left_out`, each with why ({counts or 'there were none'}). A step whose reward is"
            " not known is never left out.",
        ]
    if export.left_out:
        lines += ["", "Left out:", ""]
        lines += [f"- {count} episodes: {reason}" for reason, count in export.left_out.items()]
    return "\n".join(lines) + "\n"
