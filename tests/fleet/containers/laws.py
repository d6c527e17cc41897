"""Whether what was paid holds: compared with what the same steps are worth without a fault."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.fleet.containers.cluster import Cluster

FINAL = {"sealed", "unobserved", "unscored"}
COLLECT_S = 400.0


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
    worth: Sequence[float], notes: Sequence[Mapping[str, Any]], finals: Mapping[str, Any]
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
        found += [f"{name} {one}" for one in _broken(worth, note, finals[name])]
    return found


def _broken(
    worth: Sequence[float], note: Mapping[str, Any], final: Mapping[str, Any]
) -> Iterable[str]:
    if final["status"] != "closed":
        yield f"does not end: {final['status']}"
    ends = {step: (status, reward) for step, status, reward, _ in final["final"]}
    for step, (status, reward) in ends.items():
        if status not in FINAL:
            yield f"step {step} is {status} for ever"
        if reward is not None and abs(reward - worth[step]) > 1e-9:
            yield f"step {step} was paid {reward}, which is {worth[step]} without a fault"
    for step, status, reward in note["read"]:
        if step not in ends:
            yield f"step {step} was {status}, and is not in the log"
        elif status in FINAL and (status, reward) != ends[step]:
            yield f"step {step} was {status} with {reward}, and is now {ends[step]}"


def counted(worth: Sequence[float], finals: Mapping[str, Any]) -> Counted:
    """How many were paid in full, and how many steps have no reward."""
    full = [
        one
        for one in finals.values()
        if one["total"] is not None and abs(one["total"] - sum(worth)) < 1e-9
    ]
    steps = [reward for one in finals.values() for _, _, reward, _ in one["final"]]
    return Counted(len(finals), len(full), len(steps), steps.count(None))
