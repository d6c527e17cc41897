"""`python -m benchmarks.builtin DESKTOP BROWSER SCENES`: train the model that is in the package, and say
how good it is.

DESKTOP, BROWSER and SCENES are folders that `benchmarks.desktop.record`, `benchmarks.miniwob.record` and
`benchmarks.scenes.record` made. A third of the programs of DESKTOP, and a third of the families of
pages of BROWSER, is kept: nothing is trained, calibrated or chosen on it. What the package's model
kept before stays kept, and what it was trained on can't be kept any more: of the groups that are new a third is kept, by a hash of
their names. Of SCENES nothing is kept: `benchmarks.unseen` has other scenes of that kind. Without ``--last-look`` only
groups of training are left out in turn and measured. With it the kept third is measured once, by the
model that goes into the package, and its figures stand in the model's card and, with ``--write``, in
api/stages/model/builtin.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from api.stages.model.folder import BUILTIN, Model, save
from lab.training.evaluating import Case, Measured, cases_of, levels_left_out, report
from lab.training.pairing import preferences_of
from lab.training.preferences import LabelledOutcome, PreferenceSet, read_preferences
from lab.training.training import Learner

RISK = 0.05
WIDER = 0.15
"""A risk at which more pages are answered."""
RISKS = ((RISK, ""), (WIDER, f", at a risk of {WIDER:.0%}"))
"""Each risk at which is measured, with what its figures are called."""
MEASURED = (Measured("env"), Measured("rule", "step"))
"""What the environment said of an episode, and the rules of each step of a success: whether it
earned a milestone."""
KEPT = 3
"""One group of so many is kept for the last look, about."""
FIGURES = (
    "cases", "successes", "groups", "auroc", "auroc_length", "pair_accuracy", "ece", "coverage",
    "risk", "success_precision", "failure_precision", "conformal_coverage",
)  # fmt: skip
NOT_FOR = (
    "No reward of an episode that nothing else scores: it ranks, and answers where it is sure.",
    "No proof of success: where a rule or a person can decide, they do.",
    "No task whose result must be worked out (sums, order, pictures): it can't know it.",
    "No answers about pages of another kind than those of training: last_look.json.",
    "No policy trained on it alone: a policy that is optimised against it finds what it can't see.",
)
BLIND = (
    "What a page sent, where no rule of the task reads the bodies of its requests, but for forms.",
    "Canvases, games and terminals without accessibility, but for the hash of their picture.",
    "What a program keeps in memory alone, and files outside the observed folders.",
    "What must be worked out: a sum, an order, a date, a count, a shape.",
)
"""What the features do not see."""


class FormerChoice(NamedTuple):
    """The groups that the model in the package kept, and those that it was trained on."""

    kept: frozenset[str]
    trained: frozenset[str]


def read_former(folder: Path = BUILTIN) -> FormerChoice:
    """Read the former choice from a model's card; an empty one where there is no model."""
    file = folder / "card.json"
    card = orjson.loads(file.read_bytes()) if file.exists() else {}
    kept = frozenset(group for part in card.get("kept", {}).values() for group in part)
    return FormerChoice(kept, frozenset(card.get("groups", ())) - kept)


def kept_groups(groups: Iterable[str], former: FormerChoice) -> set[str]:
    """Those that were kept, and of the new ones those whose sha256 is a multiple of `KEPT`: chosen
    by no one, and whatever other groups there are."""
    return {
        group
        for group in groups
        if group in former.kept or (group not in former.trained and _is_drawn(group))
    }


def _is_drawn(group: str) -> bool:
    return int.from_bytes(hashlib.sha256(group.encode()).digest()) % KEPT == 0


def main(argv: list[str]) -> int:
    """Train and measure; prints a figure a line."""
    parser = argparse.ArgumentParser(
        "benchmarks.builtin", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("desktop", type=Path)
    parser.add_argument("browser", type=Path)
    parser.add_argument("scenes", type=Path)
    parser.add_argument("--last-look", action="store_true", help="measure the kept third, once")
    parser.add_argument("--write", action="store_true", help="write the model into the package")
    given = parser.parse_args(argv)
    parts = {
        "desktop": preferences_of_index(given.desktop / "episodes.jsonl"),
        "browser": preferences_of_index(given.browser / "episodes.jsonl"),
        "scenes": preferences_of_index(given.scenes / "episodes.jsonl"),
    }
    former = read_former()
    kept = {name: kept_groups(_groups(parts[name]), former) for name in ("desktop", "browser")}
    gone = set().union(*kept.values())
    both = _joined(list(parts.values()))
    learner = Learner(_without(both, gone))
    measured_of = _find_measured(parts, _ids_of(given.browser / "events.jsonl"))
    cases = [case for level in levels_left_out(learner, RISK, MEASURED) for case in level]
    figures = report_parts(measured_of, cases, "left out in turn", RISK)
    model = learner.model("builtin", {})
    if given.last_look:
        table = Learner(both)
        for risk, suffix in RISKS:
            cases = [case for one in MEASURED for case in cases_of(table, model, gone, risk, one)]
            kept_parts = {name: ids for name, ids in measured_of.items() if "scenes" not in name}
            figures |= report_parts(kept_parts, cases, f"kept{suffix}", risk)
    print_figures(figures)
    if given.write:
        _write(model, figures, kept, parts)
    return 0


def preferences_of_index(index: Path) -> PreferenceSet:
    """The preferences of recordings, written beside their index."""
    file = index.with_suffix(".pref.jsonl")
    file.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in preferences_of(index)))
    return read_preferences([file])


