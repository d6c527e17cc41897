"""Immunity 14 for `milestoned task import`: data of an application broken anywhere give a task or a
name."""

from __future__ import annotations

import gzip
import random
import time
from pathlib import Path

import pytest

from api.cli.main import main
from tests.fuzz.hostile_captures import mutants_of_bytes, mutants_of_json, text_of
from tests.importing.test_state_facts import DONE, SEED, new, ticket
from tests.support.bounded import in_bounds

PATCH = [
    new("/tickets/2", ticket(due="2026-05-01")),
    new("/notes/1", {"text": "x", "at": DONE}),
    new("/tickets/0/labels/1", "k3"),
    new("/tokens/2", {"id": "k3", "label": "CI", "prefix": "ab12"}),
    {"op": "replace", "path": "/_nextId", "value": 4},
]
TASK = {
    "id": "t",
    "instruction": "Create by May 1, 2026.",
    "expect_seed": False,
    "expect_solved": True,
    "patch": PATCH,
}
MAX_SECONDS = 2.0


def test_an_application_that_is_broken_anywhere_gives_a_task_or_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Imported, refused with the file's place, or skipped by its name; no mutant takes longer than
    a bound."""
    rng, file = random.Random(3), tmp_path / "app.json"
    tree = {"app": "a", "seed": SEED, "tasks": [TASK]}
    told = [(name, text_of(value)) for name, value in mutants_of_json(tree, rng)]
    told += mutants_of_bytes(text_of(tree), rng)
    assert len(told) > 200
    for name, content in told:
        file.write_bytes(content)
        began = time.process_time()
        status = main(
            ["task", "import", "webarena-infinity", str(file), "--out", str(tmp_path / "out")]
        )
        assert time.process_time() - began < MAX_SECONDS, name
        said = capsys.readouterr()
        assert status == 0 or (status == 1 and f"{file}: " in said.err), (name, said.err)


def test_a_packed_application_that_is_a_bomb_is_refused(tmp_path: Path) -> None:
    """Half a megabyte of gzip that holds 400 MB of blanks."""
    bomb = tmp_path / "app.json.gz"
    with gzip.open(bomb, "wb", compresslevel=6) as file:
        for _ in range(400):
            file.write(b" " * (1 << 20))
    code, said, peak = in_bounds(
        "task",
        "import",
        "webarena-infinity",
        bomb,
        "--out",
        tmp_path / "out",
        module="api.cli.main",
    )
    assert (code, "Traceback" in said) == (1, False), said
    assert "wanted a smaller one" in said
    assert peak < 100 << 20


def test_a_fact_that_no_rule_can_look_for_is_skipped_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A title longer than a path may be; one of a thousand characters is asked."""
    for length, made in ((1000, True), (100_000, False)):
        patch = [new("/tickets/2", ticket(title="a" * length))]
        tree = {"app": "a", "seed": SEED, "tasks": [{**TASK, "patch": patch}]}
        (tmp_path / "app.json").write_bytes(text_of(tree))
        out = tmp_path / str(length)
        assert (
            main(
                [
                    "task",
                    "import",
                    "webarena-infinity",
                    str(tmp_path / "app.json"),
                    "--out",
                    str(out),
                ]
            )
            == 0
        )
        assert (out / "a" / "t.json").exists() is made
        assert (
            "a/t: skipped: no rule says what is different" in capsys.readouterr().err
        ) is not made
