"""Trajectories and others' own code: what we export they take, and what we refuse they refuse."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest

from lab.convert.atif_file import VERSIONS, is_trajectory
from tests.api.processes import ROOT
from tests.convert.hand_made import A_TRAJECTORY, write
from tests.convert.test_refused import REFUSED
from tests.rescoring.corpus import GAP
from tests.rescoring.test_atif import ANSWERED, CALLED, FAILED, RETURNED, export, recorded
from tests.support.logs import clicked, went

PACKAGES = [
    pytest.param("atif", "trainers"),
    pytest.param("harbor", "harbor", marks=pytest.mark.slow),
]
NOT_BY_ATIF = ("trajectory of another version", "trajectory without steps")
"""What Harbor refuses, as we do, and `atif` takes."""
EPISODES: dict[str, list[tuple[Any, list[Any]]]] = {
    "paid": [("go", [went("/cart")]), ({"click": "Buy"}, [CALLED, RETURNED, clicked("Buy")])],
    "null": [("go", [GAP, CALLED]), (None, [FAILED, ANSWERED])],
    "penalty": [("help", [went("/help")])],
    "none": [],
}


def read_by(package: str, venv: str, folder: Path) -> dict[str, str | None]:
    """What a package has against the trajectories of a folder."""
    python = ROOT / f".venv-{venv}" / "bin" / "python"
    if not (python.parents[1] / "ready").exists():
        pytest.skip(f".venv-{venv} is missing: `make test-all` makes it, with Python 3.12")
    command = [python, "-m", "tests.trainers.harness.atif_files", package, folder]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2_000:]
    found: dict[str, str | None] = json.loads(ran.stdout.splitlines()[-1])
    return found


def refused_trajectories(folder: Path) -> dict[str, Any]:
    """The trajectories that `milestoned convert` refuses, by their rows in its table."""
    found: dict[str, Any] = {}
    for name, make, _, _ in REFUSED:
        if not name.startswith("trajectory "):
            continue
        made = folder / name
        made.mkdir()
        document = orjson.loads(make(made).read_bytes())
        assert is_trajectory(document)
        found[name] = document
    # No rule of the format, but of our segments.
    del found["trajectory with a call that no segment holds"]
    return found


@pytest.mark.parametrize(("package", "venv"), PACKAGES)
def test_what_we_export_they_take_and_what_we_refuse_they_refuse(
    package: str, venv: str, tmp_path: Path
) -> None:
    sources, made = tmp_path / "sources", tmp_path / "made"
    for folder in (sources, made, tmp_path / "refused"):
        folder.mkdir()
    recordings = [recorded(sources / f"{name}.mrec", *steps) for name, steps in EPISODES.items()]
    exported = export(*recordings)
    assert set(exported) == {f"ep_{name}.json" for name in EPISODES}
    for name, document in exported.items():
        write(made / f"ours {name}", document)
    for version in VERSIONS:
        write(made / f"{version}.json", A_TRAJECTORY | {"schema_version": version})
    refused = refused_trajectories(tmp_path / "refused")
    for name, document in refused.items():
        write(made / f"{name}.json", document)
    found = read_by(package, venv, made)
    for name in NOT_BY_ATIF if package == "atif" else ():
        assert found.pop(f"{name}.json") is None
        del refused[name]
    taken = {name for name, error in found.items() if error is None}
    assert {name for name in found if "trajectory " not in name} == taken, found
    assert len(refused) > 8
    assert set(found) - taken == {f"{name}.json" for name in refused}
