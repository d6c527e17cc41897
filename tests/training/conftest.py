"""One corpus, its preferences and one model of them for all tests that need a trained one."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from api.cli.main import main
from api.stages.model.folder import Model, load
from tests.training.synthetic import corpus


class Made(NamedTuple):
    """Where things are."""

    folder: Path
    index: Path
    preferences: Path
    models: Path

    @property
    def model(self) -> Model:
        return load(self.models / "first")


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """By the commands that a user has."""
    folder = tmp_path_factory.mktemp("rm")
    index, preferences, models = corpus(folder), folder / "pref.jsonl", folder / "models"
    assert main(["rm", "prefer", str(index), str(preferences)]) == 0
    assert main(["rm", "train", str(preferences), "--models", str(models), "--name", "first"]) == 0
    return Made(folder, index, preferences, models)
