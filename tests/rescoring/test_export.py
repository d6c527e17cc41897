"""`milestoned export`: what DuckDB and pandas read back is what was paid, and null stays null."""

from __future__ import annotations

import json
import math
import os
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import orjson
import pandas
import pyarrow.parquet as pq
import pytest
import yaml

from api.cli.main import main
from api.exporting.card import REWARDS_TWIN
from api.exporting.parquet import SCHEMAS
from api.exporting.returns import returns_to_go
from tests.api.processes import ROOT
from tests.api.service import TASK
from tests.rescoring.corpus import record, rescore, written

COUNT = 14  # of them every seventh is blind from its second step of three on: 6 and 13


def export(*arguments: object) -> int:
    return main(["export", *map(str, arguments)])


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    corpus, task = record(tmp_path / "corpus", COUNT), written(tmp_path / "task.yaml", TASK)
    assert (
        export(corpus, "--task", task, "--out", tmp_path / "out", "--gamma", 0.5, "--gamma", 1) == 0
    )
    return tmp_path / "out"


@pytest.mark.parametrize(
    ("rewards", "closed", "wanted"),
    [
        ([], True, []),
        ([1.0], True, [1.0]),
        ([0.0, 0.0, 1.0], True, [0.25, 0.5, 1.0]),
        ([1.0, 2.0, 4.0], True, [3.0, 4.0, 4.0]),
        ([1.0, None, 4.0], True, [None, None, 4.0]),
        ([1.0, 2.0, None], True, [None, None, None]),
        ([None, 2.0, 4.0], True, [None, 4.0, 4.0]),
        ([0.0, 1.0], False, [None, None]),
    ],
    ids=str,
)
def test_a_return_that_leans_on_what_nobody_knows_is_null(
    rewards: list[float | None], closed: bool, wanted: list[float | None]
) -> None:
    assert [one.value for one in returns_to_go(rewards, 0.5, closed)] == wanted


def test_what_was_seen_stands_beside_with_the_count_of_what_was_not() -> None:
    found = returns_to_go([1.0, None, 4.0], 0.5, True)
    assert [(one.seen, one.unknown) for one in found] == [(2.0, 1), (2.0, 1), (4.0, 0)]
    assert [(one.seen, one.unknown) for one in returns_to_go([1.0, 2.0], 0.5, False)] == [
        (2.0, 0),
        (2.0, 0),
    ]


