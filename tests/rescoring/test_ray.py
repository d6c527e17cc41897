"""On a real Ray cluster of this machine: the same bytes as from processes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.api.service import TASK
from tests.rescoring.corpus import changed, record, rescore, written

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None,
        reason="Ray is missing: pip install 'milestoned[ray]'",
    ),
    # Ray's own start leaves files and pipes to be closed by the collector.
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
    pytest.mark.timeout(300),
]


def test_ray_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("api.rescoring.running.TOGETHER", 3)
    corpus = record(tmp_path / "corpus", 23)
    old, new = (
        written(tmp_path / "old.yaml", TASK),
        written(tmp_path / "new.yaml", changed(cart=None, done=None)),
    )
    run = [corpus, "--task", new, "--against", old]
    shown = []
    for name, how in {"one": ["--workers", 1], "ray": ["--engine", "ray", "--workers", 2]}.items():
        assert rescore(*run, *how, "--out", tmp_path / name) == 1
        shown.append(capfd.readouterr().out)
    assert (tmp_path / "ray").read_bytes() == (tmp_path / "one").read_bytes()
    assert shown[0] == shown[1]


def test_a_cluster_that_is_not_there_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    corpus, task = record(tmp_path / "corpus", 1), written(tmp_path / "task.yaml", TASK)
    run = [corpus, "--task", task, "--against", task, "--engine", "ray", "--ray", "127.0.0.1:1"]
    assert rescore(*run) == 2
    assert "--ray 127.0.0.1:1: " in capfd.readouterr().err
