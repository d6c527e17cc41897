"""The table of pages: by how many scripted runs goal and page agree."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from detectors.model.json_value import JsonValue, is_number, object_or_empty
from lab.benchmarks.base import BadSourceError, CoverageTable
from lab.benchmarks.miniwob.registry import GENERATORS, UNOBSERVABLE

NEAR = 0.026
"""How far the goal's credit may be from the page's reward: half a twentieth, for pages that pay any
part of 1."""
WHOLE = 1 - 1e-6


def agrees(raw: float, credit: float | None, success: JsonValue) -> bool:
    """Whether the goal's credit, of 1, is what the page paid, and success said where the credit is
    whole; a credit that is unknown agrees with nothing."""
    if credit is None:
        return False
    return abs(credit - max(0.0, raw)) <= NEAR and success is (credit >= WHOLE)


class ScriptedRun(NamedTuple):
    """One run of a script: its ``way``, the page's reward, the goal's credit (None: unknown), and
    whether success was said."""

    way: str
    raw: float
    credit: float | None
    success: JsonValue

    @classmethod
    def from_json(cls, value: JsonValue, where: str) -> ScriptedRun:
        """Read one run. Raises `BadSourceError` that names ``where`` it stands."""
        if not isinstance(value, dict) or not {"way", "raw", "credit", "success"} <= value.keys():
            wanted = "an object with way, raw, credit and success"
            raise BadSourceError(f"{where}: got {value!r:.80}, wanted {wanted}")
        raw, credit = value["raw"], value["credit"]
        if not is_number(raw) or not (credit is None or is_number(credit)):
            raise BadSourceError(
                f"{where}: got raw {raw!r:.40}, credit {credit!r:.40}, wanted numbers"
            )
        return cls(str(value["way"]), raw, credit, value["success"])

    @property
    def agrees(self) -> bool:
        """Whether goal and page agree on this run."""
        return agrees(self.raw, self.credit, self.success)


class InstanceLine(NamedTuple):
    """What a source says of one instance; ``steps`` is None where it says nothing of them."""

    page: str
    seed: str
    steps: int | None
    runs: Sequence[ScriptedRun]

    @classmethod
    def from_json(cls, line: JsonValue) -> InstanceLine:
        """Read one line. Raises `BadSourceError` for what can't be counted."""
        about = object_or_empty(line)
        page = about.get("page")
        if not isinstance(page, str):
            wanted = "an object with page, and runs if there are any"
            raise BadSourceError(f"got {line!r:.80}, wanted {wanted}")
        steps = about.get("steps")
        listed = about.get("steps", [])
        runs = about.get("runs", [])
        if not isinstance(listed, list) or not isinstance(runs, list):
            raise BadSourceError("steps, runs: wanted lists")
        return cls(
            page,
            str(about.get("seed")),
            None if steps is None else len(listed),
            [ScriptedRun.from_json(run, f"runs[{n}]") for n, run in enumerate(runs)],
        )

    @property
    def agrees(self) -> bool:
        """Whether there are runs, and all of them agree."""
        return bool(self.runs) and all(run.agrees for run in self.runs)


def table(lines: Sequence[InstanceLine]) -> CoverageTable:
    """One row a page that is known here; the last line of an instance counts."""
    by_instance = {(line.page, line.seed): line for line in lines}
    by_page: dict[str, list[InstanceLine]] = defaultdict(list)
    agreeing: Counter[str] = Counter()
    for line in by_instance.values():
        by_page[line.page].append(line)
        agreeing[line.seed] += line.agrees
    names = sorted(GENERATORS.keys() | UNOBSERVABLE.keys())
    whole = sum(all(line.agrees for line in page) for page in by_page.values())
    counts = ", ".join(f"{count} of seed {seed}" for seed, count in sorted(agreeing.items()))
    not_run = len(names) - len(by_page) - len(UNOBSERVABLE)
    note = (
        f"{len(names)} pages: {whole} agree on every run of every instance ({counts}),"
        f" {len(UNOBSERVABLE)} are unobservable, {not_run} were not run."
    )
    return CoverageTable(
        "MiniWoB++",
        ("page", "runs that agree", "steps before the goal", "why not"),
        [_row(name, by_page.get(name, [])) for name in names],
        (note,),
    )


def _row(name: str, lines: Sequence[InstanceLine]) -> tuple[object, ...]:
    """A page's cells: its name, how many runs agree, the steps before its goal, and why not."""
    if name in UNOBSERVABLE:
        return name, "unobservable", "", UNOBSERVABLE[name]
    runs = [run for line in lines for run in line.runs]
    agreement = "not run"
    if runs:
        agreeing = sum(run.agrees for run in runs)
        agreement = f"{agreeing} of {len(runs)}"
    counts = sorted({line.steps for line in lines if line.steps is not None})
    ends = dict.fromkeys([*counts[:1], *counts[-1:]])
    return (
        name,
        agreement,
        " to ".join(map(str, ends)),
        "; ".join(_differences(lines)),
    )


def _differences(lines: Sequence[InstanceLine]) -> Iterator[str]:
    """Say of each run on which goal and page don't agree what both paid."""
    for line in lines:
        for run in line.runs:
            if not run.agrees:
                where = f"seed {line.seed}, {run.way}"
                yield f"{where}: page {run.raw:.2f}, goal {run.credit}"
