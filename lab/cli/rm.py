"""`milestoned rm`: the learned reward model, from preferences to what is served, and back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import orjson

from api.cli.common import read_share
from api.cli.corpus import RECORDINGS_ALONE, CorpusUsageError, Stored, run_guarded
from api.replay.recordings import RecordingError
from api.rescoring.stored import episodes
from common.command_line import new_app, option
from common.output_file import why_not_writable
from detectors.model.json_value import read_text
from lab.training.pairing import preferences_of
from lab.training.preferences import SCHEMA, PreferenceError, read_preferences

RISK = 0.05
"""The stated risk unless another is given."""
EXTRA = "this command needs the extra train: pip install 'milestoned[train]'"
MODELS = Path("models")
MAX_WEIGHT = 1_000


def _read_weight(text: str) -> tuple[str, float]:
    """Read ASPECT=WEIGHT. Raises ValueError for a weight that is no number above 0."""
    aspect, _, value = text.partition("=")
    try:
        weight = float(value)
    except ValueError:
        weight = -1.0
    if not aspect or not 0 < weight <= MAX_WEIGHT:
        raise ValueError(
            f"expected ASPECT=WEIGHT with a weight above 0, at most {MAX_WEIGHT}, such as"
            " safety=0.3"
        )
    return aspect, weight


def _read_source_weight(text: str) -> tuple[str, float]:
    """Read SOURCE=WEIGHT of a source of preferences. Raises ValueError for another source, and for
    a weight beyond 0 to 10."""
    source, _, value = text.partition("=")
    try:
        weight = float(value)
    except ValueError:
        weight = -1.0
    if source not in ("rule", "judge") or not 0 <= weight <= 10:
        raise ValueError("expected rule=WEIGHT or judge=WEIGHT, from 0 to 10")
    return source, weight


NOTHING = Path()
"""No file was named."""
SourceWeights = Annotated[
    tuple[tuple[str, float], ...],
    option(
        "what a rule's decision (1) or a judge's verdict (0.5, times its confidence) weighs beside"
        " a person's 1",
        "SOURCE=WEIGHT",
        _read_source_weight,
        many=True,
    ),
]

app = new_app("rm", "Train, measure and promote the learned reward model.")

Preferences = Annotated[tuple[Path, ...], option("files of pref/1 lines", "PREFERENCES")]
Models = Annotated[Path, option("where models are (default: ./models)", "DIR")]


@app.command
def prefer(
    index: Annotated[
        Path, option("a line of JSON an episode: id, file, task, paid", "EPISODES")
    ] = NOTHING,
    out: Annotated[
        Path, option("the preferences to write, beside the recordings", "OUT")
    ] = NOTHING,
    /,
    *,
    into: Annotated[
        Path | None, option("with --stored: where recordings and preferences go", "DIR")
    ] = None,
    stored: Stored = RECORDINGS_ALONE,
    weight: SourceWeights = (),
    force: Annotated[bool, option("replace OUT if it is there")] = False,
) -> int:
    """Make preferences of recorded episodes by their tasks' rules; or, with --stored, of a
    service's closed episodes by people's labels, rules and judge."""
    if stored.stored or into is not None:
        if NOTHING not in (index, out):
            return _fail(f"--stored: wanted no file with it, got {index}")
        return run_guarded(lambda: _prefer_stored(stored, into, weight))
    if NOTHING in (index, out):
        return _fail("nothing to read: wanted EPISODES and OUT, or --stored and --into")
    if out.parent.resolve() != index.parent.resolve():
        return _fail(f"{out}: wanted a file in {index.parent}: recordings are named relative to it")
    problem = why_not_writable(out, force=force)
    if problem is not None:
        return _fail(problem)
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


def _prefer_stored(stored: Stored, into: Path | None, weight: tuple[tuple[str, float], ...]) -> int:
    """Write the stored preferences with their recordings into a folder, and say how many. Raises
    `CorpusUsageError`."""
    if into is None or not stored.stored:
        raise CorpusUsageError("wanted --stored and --into DIR together")
    count = _write_stored(stored, into, dict(weight))
    print(f"{into / 'preferences.jsonl'}: {count} lines")
    return 0


def _write_stored(stored: Stored, into: Path, weight: dict[str, float]) -> int:
    """Write what the service's database knows into a folder. Raises `CorpusUsageError`."""
    from api.labelling.decisions import Weights
    from lab.training.stored import read_words, write_stored

    chosen = stored.selection(())
    if chosen is None:
        raise CorpusUsageError("wanted --stored")
    url = stored.database_url()
    found = episodes(url, chosen)
    return write_stored(found, read_words(url), into, Weights()._replace(**weight))


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
    hold_out: Annotated[
        bool,
        option("train nothing on every third group, chosen by its sha256: what `rm gate` needs"),
    ] = False,
) -> int:
    """Train a reward model from people's preferences."""
    lacking = _find_lacking()
    if lacking is not None:
        return _fail(lacking)
    from api.stages.model.folder import ModelError
    from lab.training.gating import held_of
    from lab.training.keeping import keep_model
    from lab.training.training import Learner

    try:
        files = [
            *_files_of(models, after),
            *(file.resolve() for file in preferences),
        ]
        learner = Learner(read_preferences(dict.fromkeys(files)))
        held = held_of(learner.groups) if hold_out else ()
        model = learner.model(name, dict(head), without=held)
        digest = keep_model(models, name, model)
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
        float,
        option(f"of the answers, how many may be wrong (default: {RISK})", "RISK", read_share),
    ] = RISK,
    truth: Annotated[
        Literal["env", "rule", "person"],
        option("whose outcomes are true (default: env)", "env|rule|person"),
    ] = "env",
    json: Annotated[Path | None, option("write the figures there", "FILE")] = None,
    plot: Annotated[Path | None, option("write the coverage/risk curve there", "FILE.svg")] = None,
    force: Annotated[bool, option("replace what is there")] = False,
) -> int:
    """Measure what this way of training is worth on groups that were left out."""
    for path in filter(None, (json, plot)):
        problem = why_not_writable(path, force=force)
        if problem is not None:
            return _fail(problem)
    lacking = _find_lacking()
    if lacking is not None:
        return _fail(lacking)
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
    """Format a figure of the report: a number, a number with its interval, or numbers by name."""
    if isinstance(value, list):
        return f"{value[0]:.3f}  [{value[1]:.3f}, {value[2]:.3f}]"
    if isinstance(value, dict):
        return "  ".join(f"{key}: {one:.3f}" for key, one in value.items())
    return f"{value:.3f}" if isinstance(value, float) else str(value)


