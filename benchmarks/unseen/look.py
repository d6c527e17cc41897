"""`python -m benchmarks.unseen.look OUT`: say how good the package's model is on the recordings of
`benchmarks.unseen.record`, once.

The model is the one in the package, as it is: nothing is trained, calibrated or chosen. Recordings of
a group that the model was trained on, or that it was measured on before, are refused. The figures are
printed and written beside the model, into ``last_look.json``, with the model's digest and with the kinds
of cases of which surely more answers were wrong than stated: the service answers none of these. A second look
at the same model is refused there, unless it is written somewhere else.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from api.stages.model.calibration import CaseKind
from api.stages.model.folder import BUILTIN, Model, load
from api.stages.model.folder import LOOK as NAME
from benchmarks.builtin import (
    BLIND,
    FIGURES,
    MEASURED,
    NOT_FOR,
    RISKS,
    measured_ids,
    plain_figure,
    preferences_of_index,
    print_figures,
    read_former,
    report_parts,
)  # fmt: skip
from benchmarks.unseen import commands
from benchmarks.unseen.record import PAGES
from lab.evaluation.intervals import share_interval
from lab.training.evaluating import Case, cases_of
from lab.training.preferences import LabelledOutcome, PreferenceSet
from lab.training.training import Learner

LOOK = BUILTIN / NAME
MADE_BY = ("python -m benchmarks.unseen.record OUT", "python -m benchmarks.unseen.look OUT")
STEPS_FOR = (
    "a potential for shaping, which leaves the best policy as it is whatever the scores say; as"
    " chances of success they are no better than their calibration error below"
)


class LookResult(NamedTuple):
    """The figures of each part, and of each level the kinds of cases that were refuted."""

    figures: dict[str, Any]
    refuted: dict[str, list[str]]


class LookError(ValueError):
    """What was recorded, or was looked at, can't be looked at for the first time."""


def main(argv: list[str]) -> int:
    """Measure, print a figure a line, and write them."""
    parser = argparse.ArgumentParser(
        "benchmarks.unseen.look", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--into", type=Path, default=LOOK, help="where the figures are written")
    given = parser.parse_args(argv)
    model = load(BUILTIN)
    try:
        must_be_first(given.into, model.digest)
        preferences = preferences_of_index(given.out / "episodes.jsonl")
        groups = {one.trajectory.group for one in preferences.outcomes}
        must_be_unseen(groups)
    except LookError as error:
        print(error, file=sys.stderr)
        return 2
    result = measure(model, preferences, groups)
    print_figures(result.figures)
    print(f"refuted: {result.refuted}")
    given.into.write_bytes(
        orjson.dumps(_describe(model, preferences, groups, result), option=orjson.OPT_INDENT_2)
    )
    return 0


def must_be_first(file: Path, digest: str) -> None:
    """Raise `LookError` where the figures of this model were written before."""
    if file.exists() and orjson.loads(file.read_bytes())["model"] == digest:
        raise LookError(f"{file}: has the look at model {digest[:12]}; a model is looked at once")


def must_be_unseen(groups: set[str]) -> None:
    """Raise `LookError` for groups that the package's model was trained on, or that were kept."""
    former = read_former()
    if known := sorted(groups & (former.kept | former.trained)):
        raise LookError(f"groups that the model's card names: {', '.join(known)[:200]}")


def measure(model: Model, preferences: PreferenceSet, groups: set[str]) -> LookResult:
    """Measure programs, commands and pages, their episodes and their steps."""
    learner = Learner(preferences)
    parts = _find_parts(preferences)
    figures: dict[str, Any] = {}
    refuted: dict[str, set[str]] = {level.level: set() for level in MEASURED}
    for risk, suffix in RISKS:
        by_level = {one.level: cases_of(learner, model, groups, risk, one) for one in MEASURED}
        for level, cases in by_level.items():
            refuted[level] |= find_refuted(cases, risk)
        cases = [case for some in by_level.values() for case in some]
        found = report_parts(parts, cases, f"never seen{suffix}", risk)
        for name, ids in parts.items():
            chosen = [case for case in cases if case.id in ids]
            found[f"{name}, never seen{suffix}"] |= count_errors(chosen)
        figures |= found
    return LookResult(figures, {level: sorted(kinds) for level, kinds in refuted.items()})


def find_refuted(cases: Sequence[Case], risk: float) -> set[str]:
    """Return the kinds of cases of which surely more answers were wrong than stated: the interval of
    their share lies above the risk."""
    refuted = set()
    for kind in CaseKind:
        errors = count_errors([case for case in cases if case.kind is kind])
        if errors["answered"] and errors["wrong_interval"][0] > risk:
            refuted.add(kind.name.lower())
    return refuted


def count_errors(cases: Sequence[Case]) -> dict[str, Any]:
    """How many cases were answered, how many of them wrong, and the interval of that share, which is
    also one where none is wrong: groups are drawn, not cases."""
    answered = [case for case in cases if case.answers is not None]
    wrong = np.asarray([case.answers != case.success for case in answered], np.bool_)
    group = np.unique([case.group for case in answered], return_inverse=True)[1]
    return {
        "answered": len(answered),
        "wrong": int(wrong.sum()),
        "wrong_interval": list(share_interval(wrong, np.asarray(group, np.int64))),
    }


def _find_parts(preferences: PreferenceSet) -> dict[str, set[str]]:
    """What is measured, by its name: ids of outcomes."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, level in (("", MEASURED[0]), (", steps", MEASURED[1])):
        ids = measured_ids(preferences, level)
        for one in preferences.outcomes:
            for part in _parts_of(one) if one.id in ids else ():
                found[part + name].add(one.id)
    return found


def _parts_of(one: LabelledOutcome) -> tuple[str, ...]:
    """The parts that an outcome counts in: programs and commands are both of the desktop."""
    group = one.trajectory.group
    if group in PAGES:
        return ("pages",)
    return ("desktop", "commands" if group in commands.KINDS else "programs")


def _describe(
    model: Model, preferences: PreferenceSet, groups: set[str], result: LookResult
) -> dict[str, Any]:
    """What stands in the file: which model, on which recordings, with what came out."""
    names = (*FIGURES, "answered", "wrong", "wrong_interval")
    return {
        "model": model.digest,
        "made by": list(MADE_BY),
        "recordings": len({one.trajectory.recording for one in preferences.outcomes}),
        "digest": preferences.digest,
        "groups": sorted(groups),
        "not for": list(NOT_FOR),
        "blind": list(BLIND),
        "steps are for": STEPS_FOR,
        "refuted": result.refuted,
        "figures": {
            name: {figure: plain_figure(part[figure]) for figure in names}
            for name, part in result.figures.items()
        },
    }


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
