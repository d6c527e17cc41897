"""`milestoned export --form`: chat data in the columns of TRL, labelled by known rewards alone."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from api.cli.main import main
from api.exporting.chats import FORMS
from api.exporting.staging import content_version
from tests.api.service import TASK, events, frames
from tests.rescoring.corpus import GAP, written
from tests.support.logs import Said, clicked, went

ROOT = Path(__file__).parents[2]

PENALTY = {"id": "help", "when": {"url_reached": {"url": "/help"}}, "penalty": 0.3}
SHOP = {**TASK, "milestones": [*TASK["milestones"], PENALTY]}
BUY, IDLE, HELP = [clicked("Buy")], [went("/nothing")], [went("/help")]
CART: list[Said] = [went("/cart")]
SEEN: Said = ("gap.ended", {"source": "cdp"})
Step = tuple[Any, Sequence[Said]]
EPISODES: dict[str, list[Step]] = {
    "bought": [("go to cart", CART), ({"click": "Buy"}, BUY)],
    "wandered": [("go to cart", CART), ("look around", IDLE)],
    "asked": [("open help", HELP), ("go to cart", CART)],
    "blind": [("go to cart", [GAP, *CART, SEEN]), ({"click": "Buy"}, BUY)],
    "silent": [(None, CART), (None, BUY)],
}
OPEN: list[Step] = [("go to cart", CART)]


def recorded(path: Path, steps: Sequence[Step], *, close: bool = True) -> None:
    """A recording whose steps have these actions."""
    log: list[Said] = [("episode.opened", {"task": "t", "digest": "d"})]
    for number, (action, happened) in enumerate(steps):
        log += [("step.began", {"step": number, "action": action}), *happened]
    log += [("episode.closed", {"reason": "done"})] if close else []
    path.write_bytes(b"".join(frames(events(f"ep_{path.stem}", *log))))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """The five closed episodes, one that is open, and the task."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name, steps in EPISODES.items():
        recorded(folder / f"{name}.mrec", steps)
    recorded(folder / "open.mrec", OPEN, close=False)
    written(tmp_path / "task.yaml", SHOP)
    return folder


def export(corpus: Path, form: str, *more: object) -> list[dict[str, Any]]:
    """The rows of one form."""
    out, task = corpus.parent / form, corpus.parent / "task.yaml"
    arguments = ["export", corpus, "--task", task, "--out", out, "--form", form, *more]
    assert main([str(one) for one in arguments]) == 0
    assert {path.name for path in out.iterdir()} == {f"{form}.parquet", "README.md"}
    return list(pq.read_table(out / f"{form}.parquet").to_pylist())


def content_version_without_card(folder: Path) -> str:
    """The version that the export's data gives."""
    (folder / "README.md").rename(folder.parent / "README.md")
    return content_version(folder)


@pytest.mark.parametrize(("rows", "is_same"), [(b"a", True), (b"b", False)], ids=["same", "other"])
def test_other_rows_are_another_version(tmp_path: Path, rows: bytes, is_same: bool) -> None:
    """So that a second export in a folder of the same name is not read out of a cache."""
    versions = []
    for name, content in (("one", b"a"), ("two", rows)):
        (tmp_path / name / "sft").mkdir(parents=True)
        (tmp_path / name / "sft" / "sft.parquet").write_bytes(content)
        versions.append(content_version(tmp_path / name / "sft"))
    assert (versions[0] == versions[1]) is is_same
    assert all(re.fullmatch(r"0\.0\.[0-9]+", version) for version in versions)


def said(messages: Sequence[dict[str, str]]) -> list[tuple[str, str]]:
    """Role and last line of every message."""
    return [(one["role"], one["content"].splitlines()[-1]) for one in messages]


def test_sft_has_the_conversations_of_successes(corpus: Path) -> None:
    rows = {row["episode"]: row for row in export(corpus, "sft")}
    assert set(rows) == {"ep_bought", "ep_blind"}, "a success is known though a reward is not"
    row = rows["ep_bought"]
    assert (row["success"], row["task"]) == (True, SHOP["id"])
    roles = [role for role, _ in said(row["messages"])]
    assert roles == ["user", "assistant", "user", "assistant"]
    first, go, second, click = (one["content"] for one in row["messages"])
    assert first.startswith(f"{TASK['instruction']}\n\n{{")
    assert (go, click) == ("go to cart", '{"click":"Buy"}')
    assert "http://shop.test/cart" in second
    assert TASK["instruction"] not in second


def test_sft_by_total_takes_no_episode_with_an_unknown_reward(corpus: Path) -> None:
    rows = export(corpus, "sft", "--min-total", -1)
    assert {row["episode"] for row in rows} == {"ep_bought", "ep_wandered", "ep_asked"}
    assert all(row["total"] is not None for row in rows)


