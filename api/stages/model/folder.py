"""A model is a folder: trees, calibration, features that it was trained on, a card of metrics.

- model.npz: the trees of every head, and known rows for novelty
- calibration.json: the cases that were left out, a level (trajectory, step)
- features.json: names, order, signs and the digest of the code that makes them
- card.json: how it was trained, on what, what was measured; the heads' weights; the digests of the
  others
- last_look.json, where there is one: what was measured on groups that nobody had looked at, and
  which kinds of cases that refuted (`benchmarks.unseen.look`)

It is loaded by name and refused where a digest or the features differ.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from api.stages.model import schema
from api.stages.model.calibration import Calibration, from_json
from api.stages.model.novelty import Known
from api.stages.model.trees import Trees, from_arrays
from common.regular_file import read_regular

FORM = "milestoned-model/1"
PARTS = ("model.npz", "calibration.json", "features.json")
LOOK = "last_look.json"
BUILTIN = Path(__file__).with_name("builtin")
"""The model of the package; benchmarks/builtin.py trains it."""
MAX_JSON = 1 << 26
"""Bytes of a folder's JSON files."""
MAX_ARRAYS = 1 << 28
"""Bytes that a folder's arrays may unpack to."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class ModelError(ValueError):
    """A model can't be loaded; the message names the file, the value and what was expected."""


