"""A model on its way to be served: kept as a folder at once, gated, and promoted by what the gate
said."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from api.stages.model.folder import BUILTIN, Model, ModelError, find, load, save
from lab.training.gating import MARGIN, GateResult, compare
from lab.training.history import HistoryError, ModelHistory
from lab.training.preferences import read_preferences
from lab.training.training import Learner


def keep_model(models: Path, name: str, model: Model) -> str:
    """Write a model's folder, whole or not at all; returns its digest. Raises `ModelError` where
    there is one of that name."""
    if (models / name).exists():
        raise ModelError(f"{models / name}: there is a model of that name, wanted a new one")
    fresh = models / f".{name}.{os.getpid()}"
    shutil.rmtree(fresh, ignore_errors=True)
    digest = save(fresh, model)
    fresh.rename(models / name)
    ModelHistory(models).note("trained", name, digest, {})
    return digest


def keep_builtin(models: Path) -> str:
    """Copy the package's model to the others, whole or not at all; returns its name there, which
    has the start of its digest: another release has another one. Raises `ModelError`, OSError."""
    name = f"{BUILTIN.name}-{load(BUILTIN).digest[:12]}"
    if not (models / name).exists():
        models.mkdir(parents=True, exist_ok=True)
        fresh = models / f".{name}.{os.getpid()}"
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.copytree(BUILTIN, fresh)
        fresh.rename(models / name)
    return name


def gate_model(
    models: Path, name: str, preferences: Sequence[Path], margin: float = MARGIN
) -> GateResult:
    """Compare a model with the one that is served, and note what came of it. Raises `ModelError`,
    `PreferenceError`."""
    known = read_preferences([file.resolve() for file in preferences])
    history = ModelHistory(models)
    history.settle()
    candidate, event = load(find(models, name)), history.served()
    served = None if event is None else load(find(models, event.model))
    result = compare(Learner(known), candidate, served, margin)
    against = None if served is None else served.digest
    history.note("gated", name, candidate.digest, {**result.facts(), "against": against})
    return result


def must_be_as_trained(history: ModelHistory, name: str, digest: str) -> None:
    """Raise `HistoryError` where the model's card is not the one that its training wrote."""
    written = [one for one in history.events() if (one.phase, one.model) == ("trained", name)]
    if written and written[-1].digest != digest:
        raise HistoryError(
            f"{history.models / name / 'card.json'}: sha256 is {digest[:12]}, but the history says"
            f" {written[-1].digest[:12]}: it was changed since the model was trained"
        )


def must_have_passed(history: ModelHistory, digest: str) -> None:
    """Raise `HistoryError` unless the model's last gate passed, against what is served now."""
    gates = [event for event in history.events() if event.phase == "gated"]
    last = next((event for event in reversed(gates) if event.digest == digest), None)
    served = history.served()
    against = None if served is None else served.digest
    if last is None or not last.facts.get("passed") or last.facts.get("against") != against:
        raise HistoryError(
            f"model {digest[:12]}: its last gate did not pass against what is served now; wanted"
            " `milestoned rm gate` before"
        )
