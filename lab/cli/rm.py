"""`milestoned rm prefer|train|eval|promote|schema`: the learned reward model, from preferences to
what is served."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import orjson

from api.replay.recordings import RecordingError
from lab.training.pairing import preferences_of
from lab.training.preferences import SCHEMA, PreferenceError, read_preferences

RISK = 0.05
"""The stated risk unless another is given."""
EXTRA = "this command needs the extra train: pip install 'milestoned[train]'"
SERVED = "served"
"""The name that a promoted model is reached by, a link beside the models."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `milestoned rm`."""
    commands = parser.add_subparsers(dest="rm_command", required=True, metavar="COMMAND")
    prefer = commands.add_parser(
        "prefer", help="make preferences of recorded episodes by their tasks' rules"
    )
    prefer.add_argument(
        "index",
        type=Path,
        metavar="EPISODES",
        help="a line of JSON an episode: id, file, task, paid",
    )
    prefer.add_argument(
        "out", type=Path, metavar="OUT", help="the preferences to write, beside the recordings"
    )
    prefer.set_defaults(run=_prefer)
    train = commands.add_parser("train", help="train a model from preferences")
    _data(train)
    train.add_argument(
        "--models",
        type=Path,
        default=Path("models"),
        metavar="DIR",
        help="where it goes (./models)",
    )
    train.add_argument("--name", required=True, help="the model's name")
    train.add_argument(
        "--after", metavar="MODEL", help="with all that this model was trained on too"
    )
    train.add_argument(
        "--head",
        action="append",
        default=[],
        metavar="ASPECT=WEIGHT",
        help="a further head, weighed",
    )
    train.set_defaults(run=_train)
    score = commands.add_parser(
        "eval", help="what this way of training is worth on groups that were left out"
    )
    _data(score)
    score.add_argument(
        "--risk", type=float, default=RISK, help=f"of the answers, how many may be wrong ({RISK})"
    )
    score.add_argument(
        "--truth", default="env", choices=("env", "rule", "person"), help="whose outcomes are true"
    )
    score.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    score.add_argument(
        "--plot", type=Path, metavar="FILE.svg", help="write the coverage/risk curve there"
    )
    score.set_defaults(run=_eval)
    promote = commands.add_parser("promote", help="make a model the one that is served")
    promote.add_argument("name", metavar="MODEL")
    promote.add_argument("--models", type=Path, default=Path("models"), metavar="DIR")
    promote.set_defaults(run=_promote)
    schema = commands.add_parser("schema", help="print the JSON Schema of a line of preferences")
    schema.set_defaults(run=lambda _: print(SCHEMA.read_text(), end=""))


def _data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "preferences", type=Path, nargs="+", metavar="PREFERENCES", help="files of pref/1 lines"
    )


def _prefer(args: argparse.Namespace) -> int:
    if args.out.parent.resolve() != args.index.parent.resolve():
        return _fail(
            f"{args.out}: wanted a file in {args.index.parent}: recordings are named relative to it"
        )
    try:
        lines = [orjson.dumps(line) + b"\n" for line in preferences_of(args.index)]
        args.out.write_bytes(b"".join(lines))
    except OSError as error:
        return _fail(
            f"{error.filename}: {error.strerror}; wanted an index of episodes and their recordings"
        )
    except (PreferenceError, RecordingError) as error:
        return _fail(str(error))
    except (KeyError, TypeError, orjson.JSONDecodeError) as error:
        return _fail(
            f"{args.index}: {error!r}; wanted a line of JSON an episode with id, file, task and"
            " paid"
        )
    print(f"{args.out}: {len(lines)} lines")
    return 0


def _train(args: argparse.Namespace) -> int:
    if not _trains():
        return _fail(EXTRA)
    from api.stages.model.folder import ModelError, save
    from lab.training.training import Learner

    try:
        files = [
            *_files_of(args.models, args.after),
            *(file.resolve() for file in args.preferences),
        ]
        learner = Learner(read_preferences(dict.fromkeys(files)))
        model = learner.model(args.name, dict(map(_weight, args.head)))
        digest = save(args.models / args.name, model)
    except (PreferenceError, ModelError, ValueError, OSError) as error:
        return _fail(str(error))
    levels = ", ".join(
        f"{level} ({len(one.scores)} cases)" for level, one in sorted(model.calibration.items())
    )
    print(
        f"{args.models / args.name}: {digest[:12]}, {len(learner.pairs)} pairs,"
        f" {len(learner.groups)} groups"
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


def _weight(text: str) -> tuple[str, float]:
    aspect, _, value = text.partition("=")
    try:
        weight = float(value)
    except ValueError:
        weight = -1.0
    if not aspect or weight <= 0:
        raise ValueError(
            f"--head {text}: wanted ASPECT=WEIGHT with a weight above 0, such as safety=0.3"
        )
    return aspect, weight


def _eval(args: argparse.Namespace) -> int:
    if not _trains():
        return _fail(EXTRA)
    from lab.training.evaluating import by_task, cases_left_out, coverage_curve, report
    from lab.training.plotting import risk_plot
    from lab.training.training import Learner

    try:
        preferences = read_preferences(args.preferences)
        cases = cases_left_out(Learner(preferences), args.risk, args.truth)
    except (PreferenceError, ValueError, OSError) as error:
        return _fail(str(error))
    if not cases:
        return _fail(f"no outcome has the source {args.truth!r}; wanted some to measure with")
    figures = {"data": preferences.digest, **report(cases, args.risk)}
    for name, value in figures.items():
        print(f"{name:28} {_format_value(value)}")
    if args.json is not None:
        args.json.write_bytes(
            orjson.dumps({**figures, "by_task": by_task(cases)}, option=orjson.OPT_INDENT_2)
        )
    if args.plot is not None:
        coverage, risk = coverage_curve(cases)
        share = figures["successes"] / len(cases)
        title = f"{len(cases)} episodes of {figures['groups']} groups left out"
        args.plot.write_text(risk_plot(coverage, risk, min(share, 1 - share), title))
    return 0


def _format_value(value: Any) -> str:
    if isinstance(value, list):
        return f"{value[0]:.3f}  [{value[1]:.3f}, {value[2]:.3f}]"
    if isinstance(value, dict):
        return "  ".join(f"{key}: {one:.3f}" for key, one in value.items())
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _promote(args: argparse.Namespace) -> int:
    if not _trains():
        return _fail(EXTRA)
    from api.stages.model.folder import ModelError, find, load

    try:
        model = load(find(args.models, args.name))
    except ModelError as error:
        return _fail(str(error))
    link, fresh = args.models / SERVED, args.models / f".{SERVED}.{os.getpid()}"
    if link.exists() and not link.is_symlink():
        return _fail(f"{link}: is a folder of its own, wanted nothing or a link there")
    fresh.symlink_to(args.name)
    fresh.replace(link)  # at once: whoever loads finds the old one or the new one
    print(f"{link} -> {args.name} ({model.digest[:12]})")
    return 0


def _trains() -> bool:
    from importlib.util import find_spec

    return find_spec("lightgbm") is not None


def _fail(said: str) -> int:
    print(f"milestoned rm: {said}", file=sys.stderr)
    return 2