@dataclass(frozen=True, slots=True)
class Model:
    """``heads``: trees by aspect, "success" among them; ``weights``: of the other heads beside
    success's 1."""

    name: str
    digest: str
    heads: Mapping[str, Trees]
    weights: Mapping[str, float]
    scales: Mapping[str, float]
    """Of each head: what its score is divided by before σ."""
    known: Known
    calibration: Mapping[str, Calibration]
    card: Mapping[str, Any]
    refuted: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Of a level (trajectory, step) the kinds of cases (`CaseKind`, in lower case) of which more
    answers were surely wrong than was stated, when the model was looked at: none is answered."""


def features_json() -> dict[str, Any]:
    """Return the features of this build: version, names, signs and the digest of their code."""
    return {
        "version": schema.VERSION,
        "names": list(schema.NAMES),
        "signs": list(schema.SIGNS),
        "digest": schema.digest(),
    }


def save(folder: Path, model: Model) -> str:
    """Write a new folder and return the model's digest. Raises FileExistsError."""
    folder.mkdir(parents=True)
    arrays = {
        f"{head}.{name}": value
        for head, trees in model.heads.items()
        for name, value in trees.arrays().items()
    }
    arrays |= {f"known.{name}": value for name, value in model.known.arrays().items()}
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    (folder / "model.npz").write_bytes(packed.getvalue())
    calibration = {level: cases.to_json() for level, cases in model.calibration.items()}
    (folder / "calibration.json").write_bytes(orjson.dumps(calibration))
    (folder / "features.json").write_bytes(
        orjson.dumps(features_json(), option=orjson.OPT_INDENT_2)
    )
    card = {
        **model.card,
        "form": FORM,
        "heads": sorted(model.heads),
        "weights": dict(model.weights),
        "scales": dict(model.scales),
        "digests": {name: _sha(folder / name) for name in PARTS},
    }
    (folder / "card.json").write_bytes(
        orjson.dumps(card, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
    )
    return _sha(folder / "card.json")


def find(models: Path, name: str) -> Path:
    """Return the folder of a model by its name. Raises `ModelError` that lists the models."""
    if _NAME.fullmatch(name) and (models / name / "card.json").is_file():
        return models / name
    there = sorted(card.parent.name for card in models.glob("*/card.json")) or ["none"]
    raise ModelError(f"model {name[:80]!r}: not in {models}; there are: {', '.join(there)}")


def load(folder: Path) -> Model:
    """Read and check a folder. Raises `ModelError`."""
    card = _read_object(folder / "card.json")
    try:
        _must_be_whole(folder, card)
        _must_fit(folder, _read_object(folder / "features.json"))
        calibration = _read_object(folder / "calibration.json")
        if not calibration:
            raise ModelError(f"{folder / 'calibration.json'}: expected a level or more, got none")
        arrays = _read_arrays(folder / "model.npz")
        heads = {head: from_arrays(_part(arrays, head)) for head in card["heads"]}
        known = Known(**_part(arrays, "known"))
        digest = _sha(folder / "card.json")
        return Model(
            name=folder.name,
            digest=digest,
            heads=heads,
            weights={head: float(weight) for head, weight in card["weights"].items()},
            scales={head: float(scale) for head, scale in card["scales"].items()},
            known=known,
            calibration={level: from_json(cases) for level, cases in calibration.items()},
            card=card,
            refuted=_read_refuted(folder / LOOK, digest),
        )
    except ModelError:
        raise
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(
            f"{folder}: not a model of {FORM}: {type(error).__name__}: {error}"
        ) from None


def _read_refuted(file: Path, digest: str) -> dict[str, frozenset[str]]:
    """Read which kinds of cases a look at the model with this digest refuted; none where nobody
    looked at it. Raises `ModelError`."""
    if not file.is_file():
        return {}
    look = _read_object(file)
    try:
        if look["model"] != digest:
            return {}
        return {level: frozenset(kinds) for level, kinds in look["refuted"].items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{file}: expected a look at a model: {error!r}") from None


def _read_object(file: Path) -> dict[str, Any]:
    """Read a JSON object. Raises `ModelError` that names the file."""
    try:
        found = orjson.loads(read_regular(file, MAX_JSON))
    except (OSError, orjson.JSONDecodeError) as error:
        raise ModelError(f"{file}: expected the JSON of a model's folder: {error}") from None
    if not isinstance(found, dict):
        raise ModelError(f"{file}: expected an object, got {str(found)[:80]}")
    return found


def _read_arrays(file: Path) -> Mapping[str, Any]:
    """Read a numpy archive, of at most `MAX_ARRAYS` bytes unpacked. Raises `ModelError`."""
    try:
        packed = io.BytesIO(read_regular(file))
        with zipfile.ZipFile(packed) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > MAX_ARRAYS:
            raise ModelError(f"{file}: expected at most {MAX_ARRAYS} bytes unpacked, got {size}")
        with np.load(packed, allow_pickle=False) as arrays:
            return dict(arrays)
    except ModelError:
        raise
    except (OSError, ValueError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error) as error:
        raise ModelError(f"{file}: expected a numpy archive of a model: {error}") from None


def _part(arrays: Mapping[str, Any], head: str) -> dict[str, Any]:
    """Return the arrays of one head, by their names without its own."""
    prefix = head + "."
    names = [name for name in arrays if name.startswith(prefix)]
    return {name.removeprefix(prefix): arrays[name] for name in names}


def _must_be_whole(folder: Path, card: Any) -> None:
    """Raise `ModelError` for a folder of another form, or of which a file was changed."""
    if not isinstance(card, dict) or card.get("form") != FORM:
        raise ModelError(f"{folder / 'card.json'}: form is not {FORM!r}")
    for name in PARTS:
        wanted, found = card["digests"][name], _sha(folder / name)
        if found != wanted:
            raise ModelError(
                f"{folder / name}: sha256 is {found}, but the card says {wanted}: it was changed"
            )


def _must_fit(folder: Path, features: Any) -> None:
    """Raise `ModelError` for a model of other features than this build's."""
    ours = features_json()
    for name in ("version", "names", "signs", "digest"):
        if features.get(name) != ours[name]:
            raise ModelError(
                f"{folder / 'features.json'}: {name} of the features"
                f" ({str(features.get('version', 'of an older build'))[:80]}) differ from this"
                f" build's ({ours['version']}): got {str(features.get(name))[:80]}, wanted"
                f" {str(ours[name])[:80]}; train the model again with this build"
            )


def _sha(path: Path) -> str:
    return hashlib.sha256(read_regular(path)).hexdigest()
