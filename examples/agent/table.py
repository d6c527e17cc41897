"""What came out of the runs, in figures."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.agent.kinds import FIGURES, KINDS

WINDOW = 4
"""Updates over which the success of training is averaged."""
WINDOW_EPISODES = 96
"""The episodes of `WINDOW` updates."""
THRESHOLDS = (0.25, 0.5, 0.75)
Z = 1.96


@dataclass(frozen=True)
class RunLog:
    """The lines of a run, and whether it came to its end. ``alarms``: of docs/health.md, by name;
    None where nobody asked yet."""

    kind: str
    seed: int
    lines: Sequence[Mapping[str, Any]]
    is_done: bool
    alarms: Sequence[str] | None

    @property
    def updates(self) -> list[Mapping[str, Any]]:
        """Return the lines of the updates."""
        return [line for line in self.lines if "steps" in line]

    @property
    def steps(self) -> int:
        """Return the environment steps of all updates."""
        return sum(line["steps"] for line in self.updates)

    def curve(self) -> list[tuple[int, float]]:
        """Return environment steps and the success of the episodes of the last updates up to
        there."""
        points: list[tuple[int, float]] = []
        steps = 0
        for at, line in enumerate(self.updates, 1):
            steps += line["steps"]
            if at >= WINDOW:
                points.append((steps, success(self.updates[at - WINDOW : at])))
        return points

    def reached(self, share: float) -> int | None:
        """Return the environment steps after which the success was ``share``; None: never."""
        return next((steps for steps, won in self.curve() if won >= share), None)

    def unseen(self, name: str) -> Mapping[str, Any] | None:
        """Return the last evaluation of that name, where it was done: a run may have gone on."""
        found = [line for line in self.lines if line.get("evaluation") == name]
        return found[-1] if found else None

    def reward_of_episode(self) -> tuple[float, float]:
        """Return the mean reward of an episode in the first and in the last ten updates; what is
        not known is left out."""
        return _paid(self.updates[:10]), _paid(self.updates[-10:])

    def steps_of_success(self) -> tuple[float | None, float | None]:
        """Return the steps of a success at the start and at the end of training."""
        return _steps_of_won(self.updates[:10]), _steps_of_won(self.updates[-10:])


def success(updates: Sequence[Mapping[str, Any]]) -> float:
    """Return the share of the episodes, of those whose end is known, that reached the goal."""
    known = sum(line["known"] for line in updates)
    return sum(line["won"] for line in updates) / known if known else math.nan


def _paid(updates: Sequence[Mapping[str, Any]]) -> float:
    episodes = sum(line["episodes"] for line in updates)
    return sum(line["total"] for line in updates) / episodes if episodes else math.nan


def _steps_of_won(updates: Sequence[Mapping[str, Any]]) -> float | None:
    won = sum(line["won"] for line in updates)
    return sum(line["steps_of_won"] for line in updates) / won if won else None


def interval(won: int, number: int) -> tuple[float, float]:
    """Return Wilson's interval of a share, at 95 %."""
    share, z = won / number, Z * Z / number
    middle = (share + z / 2) / (1 + z)
    half = Z * math.sqrt(share * (1 - share) / number + z / (4 * number)) / (1 + z)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def pooled_curve(runs: Sequence[RunLog]) -> list[tuple[float, float, float]]:
    """Return the mean environment steps, and Wilson's interval of the success of the last updates,
    of all ``runs`` together; it ends with the shortest of them."""
    points = []
    for at in range(WINDOW, min(len(run.updates) for run in runs) + 1):
        steps = statistics.fmean(sum(line["steps"] for line in run.updates[:at]) for run in runs)
        last = [line for run in runs for line in run.updates[at - WINDOW : at]]
        won, known = (sum(line[key] for line in last) for key in ("won", "known"))
        if known:
            points.append((steps, *interval(won, known)))
    return points


def read_runs(folder: Path) -> list[RunLog]:
    """Return the runs of a folder, whole or not."""
    found = []
    for log in sorted(folder.glob("*-*/log.jsonl")):
        kind, seed = log.parent.name.rsplit("-", 1)
        text = log.read_text().splitlines(True)
        lines = [json.loads(line) for line in text if line.endswith("\n")]
        health = log.with_name("health.json")
        alarms = _alarms(json.loads(health.read_text())) if health.exists() else None
        found.append(RunLog(kind, int(seed), lines, log.with_name("done").exists(), alarms))
    return sorted(found, key=lambda run: (KINDS.index(run.kind), run.seed))


