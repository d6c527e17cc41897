"""Whether what was paid holds: compared with what the same steps are worth without a fault."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.fleet.containers.cluster import Cluster

Worth = Sequence[Mapping[str, float]]
"""What each step is worth without a fault: its milestones, and what each pays."""
FINAL = {"sealed", "unobserved", "unscored"}
COLLECT_S = 400.0
TINY = 1e-9


class Counted(NamedTuple):
    """How the steps of some episodes ended."""

    episodes: int
    paid_in_full: int
    steps: int
    null: int


def lines(processes: Iterable[subprocess.Popen[str]], timeout_s: float) -> list[dict[str, Any]]:
    """What the processes wrote, a JSON line an episode; each must have ended well."""
    found = []
    for process in processes:
        said, _ = process.communicate(timeout=timeout_s)
        assert process.returncode == 0, said[-2_000:]
        found += [json.loads(line) for line in said.splitlines()]
    return found


def collected(cluster: Cluster, notes: Sequence[Mapping[str, Any]], folder: Path) -> dict[str, Any]:
    """Every episode that was opened, as the service has it in the end."""
    names = folder / "episodes"
    names.write_text("\n".join(note["episode"] for note in notes if note["episode"]))
    asked = cluster.trainers("collect", "--episodes-file", str(names))
    return {one["episode"]: one for one in lines([asked], COLLECT_S)}


def broken(
    worth: Worth, notes: Sequence[Mapping[str, Any]], finals: Mapping[str, Any]
) -> list[str]:
    """Every way in which a law does not hold, as a sentence; ``worth``: of each step, without a
    fault."""
    found = []
    for note in notes:
        if note["episode"] is None:
            continue
        name = note["episode"]
        if name not in finals:
            found.append(f"{name} is lost")
            continue
        differences = (
            *_unlike_what_was_read(note, finals[name]),
            *_wrongly_paid(worth, finals[name]),
        )
        found += [f"{name} {one}" for one in differences]
    return found


def _unlike_what_was_read(note: Mapping[str, Any], final: Mapping[str, Any]) -> Iterable[str]:
    """What was final when the trainer read it, and is otherwise now; and what never became final."""
    if final["status"] != "closed":
        yield f"does not end: {final['status']}"
    ends = {one["step"]: (one["status"], one["reward"]) for one in final["final"]}
    for step, (status, _) in ends.items():
        if status not in FINAL:
            yield f"step {step} is {status} for ever"
    for step, status, reward in note["read"]:
        if step not in ends:
            yield f"step {step} was {status}, and is not in the log"
        elif status in FINAL and (status, reward) != ends[step]:
            yield f"step {step} was {status} with {reward}, and is now {ends[step]}"


def _wrongly_paid(worth: Worth, final: Mapping[str, Any]) -> Iterable[str]:
    """Each step with a reward pays what it pays without a fault. It may pay what an earlier step
    without a reward did not have: what is told after a step's seal counts in the step in which it
    is told (docs/rewards.md)."""
    late: defaultdict[str, float] = defaultdict(float)
    for one in final["final"]:
        step, reward, paid = one["step"], one["reward"], one["milestones"]
        own = worth[step] if step < len(worth) else {}
        more = {name: paid.get(name, 0.0) - own.get(name, 0.0) for name in {*own, *paid}}
        if reward is not None and not _is_due(reward, paid, more, late):
            yield f"step {step} was paid {reward} for {paid}, which is for {own} without a fault"
        for name, value in more.items():
            late[name] -= value


def _is_due(
    reward: float, paid: Mapping[str, float], more: Mapping[str, float], late: Mapping[str, float]
) -> bool:
    """Whether a reward is that of its milestones, and what is ``more`` than a step's own is late."""
    from_late = all(-TINY <= value <= late[name] + TINY for name, value in more.items())
    return from_late and abs(reward - sum(paid.values())) < TINY


def counted(worth: Worth, finals: Mapping[str, Any]) -> Counted:
    """How many were paid in full, and how many steps have no reward."""
    most = sum(sum(step.values()) for step in worth)
    full = [
        one
        for one in finals.values()
        if one["total"] is not None and abs(one["total"] - most) < TINY
    ]
    steps = [step["reward"] for one in finals.values() for step in one["final"]]
    return Counted(len(finals), len(full), len(steps), steps.count(None))
