"""`milestoned cascade`: how good the tiers and their cascade are on trajectories that people
labelled."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import orjson

from common.command_line import new_app, option
from detectors.model.json_value import JsonObject, JsonValue, read_object, require_list

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
    for name in parts:
        part = read_object(parts, name)
        figures = ", ".join(f"{title} {_format_values(part[title])}" for title in IN_PARTS)
        yield f"  {name} ({part['trajectories']}): {figures}"


def _format_values(values: JsonValue) -> str:
    value, low, high = require_list(values, "a measure")
    if value is None:
        return "-"
    interval = "" if low is None or high is None else f"  [{low:.3f}, {high:.3f}]"
    return f"{value:.3f}{interval}"