def _alarms(health: Mapping[str, Any]) -> list[str]:
    return [alarm["name"] for alarm in health["alarms"]]


def describe_start(folder: Path) -> str:
    """Return how the model that the runs of a folder began with does demonstrations; nothing where
    the folder has no such figures."""
    path = folder / "start" / FIGURES
    if not path.exists():
        return ""
    figures = json.loads(path.read_text())
    able, clumsy = figures["able"], figures["clumsy"]
    return (
        f"the start, by {clumsy['demos']} demonstrations that it was not trained on: before it was made"
        f" clumsy, the likeliest action is right in {able['right']:.0%}; after, in"
        f" {clumsy['right']:.0%}, an action that is drawn is right in {clumsy['sampled']:.0%}, and all of"
        f" a demonstration in {clumsy['whole']:.2%}"
    )


def table(runs: Sequence[RunLog]) -> str:
    """Return the results as tables for Markdown: a row a run, then a row a kind."""
    heads = [f"steps to {share:.0%}" for share in THRESHOLDS]
    columns = ["reward", "seed", "steps", *heads, "unseen at the start", "unseen at the end"]
    columns += ["steps a success", "reward an episode", "alarms"]
    rows = [_row(run) for run in runs]
    lines = [columns, ["---"] * len(columns), *rows]
    whole = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    evaluated = "\n".join(_evaluations(run) for run in runs)
    return f"{whole}\n\n{evaluated}\n\n{_kinds(runs)}"


def _evaluations(run: RunLog) -> str:
    """Return a run's success on unseen instances, each time that it was evaluated: a run that went on
    was evaluated in between."""
    found = [
        f"{_share(line)} of {line['unseen']} unseen after {line['after']:,} steps"
        f" ({', '.join(f'{family} {won}' for family, won in line['families'].items())})"
        for line in run.lines
        if "evaluation" in line
    ]
    return f"{run.kind}, seed {run.seed}: " + ("; ".join(found) or "not evaluated")


def _row(run: RunLog) -> list[str]:
    before, after = run.steps_of_success()
    return [
        run.kind,
        str(run.seed),
        f"{run.steps:,}" + ("" if run.is_done else " (cut off)"),
        *(_steps(run.reached(share), run.steps) for share in THRESHOLDS),
        _share(run.unseen("start")),
        _share(run.unseen("end")),
        f"{_number(before)} → {_number(after)}",
        " → ".join(f"{paid:.2f}" for paid in run.reward_of_episode()),
        "not asked" if run.alarms is None else ", ".join(run.alarms) or "none",
    ]


def _number(value: float | None) -> str:
    return "no success" if value is None else f"{value:.2f}"


def _steps(steps: int | None, most: int) -> str:
    return f"> {most:,}" if steps is None else f"{steps:,}"


def _share(line: Mapping[str, Any] | None) -> str:
    if line is None:
        return "not run"
    low, high = interval(line["unseen_won"], line["unseen"])
    return f"{line['unseen_won'] / line['unseen']:.0%} ({low:.0%} to {high:.0%})"


def _kinds(runs: Sequence[RunLog]) -> str:
    lines = []
    for kind in KINDS:
        mine = [run for run in runs if run.kind == kind and run.unseen("end")]
        if mine:
            lines.append(f"{kind}: {len(mine)} runs; {_pooled(mine)}")
    best = [
        max(won for _, won in run.curve()) for run in runs if run.kind == "sparse" and run.curve()
    ]
    if best:
        share = statistics.median(best)
        lines.append(f"the median sparse run's best success in training is {share:.0%};")
        lines.append("reached after " + "; ".join(_reached(runs, kind, share) for kind in KINDS))
    return "\n".join(lines)


def _reached(runs: Sequence[RunLog], kind: str, share: float) -> str:
    steps = [_steps(run.reached(share), run.steps) for run in runs if run.kind == kind]
    return f"{kind}: {', '.join(steps) or 'no run'} steps"


def _pooled(runs: Sequence[RunLog]) -> str:
    parts = []
    for name in ("start", "end"):
        found = [one for one in (run.unseen(name) for run in runs) if one is not None]
        pooled = {key: sum(one[key] for one in found) for key in ("unseen", "unseen_won")}
        parts.append(f"{name} {_share(pooled)} of {pooled['unseen']} unseen episodes")
    return ", ".join(parts)