@app.command
def gate(
    name: Annotated[str, option("the model", "MODEL")],
    preferences: Preferences,
    /,
    *,
    models: Models = MODELS,
    margin: Annotated[
        float,
        option("by how much its AUROC may surely be lower (default: 0.05)", "SHARE", read_share),
    ] = 0.05,
) -> int:
    """Compare a model with the one that is served, on groups held out; 0 if it may be promoted."""
    lacking = _find_lacking()
    if lacking is not None:
        return _fail(lacking)
    from api.stages.model.folder import ModelError
    from lab.training.keeping import gate_model

    try:
        result = gate_model(models, name, list(preferences), margin)
    except (PreferenceError, ModelError, ValueError, OSError) as error:
        return _fail(str(error))
    print(f"{name}: {'passed' if result.passed else 'refused'}: {result.why}")
    for figure, value in result.facts().items():
        if figure not in ("passed", "why"):
            print(f"{figure:10} {_format_value(value)}")
    return 0 if result.passed else 1


@app.command
def promote(
    name: Annotated[str, option("the model; builtin: a copy of the package's", "MODEL")],
    /,
    *,
    models: Models = MODELS,
    gated: Annotated[
        bool, option("only if its last `rm gate` passed, against what is served now")
    ] = False,
) -> int:
    """Make a model the one that is served; a running service takes it up within seconds."""
    lacking = _find_lacking()
    if lacking is not None:
        return _fail(lacking)
    from api.stages.model.folder import BUILTIN, ModelError, find, load
    from lab.training.history import SERVED, HistoryError, ModelHistory
    from lab.training.keeping import keep_builtin, must_be_as_trained, must_have_passed

    history = ModelHistory(models)
    try:
        if name == BUILTIN.name and not (models / name).exists():
            name = keep_builtin(models)
        model = load(find(models, name))
        must_be_as_trained(history, name, model.digest)
        if gated:
            must_have_passed(history, model.digest)
        history.promote(name, model.digest, {"gated": gated})
    except (ModelError, HistoryError, OSError) as error:
        return _fail(str(error))
    print(f"{models / SERVED} -> {name} ({model.digest[:12]})")
    return 0


