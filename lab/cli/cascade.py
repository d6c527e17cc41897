"""`milestoned cascade`: how good the tiers and their cascade are on trajectories that people
labelled, and from which support on a judge keeps a stated risk."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson

from api.cli.corpus import RECORDINGS_ALONE, CorpusUsageError, Stored, run_guarded
from api.rescoring.stored import episodes
from common.command_line import new_app, option
from common.output_file import why_not_writable
from detectors.model.json_value import JsonObject, JsonValue, read_object, require_list

if TYPE_CHECKING:
    from api.stages.judge.calibration import JudgeCalibration
    from lab.evaluation.calibrating import BarCheck
    from lab.evaluation.judged import JudgedItems

NOTHING = Path()
"""No file was named."""
RISK = 0.05
HEAD = (
    "accuracy",
    "precision",
    "npv",
    "recall",
    "false_positive_rate",
    "coverage",
    "kappa",
    "auc",
    "ece",
    "coverage_at_5%",
    "coverage_at_10%",
)


IN_PARTS = ("precision", "npv", "coverage", "kappa")
"""What the text says of trajectories of one length or family."""

app = new_app("cascade", "Measure the tiers beyond the rules against labelled trajectories.")


@app.command(name="eval")
def evaluate(
    file: Annotated[Path, option("JSON lines of labelled trajectories, may be gzipped", "FILE")],
    /,
    *,
    json: Annotated[bool, option("print the whole report as JSON")] = False,
) -> int:
    """Measure environment, model, judges and their cascade against labels.

    Gives 2 for a file that can't be read.
    """
    try:
        from lab.evaluation.records import RecordError, read_records
        from lab.evaluation.report import report
    except ImportError as error:
        print(
            f"{error.name}: not installed; wanted an installation with the extra [rm]",
            file=sys.stderr,
        )
        return 2
    try:
        records, unsure = read_records(file)
    except (OSError, EOFError, RecordError) as error:
        print(f"{file}: {error}", file=sys.stderr)
        return 2
    if not records:
        print(f"{file}: no trajectory has a label that decides; wanted some", file=sys.stderr)
        return 2
    found = report(records, unsure)
    if json:
        sys.stdout.buffer.write(orjson.dumps(found, option=orjson.OPT_INDENT_2) + b"\n")
    else:
        print(as_text(found))
    return 0


@app.command
def calibrate(
    file: Annotated[Path, option("lines of judged/1, or labelled trajectories", "FILE")] = NOTHING,
    /,
    *,
    stored: Stored = RECORDINGS_ALONE,
    risk: Annotated[
        float, option(f"of what the judge decides, how much may be wrong (default: {RISK})", "RISK")
    ] = RISK,
    out: Annotated[Path | None, option("where the calibration goes", "FILE")] = None,
    force: Annotated[bool, option("replace --out if it is there")] = False,
) -> int:
    """Find how sure a judge may be: from which support on, in either direction, its errors surely
    stay within a risk.

    Reads a file, or with --stored what people labelled of a service's own episodes. Gives 1 where
    no verdict may decide at this risk, 2 for what can't be read.
    """
    try:
        import lab.evaluation.calibrating  # noqa: F401
    except ImportError as error:
        print(f"{error.name}: not installed; expected the extra [rm]", file=sys.stderr)
        return 2
    problem = None if out is None else why_not_writable(out, force=force)
    if problem is not None:
        print(f"--out {problem}", file=sys.stderr)
        return 2
    return run_guarded(lambda: _calibrate(file, stored, risk, out))


def _calibrate(file: Path, stored: Stored, risk: float, out: Path | None) -> int:
    """Fit the bar above which a judge's verdict decides, print it, and write it to ``out``. Return
    1 where no verdict reaches it. Raises `CorpusUsageError`."""
    from lab.evaluation.calibrating import calibrate as calibrated
    from lab.evaluation.calibrating import check_left_out

    if not 0 < risk < 0.5:
        raise CorpusUsageError(f"--risk: got {risk:g}, expected a share above 0 and below 0.5")
    judged = _read_judged(file, stored)
    if not judged.items:
        where = "--stored" if stored.stored else file
        raise CorpusUsageError(
            f"{where}: no item has both a judge's verdict and a label; expected some"
        )
    found = calibrated(judged.items, risk, judged.model, judged.prompt, judged.data)
    if out is not None:
        found.write(out)
    print("\n".join(_calibration_lines(found, judged, check_left_out(judged.items, risk))))
    decides = [level for level in (*found.success, *found.failure) if level.confidence >= found.bar]
    return 0 if decides else 1


def _read_judged(file: Path, stored: Stored) -> JudgedItems:
    """Read verdicts with labels from the file, or from the database with ``--stored``. Raises
    `CorpusUsageError` for neither and for both."""
    from lab.evaluation.judged import read_items, stored_items
    from lab.evaluation.records import RecordError
    from lab.training.stored import read_words

    if not stored.stored:
        if file == NOTHING:
            raise CorpusUsageError("nothing to read: expected FILE, or --stored")
        try:
            return read_items(file)
        except RecordError as error:
            raise CorpusUsageError(f"{file}: {error}") from None
    if file != NOTHING:
        raise CorpusUsageError(f"--stored: expected no file with it, got {file}")
    chosen = stored.selection(())
    assert chosen is not None
    url = stored.database_url()
    return stored_items(episodes(url, chosen), read_words(url))


def _calibration_lines(
    found: JudgeCalibration, judged: JudgedItems, check: BarCheck
) -> Iterator[str]:
    """Yield the lines of the report: each level of support and whether it decides, then the bar and
    how it does on groups that it was not fitted on."""
    facts = found.facts
    counts = f"{facts['cases']} items of {facts['groups']} groups, {facts['wrong']} wrong"
    yield f"{found.model}: {counts}"
    if judged.others:
        yield f"{judged.others} items of other judges or prompts are left out"
    for name, levels in (("success", found.success), ("failure", found.failure)):
        yield f"{name}: support, items with at least it, wrong ones, confidence (surely right)"
        for level in levels:
            mark = "  decides" if level.confidence >= found.bar else ""
            figures = f"{level.cases:>6} {level.wrong:>6}   {level.confidence:.3f}{mark}"
            yield f"  {level.support:.3f} {figures}"
    yield f"at a risk of {found.risk:g} a verdict needs a confidence of {found.bar:g}"
    interval = "" if check.low is None else f" [{check.low:.3f}, {check.high:.3f}]"
    share = check.wrong / check.decided if check.decided else 0.0
    yield (
        f"fitted without the group, of {check.cases} it decides {check.decided}, {check.wrong} of"
        f" them wrong: {share:.3f}{interval}"
    )
    yield f"calibration {found.digest[:12]}"


def as_text(found: JsonObject) -> str:
    """The report for people: a line a measure, a column a scorer."""
    lines = [
        f"{found['trajectories']} trajectories of {found['groups']} groups,"
        f" {found['successes']} successes; {found['unsure']} without a label that decides are"
        " left out"
    ]
    unknown = read_object(found, "unknown").items()
    lines += [f"{number} with an unknown {field}" for field, number in unknown if number]
    lines += [
        "[95 % interval; one group counts as alike]; accuracy, precision and npv are of what"
        " was decided"
    ]
    for name in read_object(found, "of"):
        scorer = read_object(read_object(found, "of"), name)
        lines += ["", f"{name} ({scorer['trajectories']})"]
        lines += [f"  {title:<26} {line}" for title, line in _lines(scorer)]
    cascade = read_object(read_object(found, "of"), "cascade")
    for name in ("by_length", "by_family"):
        lines += [
            "",
            f"cascade, {name.replace('_', ' ')}",
            *_part_lines(read_object(cascade, name)),
        ]
    return "\n".join(lines)


def _lines(scorer: JsonObject) -> list[tuple[str, str]]:
    """Return a scorer's figures, (title, value with its interval); last the area under the curve of
    the trajectories that terminated."""
    values = read_object(scorer, "all")
    shown = [
        (name.replace("_", " ").replace("at ", "at risk "), _format_values(values[name]))
        for name in HEAD
        if name in values
    ]
    if scorer["terminated"] is not None:
        terminated = read_object(scorer, "terminated")
        title = f"auc, {terminated['trajectories']} terminated"
        shown.append((title, _format_values(terminated["auc"])))
    return shown


def _part_lines(parts: JsonObject) -> Iterator[str]:
    """Yield a line for each part of the trajectories, by its name."""
    for name in parts:
        part = read_object(parts, name)
        figures = ", ".join(f"{title} {_format_values(part[title])}" for title in IN_PARTS)
        yield f"  {name} ({part['trajectories']}): {figures}"


def _format_values(values: JsonValue) -> str:
    """Format [value, low, high] of a measure; a dash where there is no value."""
    value, low, high = require_list(values, "a measure")
    if value is None:
        return "-"
    interval = "" if low is None or high is None else f"  [{low:.3f}, {high:.3f}]"
    return f"{value:.3f}{interval}"