def test_kto_labels_what_was_paid_and_penalised(corpus: Path) -> None:
    rows = export(corpus, "kto")
    labels = {(row["episode"], row["step"]): row["label"] for row in rows}
    assert labels == {
        ("ep_bought", 0): True,
        ("ep_bought", 1): True,
        ("ep_wandered", 0): True,
        ("ep_asked", 0): False,
        ("ep_asked", 1): True,
        ("ep_blind", 1): True,
    }
    assert all(row["label"] == (row["reward"] > 0) for row in rows)
    blind = next(row for row in rows if row["episode"] == "ep_blind")
    assert [role for role, _ in said(blind["prompt"])] == ["user", "assistant", "user"]
    assert said(blind["completion"]) == [("assistant", '{"click":"Buy"}')]


def test_prm_labels_steps_from_which_something_was_earned(corpus: Path) -> None:
    rows = {row["episode"]: row for row in export(corpus, "prm")}
    labels = {episode: row["labels"] for episode, row in rows.items()}
    assert labels == {
        "ep_bought": [True, True],
        "ep_wandered": [True, False],
        "ep_asked": [False, True],
    }
    assert all(len(row["completions"]) == len(row["labels"]) for row in rows.values())


def test_dpo_pairs_actions_after_the_same_messages(corpus: Path) -> None:
    rows = export(corpus, "dpo", "--gamma", 1)
    pairs = {(row["chosen_episode"], row["rejected_episode"], row["step"]): row for row in rows}
    assert set(pairs) == {("ep_bought", "ep_asked", 0), ("ep_blind", "ep_wandered", 1)}
    second = pairs["ep_blind", "ep_wandered", 1]
    assert said(second["chosen"]) == [("assistant", '{"click":"Buy"}')]
    assert said(second["rejected"]) == [("assistant", "look around")]
    assert all(row["margin"] > 0 for row in rows)


def test_the_card_says_what_is_missing(corpus: Path) -> None:
    export(corpus, "prm")
    _, header, body = (corpus.parent / "prm" / "README.md").read_text().split("---\n", 2)
    assert yaml.safe_load(header)["configs"] == [
        {
            "config_name": "default",
            "data_files": "prm.parquet",
            "version": content_version_without_card(corpus.parent / "prm"),
        }
    ]
    assert "# 3 rows of prm data" in body
    for reason in ("not closed", "without an action in every step", "a reward that is not known"):
        assert f"1 episodes: {reason}" in body or f"1 episodes: with {reason}" in body, reason


@pytest.mark.parametrize("form", FORMS)
def test_nothing_to_export_is_an_empty_file(tmp_path: Path, form: str) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    recorded(folder / "open.mrec", OPEN, close=False)
    written(tmp_path / "task.yaml", SHOP)
    assert export(folder, form) == []


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--form", "rlhf"), "--form"),
        (("--form", "kto", "--min-total", "1"), "--min-total: got 1 with --form kto"),
        (("--form", "sft", "--min-total", "much"), "expected a number"),
        (("--form", "dpo", "--gamma", "1", "--gamma", "0.5"), "--gamma: got 2 values"),
        (("--form", "sft", "--credit-to", "cause"), "--credit-to: got cause with --form sft"),
        (("--form", "sft", "--credit-to", "both"), "--credit-to: expected"),
        (("--form", "dpo", "--purified"), "--purified: got it with --form dpo; expected --form"),
        (("--purified",), "--purified: got it with --form tables; expected --form"),
    ],
)
def test_wrong_options_are_named(
    corpus: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], why: str
) -> None:
    out, task = corpus.parent / "out", corpus.parent / "task.yaml"
    assert main(["export", str(corpus), "--task", str(task), "--out", str(out), *options]) == 2
    assert why in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.slow
def test_trl_trains_on_the_files_as_they_are(corpus: Path) -> None:
    """Its own trainers, a step each on the CPU; TRL 1.16 has none for `prm`."""
    python = ROOT / ".venv-trl" / "bin" / "python"
    if not python.exists():
        pytest.skip(".venv-trl is missing: `make test-all` makes it")
    for form in ("sft", "dpo", "kto"):
        export(corpus, form)
    command = [python, "-m", "tests.trainers.harness.trl_files", corpus.parent]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2_000:]
    found = json.loads(ran.stdout.splitlines()[-1])
    for form, rows in (("sft", 2), ("dpo", 2), ("kto", 6)):
        assert (found[form]["rows"], found[form]["finite"]) == (rows, True), found[form]
        assert found[form]["moved"], "a step of the trainer changes the weights"
