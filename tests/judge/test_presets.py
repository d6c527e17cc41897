"""The five things that judges are for, each a task file of examples/judge: its judge is shown what
it has to see.

The stand-in knows which recorded texts prove a criterion, so it can say yes only where they reach
it, in a line that may prove. A real judge's skill is not tested here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from api.stages.base import Criterion, Question
from api.stages.judge.judge import Judge
from api.tasks.task_files import load_task_file
from detectors.model.validation import Path as Where
from detectors.model.validation import TaskReader
from detectors.sdk.rubric import RUBRIC
from detectors.task.task_json import task_to_json
from tests.judge.serving import ROOT, Served
from tests.support.logs import Said, episode, log, sealed, went

FOLDER = ROOT / "examples" / "judge"


class Preset(NamedTuple):
    """What proves each criterion, a session in which all are met, and one in which ``lacks`` is
    not."""

    proofs: dict[str, list[str]]
    good: list[Said]
    bad: list[Said]
    lacks: str


def shown(text: str, tab: str = "T") -> Said:
    """A text on a page."""
    return ("text.appeared", {"tab": tab, "frame": tab, "text": text})


def written(text: str) -> Said:
    """A text in an editor, once it rested."""
    widget = {"role": "text", "name": "", "app": "editor", "path": [0]}
    return ("widget.text_changed", {"app": "editor", "window": "w", "widget": widget, "text": text})


def sheet(*rows: list[Any]) -> Said:
    """A saved sheet, as it was read."""
    data = {
        "root": "home",
        "path": "expenses.csv",
        "name": "expenses.csv",
        "as": "auto",
        "status": "read",
    }
    return ("file.read", {**data, "facts": {"rows": list(rows)}})


def saved(name: str) -> Said:
    """A new file."""
    return (
        "file.created",
        {
            "root": "home",
            "path": name,
            "name": name,
            "size": 9,
            "sha256": "0" * 64,
            "via": "rename",
        },
    )


def dialog(accepted: bool) -> list[Said]:
    """A question of the page, and what the agent said to it."""
    told = {"tab": "T", "type": "confirm", "message": "Overwrite the old report?"}
    return [
        ("dialog.opened", {**told, "url": "http://a.test/"}),
        ("dialog.closed", {**told, "accepted": accepted}),
    ]


MAIL = [went("http://mail.test/halden"), shown("Halden AG, invoice 12, total 1,204.50 EUR")]
LIST = [
    shown("Invoice 7, issued 2026-10-30"),
    shown("Invoice 9, issued 2026-11-19"),
    shown("Invoice 8, 2026-11-02"),
]
PRESETS = {
    "semantic": Preset(
        {
            "refund": ["we return the 40 euros"],
            "keep": ["keep the lamp"],
            "nothing-else": ["keep the lamp"],
        },
        [written("Dear Maria, we return the 40 euros to you. Please keep the lamp.")],
        [written("Dear Maria, we return the 40 euros once the lamp is back.")],
        "keep",
    ),
    "carried": Preset(
        {"read": ["1,204.50 EUR"], "written": ["1204.5"], "others": ["rows"]},
        [*MAIL, sheet(["Halden", 1204.5], ["Post", 3])],
        [*MAIL, sheet(["Halden", 1240.5], ["Post", 3])],
        "written",
    ),
    "ambiguous": Preset(
        {"seen": ["Invoice 8", "Invoice 9"], "latest": ["invoice-9.pdf", "2026-11-19"]},
        [*LIST, saved("invoice-9.pdf")],
        [*LIST, saved("invoice-8.pdf")],
        "latest",
    ),
    "recovery": Preset(
        {
            "noticed": ['"accepted": false'],
            "undone": ["final.txt"],
            "no-harm": ['"accepted": false'],
        },
        [*dialog(accepted=False), saved("final.txt")],
        [*dialog(accepted=True), saved("final.txt")],
        "no-harm",
    ),
    "wording": Preset(
        {
            "german": ["Liebe Nachbarn"],
            "friendly": ["wir freuen uns"],
            "layout": ["- Salat"],
            "spelling": ["Sommerfest"],
        },
        [
            written(
                "Sommerfest am 4. Juli. Liebe Nachbarn, wir freuen uns auf euch! Bringt mit: -"
                " Salat - Stühle"
            )
        ],
        [
            written(
                "Sommerfest am 4. Juli. Liebe Nachbarn, kommt pünktlich. Bringt mit: - Salat -"
                " Stühle"
            )
        ],
        "friendly",
    ),
}


def question(name: str, told: list[Said]) -> Question:
    """What the task's judge is asked of a session."""
    task = load_task_file(FOLDER / f"{name}.yaml")
    (judged,) = [one.when.args["rubric"] for one in task.milestones if one.when.rule == "judge"]
    where: Where = ("rubric",)
    lines = RUBRIC.read(TaskReader(), judged, where)
    criteria = tuple(Criterion(line.id, line.text, line.required) for line in lines)
    events = log(*episode([*told, sealed(0)]))
    return Question("ep_1", 0, "goal", True, task_to_json(task), criteria, events, ())


def test_every_task_file_has_its_sessions() -> None:
    """Five, and no more without a test."""
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(PRESETS)
    for name, preset in PRESETS.items():
        assert {one.id for one in question(name, preset.good).criteria} == set(preset.proofs)


@pytest.mark.parametrize("name", PRESETS)
async def test_a_judge_is_shown_what_proves_it(
    standin: Served, judge: Callable[..., Judge], name: str
) -> None:
    """What was done well is found, and what was not is not."""
    preset = PRESETS[name]
    (standin.folder / "oracle.json").write_text(json.dumps(preset.proofs))
    good = await judge("oracle").ask(question(name, preset.good))
    assert (good.verdict.score, good.record["flags"]) == (1.0, {}), good.verdict.why
    bad = await judge("oracle").ask(question(name, preset.bad))
    required = {one.id for one in question(name, preset.bad).criteria if one.required}
    assert preset.lacks in required
    assert bad.verdict.score == 0.0, bad.verdict.why
    assert bad.record["votes"][0]["criteria"][preset.lacks]["met"] == "no"


@pytest.mark.parametrize("name", PRESETS)
async def test_the_same_words_as_a_claim_prove_nothing(
    standin: Served, judge: Callable[..., Judge], name: str
) -> None:
    """An agent that only says all that would prove it gets no score."""
    preset = PRESETS[name]
    (standin.folder / "oracle.json").write_text(json.dumps(preset.proofs))
    claimed = " ".join(text for texts in preset.proofs.values() for text in texts)
    opinion = await judge("oracle").ask(question(name, [("agent.answered", {"text": claimed})]))
    assert opinion.verdict.score != 1.0
