"""`milestoned rm prefer|train|eval|promote|schema`: the learned reward model, from preferences to
what is served."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import orjson

from api.replay.recordings import RecordingError
from common.command_line import new_app, option
from lab.training.pairing import preferences_of
from lab.training.preferences import SCHEMA, PreferenceError, read_preferences

RISK = 0.05
"""The stated risk unless another is given."""
EXTRA = "this command needs the extra train: pip install 'milestoned[train]'"
MODELS = Path("models")
SERVED = "served"
"""The name that a promoted model is reached by, a link beside the models."""


def _read_weight(text: str) -> tuple[str, float]:
    aspect, _, value = text.partition("=")
    try:
        weight = float(value)
    except ValueError:
        weight = -1.0
    if not aspect or weight <= 0:
        raise ValueError("expected ASPECT=WEIGHT with a weight above 0, such as safety=0.3")
    return aspect, weight


app = new_app("rm", "Train, measure and promote the learned reward model.")

Preferences = Annotated[tuple[Path, ...], option("files of pref/1 lines", "PREFERENCES")]
Models = Annotated[Path, option("where models are (default: ./models)", "DIR")]


@app.command
def prefer(
    index: Annotated[Path, option("a line of JSON an episode: id, file, task, paid", "EPISODES")],
    out: Annotated[Path, option("the preferences to write, beside the recordings", "OUT")],
    /,
) -> int:
    """Make preferences of recorded episodes by their tasks' rules."""
    if out.parent.resolve() != index.parent.resolve():
        return _fail(f"{out}: wanted a file in {index.parent}: recordings are named relative to it")
    try:
        lines = [orjson.dumps(line) + b"\n" for line in preferences_of(index)]
        out.write_bytes(b"".join(lines))
    except OSError as error:
        return _fail(
            f"{error.filename}: {error.strerror}; wanted an index of episodes and their recordings"
        )
    except (PreferenceError, RecordingError) as error:
        return _fail(str(error))
    except (KeyError, TypeError, orjson.JSONDecodeError) as error:
        return _fail(
            f"{index}: {error!r}; wanted a line of JSON an episode with id, file, task and paid"
        )
    print(f"{out}: {len(lines)} lines")
    return 0


@app.command
def train(
    preferences: Preferences,
    /,
    *,
    models: Models = MODELS,
    name: Annotated[str, option("the model's name", "NAME")],
    after: Annotated[
        str | None, option("with all that this model was trained on too", "MODEL")
    ] = None,
    head: Annotated[
        tuple[tuple[str, float], ...],
        option("a further head, weighed", "ASPECT=WEIGHT", _read_weight, many=True),
    ] = (),
) -> int:
    """Train a reward model from people's preferences."""
    if not _trains():
        return _fail(EXTRA)
    from api.stages.model.folder import ModelError, save
    from lab.training.training import Learner

    try:
        files = [
            *_files_of(models, after),
            *(file.resolve() for file in preferences),
        ]
        learner = Learner(read_preferences(dict.fromkeys(files)))
        model = learner.model(name, dict(head))
        digest = save(models / name, model)
    except (PreferenceError, ModelError, ValueError, OSError) as error:
        return _fail(str(error))
    levels = ", ".join(
        f"{level} ({len(one.scores)} cases)" for level, one in sorted(model.calibration.items())
    )
    print(
        f"{models / name}: {digest[:12]}, {len(learner.pairs)} pairs, {len(learner.groups)} groups"
    )
    print(f"calibrated on groups left out: {levels or 'nothing, so it will always abstain'}")
    for who, value in sorted(learner.annotators.items()):
        print(f"annotator {who}: reliability {value:.2f}")
    return 0


def _files_of(models: Path, name: str | None) -> list[Path]:
    """The preferences that a model was trained on. Raises `ModelError` where they are not those any
    more."""
    if name is None:
        return []
    from api.stages.model.folder import ModelError, find, load

    said = load(find(models, name)).card["data"]
    files = [Path(file) for file in said["files"]]
    if read_preferences(files).digest != said["digest"]:
        raise ModelError(
            f"model {name}: its preferences were changed since; train without --after on what is"
            " true now"
        )
    return files


@app.command(name="eval")
def evaluate(
    preferences: Preferences,
    /,
    *,
    risk: Annotated[
        float, option(f"of the answers, how many may be wrong (default: {RISK})", "RISK")
    ] = RISK,
    truth: Annotated[
        Literal["env", "rule", "person"],
        option("whose outcomes are true (default: env)", "env|rule|person"),
    ] = "env",
    json: Annotated[Path | None, option("write the figures there", "FILE")] = None,
    plot: Annotated[Path | None, option("write the coverage/risk curve there", "FILE.svg")] = None,
) -> int:
    """Measure what this way of training is worth on groups that were left out."""
    if not _trains():
        return _fail(EXTRA)
    from lab.training.evaluating import by_task, cases_left_out, coverage_curve, report
    from lab.training.plotting import risk_plot
    from lab.training.training import Learner

    try:
        lines = read_preferences(preferences)
        cases = cases_left_out(Learner(lines), risk, truth)
    except (PreferenceError, ValueError, OSError) as error:
        return _fail(str(error))
    if not cases:
        return _fail(f"no outcome has the source {truth!r}; wanted some to measure with")
    figures = {"data": lines.digest, **report(cases, risk)}
    for name, value in figures.items():
        print(f"{name:28} {_format_value(value)}")
    if json is not None:
        json.write_bytes(
            orjson.dumps({**figures, "by_task": by_task(cases)}, option=orjson.OPT_INDENT_2)
        )
    if plot is not None:
        coverage, risks = coverage_curve(cases)
        share = sum(case.success for case in cases) / len(cases)
        title = f"{len(cases)} episodes of {figures['groups']} groups left out"
        plot.write_text(risk_plot(coverage, risks, min(share, 1 - share), title))
    return 0


def _format_value(value: object) -> str:
    if isinstance(value, list):
        return f"{value[0]:.3f}  [{value[1]:.3f}, {value[2]:.3f}]"
    if isinstance(value, dict):
        return "  ".join(f"{key}: {one:.3f}" for key, one in value.items())
    return f"{value:.3f}" if isinstance(value, float) else str(value)


@app.command
def promote(
    name: Annotated[str, option("the model", "MODEL")], /, *, models: Models = MODELS
) -> int:
    """Make a model the one that is served."""
    if not _trains():
        return _fail(EXTRA)
    from api.stages.model.folder import ModelError, find, load

    try:
        model = load(find(models, name))
    except ModelError as error:
        return _fail(str(error))
    link, fresh = models / SERVED, models / f".{SERVED}.{os.getpid()}"
    if link.exists() and not link.is_symlink():
        return _fail(f"{link}: is a folder of its own, wanted nothing or a link there")
    fresh.symlink_to(name)
    fresh.replace(link)  # at once: whoever loads finds the old one or the new one
    print(f"{link} -> {name} ({model.digest[:12]})")
    return 0


@app.command
def schema() -> int:
    """Print the JSON Schema of a line of preferences."""
    print(SCHEMA.read_text(), end="")
    return 0


def _trains() -> bool:
    from importlib.util import find_spec

    return find_spec("lightgbm") is not None


def _fail(said: str) -> int:
    print(f"milestoned rm: {said}", file=sys.stderr)
    return 2