def _find_measured(parts: dict[str, PreferenceSet], seen: set[str]) -> dict[str, set[str]]:
    """What is measured, by its name in the card: ids of outcomes. ``seen``: those of pages that
    observed events decide."""
    found = {name: measured_ids(part, MEASURED[0]) for name, part in parts.items()}
    browser = found["browser"]
    found |= {"browser, seen": browser & seen, "browser, probed": browser - seen}
    steps = {f"{name}, steps": measured_ids(part, MEASURED[1]) for name, part in parts.items()}
    found |= steps
    pages = {one.id for one in parts["scenes"].outcomes if is_scene_page(one.trajectory.group)}
    for name in ("scenes", "scenes, steps"):
        ids = found.pop(name)
        found |= {f"{name}, pages": ids & pages, f"{name}, programs": ids - pages}
    return found


def is_scene_page(group: str) -> bool:
    """Whether a group of SCENES is a page; the others are programs and commands."""
    return group.startswith("scenes/")


def report_parts(
    measured_of: dict[str, set[str]], cases: Sequence[Case], where: str, risk: float
) -> dict[str, Any]:
    """The figures of each part of the cases."""
    return {
        f"{name}, {where}": report([case for case in cases if case.id in ids], risk)
        for name, ids in measured_of.items()
    }


def measured_ids(part: PreferenceSet, measured: Measured) -> set[str]:
    """The outcomes that are measured."""
    return {one.id for one in part.outcomes if (one.source, one.level) == measured}


def _ids_of(index: Path) -> set[str]:
    """The same of the episodes of an index."""
    return {f"{orjson.loads(line)['id']}/env" for line in index.read_bytes().splitlines()}


def _groups(part: PreferenceSet) -> list[str]:
    return [one.trajectory.group for one in part.outcomes]


def _joined(parts: Sequence[PreferenceSet]) -> PreferenceSet:
    return PreferenceSet(
        tuple(pair for part in parts for pair in part.pairs),
        tuple(one for part in parts for one in part.outcomes),
        hashlib.sha256("".join(part.digest for part in parts).encode()).hexdigest(),
        tuple(file for part in parts for file in part.files),
    )


def _without(both: PreferenceSet, gone: set[str]) -> PreferenceSet:
    """The preferences of which no side is in a group of ``gone``."""
    pairs = [p for p in both.pairs if gone.isdisjoint((p.chosen.group, p.rejected.group))]
    outcomes = [one for one in both.outcomes if one.trajectory.group not in gone]
    return PreferenceSet(tuple(pairs), tuple(outcomes), both.digest, both.files)


def print_figures(figures: dict[str, Any]) -> None:
    for name, part in figures.items():
        print(name)
        for figure in FIGURES:
            print(f"    {figure:20} {_format_figure(part[figure])}")


def _format_figure(value: Any) -> str:
    if isinstance(value, list):
        return f"{value[0]:.3f}  [{value[1]:.3f}, {value[2]:.3f}]"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _write(
    model: Model,
    figures: dict[str, Any],
    kept: dict[str, set[str]],
    parts: dict[str, PreferenceSet],
) -> None:
    """Replace the model of the package; its card has data, groups left out, figures, and limits."""
    card = dict(model.card)
    card["data"] = {
        "digest": card["data"]["digest"],
        "files": [],
        "pairs": card["data"]["pairs"],
        "recordings": {
            name: len(set(map(_recording, part.outcomes))) for name, part in parts.items()
        },
        "made by": [
            f"python -m benchmarks.{name}.record" for name in ("desktop", "miniwob", "scenes")
        ],
    }
    card["kept"] = {name: sorted(groups) for name, groups in kept.items()}
    card["figures"] = {
        name: {figure: plain_figure(part[figure]) for figure in FIGURES}
        for name, part in figures.items()
    }
    card["not for"] = list(NOT_FOR)
    card["blind"] = list(BLIND)
    shutil.rmtree(BUILTIN, ignore_errors=True)
    whole = Model(
        model.name,
        "",
        model.heads,
        model.weights,
        model.scales,
        model.known,
        model.calibration,
        card,
    )
    digest = save(BUILTIN, whole)
    size = sum(file.stat().st_size for file in BUILTIN.iterdir())
    print(f"{BUILTIN.name}: {digest[:12]}, {size:,} bytes")


def _recording(one: LabelledOutcome) -> Path:
    return one.trajectory.recording


def plain_figure(value: Any) -> Any:
    """A figure as JSON has it: three digits, null for what can't be said."""
    if isinstance(value, list):
        return [plain_figure(one) for one in value]
    if isinstance(value, float):
        return None if np.isnan(value) else round(value, 3)
    return value


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