@app.command
def rollback(
    *,
    models: Models = MODELS,
    why: Annotated[str, option("the reason, for the history", "TEXT")] = "",
) -> int:
    """Serve again the model that was served before this one."""
    from lab.training.history import SERVED, HistoryError, ModelHistory

    try:
        before = ModelHistory(models).roll_back({"why": why})
    except (HistoryError, OSError) as error:
        return _fail(str(error))
    print(f"{models / SERVED} -> {before.model} ({before.digest[:12]})")
    return 0


@app.command
def drift(
    *,
    models: Models = MODELS,
    stored: Stored = RECORDINGS_ALONE,
    risk: Annotated[
        float,
        option(f"of the answers, how many may be wrong (default: {RISK})", "RISK", read_share),
    ] = RISK,
    roll_back: Annotated[bool, option("on an alarm, serve the model before it again")] = False,
) -> int:
    """Compare the served model's answers with those of judge and people on audited items; 1 on an
    alarm."""
    return run_guarded(lambda: _look_for_drift(models, stored, risk, roll_back=roll_back))


def _look_for_drift(models: Path, stored: Stored, risk: float, *, roll_back: bool) -> int:
    """Compare the served model's answers with the audits, print what was found, and note an alarm;
    roll back if that is asked. Return 1 for an alarm."""
    from lab.training.gating import find_drift
    from lab.training.history import HistoryError, ModelHistory
    from lab.training.stored import audited_pairs

    history = ModelHistory(models)
    try:
        served = history.served()
    except HistoryError as error:
        raise CorpusUsageError(str(error)) from None
    chosen = stored.selection(())
    if chosen is None:
        raise CorpusUsageError("wanted --stored: audited items are those of a service's database")
    if served is None:
        raise CorpusUsageError(
            f"{models}: no model was promoted; wanted one, by `milestoned rm promote MODEL`"
            " (`builtin` for the package's)"
        )
    by = f"@{served.digest[:12]}"
    found = episodes(stored.database_url(), chosen)
    drift = find_drift((one for kept in found for one in audited_pairs(kept.verdicts, by)), risk)
    print(f"{served.model}: {drift.wrong} of {drift.answered} audited answers were wrong")
    print(f"surely at least {drift.low:.3f}, stated {risk:.3f}: {'ALARM' if drift.alarm else 'ok'}")
    if not drift.alarm:
        return 0
    history.note("drifted", served.model, served.digest, drift.facts())
    if roll_back:
        try:
            before = history.roll_back({"why": "drift", **drift.facts()})
        except HistoryError as error:
            raise CorpusUsageError(str(error)) from None
        print(f"served again: {before.model} ({before.digest[:12]})")
    return 1


@app.command
def history(*, models: Models = MODELS) -> int:
    """Print what became of the models: trained, gated, promoted, drifted, rolled back."""
    from lab.training.history import HistoryError, ModelHistory

    try:
        events = ModelHistory(models).events()
    except (HistoryError, OSError) as error:
        return _fail(str(error))
    for event in events:
        why = read_text(event.facts, "why")
        print(f"{event.at}  {event.phase:12} {event.model} ({event.digest[:12]}) {why}".rstrip())
    return 0


@app.command
def learn(
    *,
    into: Annotated[Path, option("where recordings and preferences go", "DIR")],
    models: Models = MODELS,
    name: Annotated[str, option("the new model's name", "NAME")],
    stored: Stored = RECORDINGS_ALONE,
    weight: SourceWeights = (),
) -> int:
    """Do all of it, for a schedule: preferences of stored episodes, train, gate, and promote what
    passed; 1 if the gate refused."""
    lacking = _find_lacking()
    if lacking is not None:
        return _fail(lacking)
    made = run_guarded(lambda: _prefer_stored(stored, into, weight))
    if made:
        return made
    files = (into / "preferences.jsonl",)
    made = train(files, models=models, name=name, hold_out=True)
    if made:
        return made
    return gate(name, files, models=models) or promote(name, models=models, gated=True)


@app.command
def schema() -> int:
    """Print the JSON Schema of a line of preferences."""
    print(SCHEMA.read_text(), end="")
    return 0


def _find_lacking() -> str | None:
    """Return what a training lacks, with the command that installs it; None where all is there."""
    try:
        import lightgbm  # noqa: F401
    except ModuleNotFoundError:
        return EXTRA
    except OSError as error:
        return f"{error}; Debian, Ubuntu: sudo apt-get install libgomp1"
    return None


def _fail(said: str) -> int:
    print(f"milestoned rm: {said}", file=sys.stderr)
    return 2