def test_duckdb_reads_back_what_a_rescore_says(exported: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert (
        rescore(tmp_path / "corpus", "--task", tmp_path / "task.yaml", "--out", out, "--workers", 1)
        == 0
    )
    results = [orjson.loads(line)["result"] for line in out.read_bytes().splitlines()[1:]]
    asked = (
        "SELECT episode, step, status, reward, mask, reason, ruleset FROM"
        f" '{exported}/rewards.parquet'"
    )
    names = ("step", "status", "reward", "mask", "reason")
    wanted = [
        (one["episode"], *(r[name] for name in names), one["ruleset"])
        for one in results
        for r in one["rewards"]
    ]
    assert duckdb.sql(asked).fetchall() == wanted
    totals = duckdb.sql(
        f"SELECT episode, success, total, masked FROM '{exported}/episodes.parquet'"
    ).fetchall()
    masked = [sum(r["mask"] for r in one["rewards"]) for one in results]
    assert totals == [
        (o["episode"], o["success"], o["total"], m) for o, m in zip(results, masked, strict=True)
    ]
    milestones = duckdb.sql(
        f"SELECT count(*), sum(worth) FROM '{exported}/milestones.parquet' WHERE paid"
    ).fetchall()
    paid = [
        m["worth"]
        for one in results
        for r in one["rewards"]
        if not r["mask"]
        for m in r["milestones"]
    ]
    assert milestones == [(len(paid), pytest.approx(sum(paid)))]


def test_a_masked_step_is_null_for_duckdb_and_pandas_and_no_zero(exported: Path) -> None:
    count = f"SELECT count(*), count(reward) FROM '{exported}/rewards.parquet' WHERE mask"
    assert duckdb.sql(count).fetchall() == [(4, 0)]
    frame = pandas.read_parquet(exported / "rewards.parquet")
    blind = frame[frame["mask"]]
    assert len(blind) == 4
    assert blind["reward"].isna().all()
    assert not frame[~frame["mask"]]["reward"].isna().any()
    components = dict(
        duckdb.sql(f"SELECT components FROM '{exported}/rewards.parquet' WHERE mask").fetchall()[0][
            0
        ]
    )
    assert components == {"goal": None, "nav": None, "ui": None}


def test_returns_are_those_of_the_rewards_for_each_gamma(exported: Path) -> None:
    frame = pandas.read_parquet(exported / "rewards.parquet").merge(
        pandas.read_parquet(exported / "returns.parquet"), on=["episode", "step"]
    )
    assert sorted(frame["gamma"].unique()) == [0.5, 1.0]
    for (_, gamma), group in frame.sort_values("step").groupby(["episode", "gamma"]):
        rewards = [None if math.isnan(r) else r for r in group["reward"]]
        for n, told in enumerate(group.itertuples()):
            rest = rewards[n:]
            if None in rest:
                assert math.isnan(told.return_to_go)
            else:
                assert told.return_to_go == pytest.approx(
                    sum(gamma**k * r for k, r in enumerate(rest) if r)
                )
            assert told.unknown == rest.count(None)


def test_steps_have_what_the_agent_saw_and_did(exported: Path) -> None:
    asked = (
        f"SELECT step, observation, next_observation, first, last FROM '{exported}/steps.parquet'"
        " LIMIT 2"
    )
    first, second = duckdb.sql(asked).fetchall()
    assert first[2] == second[1]
    assert orjson.loads(second[1])["tabs"]["T"]["title"] == "Shop"
    assert first[4] == second[3]


def test_the_schema_is_the_documented_one(exported: Path) -> None:
    """docs/export.md has a row for each column of each table, with its type."""
    page = (Path(__file__).parents[2] / "docs" / "export.md").read_text()
    for name, schema in SCHEMAS.items():
        assert pq.read_schema(exported / f"{name}.parquet").equals(schema)
        rows = page.split(f"## {name}\n")[1].split("\n## ")[0]
        told = [line.split("|")[1:3] for line in rows.splitlines() if line.startswith("| `")]
        assert [(column.strip(" `"), kind.strip()) for column, kind in told] == [
            (field.name, f"{field.type}{', or null' if field.nullable else ''}") for field in schema
        ]


def test_an_export_appears_whole_or_not_at_all(exported: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in exported.iterdir()}
    tables = {f"{name}.parquet" for name in SCHEMAS}
    assert {path.name for path in before} == tables | {REWARDS_TWIN, "README.md"}
    broken = tmp_path / "corpus" / "4" / "00004.mrec"
    broken.write_bytes(broken.read_bytes()[:-9])
    assert export(tmp_path / "corpus", "--task", tmp_path / "task.yaml", "--out", exported) == 2
    assert {path: path.read_bytes() for path in exported.iterdir()} == before


REFUSED: dict[str, tuple[list[Any], str]] = {
    "no task": (["CORPUS"], "--task: recordings do not hold"),
    "gamma": (
        ["CORPUS", "--task", "TASK", "--gamma", "1.1"],
        '--gamma: expected a number from 0 to 1, got "1.1"',
    ),
    "no number": (
        ["CORPUS", "--task", "TASK", "--gamma", "nan"],
        '--gamma: expected a number from 0 to 1, got "nan"',
    ),
    "stored by another task": (
        ["--stored", "--task", "TASK"],
        "--task: stored episodes are exported as they were",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_asked_wrong_is_refused_with_2(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {
        "CORPUS": record(tmp_path / "corpus", 1),
        "TASK": written(tmp_path / "task.yaml", TASK),
    }
    arguments, says = REFUSED[case]
    assert export(*(places.get(one, one) for one in arguments), "--out", tmp_path / "out") == 2
    assert says in capsys.readouterr().err


def test_why_it_failed_is_in_the_tables(exported: Path) -> None:
    """A success has no cause; what a gap hides is the infrastructure's."""
    causes = duckdb.sql(
        f"SELECT DISTINCT success, cause FROM '{exported}/episodes.parquet' ORDER BY ALL"
    ).fetchall()
    assert set(causes) == {(False, "agent"), (True, None)}
    masked = duckdb.sql(
        "SELECT DISTINCT cause, cause_reason, len(cause_evidence)"
        f" FROM '{exported}/rewards.parquet' WHERE mask"
    ).fetchall()
    assert masked == [("infrastructure", "a source observed nothing", 1)]
    paid = f"SELECT count(cause) FROM '{exported}/rewards.parquet' WHERE reward > 0"
    assert duckdb.sql(paid).fetchall() == [(0,)]


def test_the_card_says_what_the_tables_are(exported: Path) -> None:
    _, header, body = (exported / "README.md").read_text().split("---\n", 2)
    configs = yaml.safe_load(header)["configs"]
    assert [one["config_name"] for one in configs] == list(SCHEMAS)
    files = [one["data_files"] for one in configs]
    twins = {"rewards.parquet": REWARDS_TWIN}
    assert files == [twins.get(f"{name}.parquet", f"{name}.parquet") for name in SCHEMAS]
    assert [one["config_name"] for one in configs if one.get("default")] == ["rewards"]
    for name in SCHEMAS:
        rows = pq.read_metadata(exported / f"{name}.parquet").num_rows
        assert f"| `{name}` | {rows} | " in body
    assert f"# {COUNT} episodes" in body
    assert "γ = 0.5, 1; `credit` and they are credited as_paid" in body


def test_the_twin_of_the_rewards_says_the_same(exported: Path) -> None:
    """Its components and objectives are JSON: `datasets` has no type for a map."""
    rows = pq.read_table(exported / "rewards.parquet").to_pylist()
    twin = pq.read_table(exported / REWARDS_TWIN).to_pylist()
    maps = ("components", "objectives")
    assert [{**row, **{name: dict(row[name]) for name in maps}} for row in rows] == [
        {**row, **{name: orjson.loads(row[name]) for name in maps}} for row in twin
    ]
    assert any(row["mask"] and row["reward"] is None for row in twin)


@pytest.mark.slow
def test_a_second_export_of_the_same_name_is_read_and_not_the_first(tmp_path: Path) -> None:
    """`datasets` keeps what it loaded by the folder's name, its configuration and its version."""
    python = ROOT / ".venv-trl" / "bin" / "python"
    if not python.exists():
        pytest.skip(".venv-trl is missing: `make test-all` makes it")
    task = written(tmp_path / "task.yaml", TASK)
    folders = []
    for name, count in (("one", 3), ("two", 5)):
        corpus = record(tmp_path / name / "corpus", count)
        folders.append(tmp_path / name / "shop")
        assert export(corpus, "--task", task, "--out", folders[-1]) == 0
    rows = [pq.read_metadata(folder / "episodes.parquet").num_rows for folder in folders]
    assert rows == [3, 5]
    program = (
        "import json, sys; from datasets import load_dataset;"
        "print(json.dumps([load_dataset(one, 'episodes')['train'].num_rows for one in sys.argv[1:]]))"
    )
    home = {**os.environ, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1"}
    command = [python, "-c", program, *folders]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=home)
    assert ran.returncode == 0, ran.stderr[-2_000:]
    assert json.loads(ran.stdout.splitlines()[-1]) == rows


@pytest.mark.slow
def test_hugging_faces_datasets_load_each_table(exported: Path) -> None:
    python = ROOT / ".venv-trl" / "bin" / "python"
    if not python.exists():
        pytest.skip(".venv-trl is missing: `make test-all` makes it")
    program = (
        "import json, sys; from datasets import get_dataset_config_names, load_dataset;"
        "print(json.dumps({name: load_dataset(sys.argv[1], name)['train'].num_rows"
        " for name in get_dataset_config_names(sys.argv[1])}))"
    )
    command = [python, "-c", program, exported]
    home = {**os.environ, "HF_HOME": str(exported.parent / "hf"), "HF_HUB_OFFLINE": "1"}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=home)
    assert ran.returncode == 0, ran.stderr[-2_000:]
    rows = {name: pq.read_metadata(exported / f"{name}.parquet").num_rows for name in SCHEMAS}
    assert json.loads(ran.stdout.splitlines()[-1]) == rows
