"""WebArena-Verified's tasks: what its evaluators ask of an answer and of the network, as
milestones.

All of its checks together are the goal, as in its all-or-nothing score; each check by itself is a
step, and so is the request that reaches the right place with something else in it. The answer is
asked for last and weighs little where something is to be done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from api.core.regular_file import read_regular
from lab.benchmarks.base import BadSourceError, CoverageTable, Imported
from lab.benchmarks.verified_checks import check, unwanted
from lab.benchmarks.verified_forms import drafted, is_draft
from lab.benchmarks.verified_sites import Sites
from lab.benchmarks.verified_values import answer

NAME = "webarena-verified.json"
SITES = {
    "shopping": "http://localhost:7770",
    "shopping_admin": "http://localhost:7780/admin",
    "reddit": "http://localhost:9999",
    "gitlab": "http://localhost:8023",
    "wikipedia": "http://localhost:8888",
    "map": "http://localhost:3000",
}
"""Where WebArena's own instructions serve its sites."""
_HALF, _TENTH = 0.5, 0.1


def tasks(source: Path, sites: Mapping[str, str]) -> Iterator[Imported]:
    """One task each, in the file's order. Raises `BadSourceError`, `OSError`."""
    places = Sites({**SITES, **sites})
    for n, one in enumerate(_dataset(source)):
        where = f"task {one.get('task_id', f'at {n}')}"
        try:
            yield _imported(one, places)
        except BadSourceError as error:
            raise BadSourceError(f"{where}: {error}") from None
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            wanted = "task_id, sites, intent, and eval as WebArena-Verified has them"
            raise BadSourceError(
                f"{where}: {type(error).__name__} {error}; wanted {wanted}"
            ) from None


def coverage(source: Path) -> CoverageTable:
    """One line a kind of task. Raises as `tasks`."""
    rows: dict[str, Counter[str]] = {}
    for one, made in zip(_dataset(source), tasks(source, {}), strict=True):
        counted = rows.setdefault(made.kind, Counter())
        checks = one["eval"][1:]
        counted["tasks"] += 1
        counted["checks"] += len(checks)
        counted["forms"] += sum(map(is_draft, checks))
        counted["unwanted"] += sum(bool(check.get("should_not_exist")) for check in checks)
        counted["cookies"] += sum(map(_asks_cookies, checks))
        counted["schema"] += one["eval"][0].get("results_schema", {"type": "null"}) != {
            "type": "null"
        }
        assert made.spec is not None
        counted["milestones"] += len(made.spec["milestones"]) - 1
    names = ("tasks", "checks", "forms", "unwanted", "cookies", "schema", "milestones")
    every = sum(rows.values(), Counter())
    lines = [[kind, *(counted[name] for name in names)] for kind, counted in sorted(rows.items())]
    columns = (
        "kind", "tasks", "network checks", "of them told by the form's state", "of them: must not be sent",
        "of them about a cookie's value", "answers with a schema", "step milestones",
    )  # fmt: skip
    return CoverageTable(
        "WebArena-Verified", columns, [*lines, ["**all**", *(every[name] for name in names)]]
    )


def _dataset(source: Path) -> list[Any]:
    path = source
    if source.is_dir():
        found = sorted(source.rglob(f"assets/dataset/{NAME}"))
        if not found:
            raise BadSourceError(
                f"wanted {NAME}, or a folder into which webarena-verified was installed"
            )
        path = found[0]
    try:
        tree = orjson.loads(read_regular(path))
    except orjson.JSONDecodeError as error:
        raise BadSourceError(f"{path.name}: no JSON: {error}") from None
    if not isinstance(tree, list) or not all(
        isinstance(one, dict) and isinstance(one.get("eval"), list) and one["eval"] for one in tree
    ):
        raise BadSourceError(f"{path.name}: wanted a list of tasks, each with eval")
    return tree


def _imported(one: Mapping[str, Any], sites: Sites) -> Imported:
    said, *network = one["eval"]
    kind = said["expected"]["task_type"]
    steps: list[dict[str, Any]] = []
    holding: list[dict[str, Any]] = []
    remarks: list[str] = []
    asked = Counter(_request(config) for config in network if not config.get("should_not_exist"))
    for number, config in enumerate(network, 1):
        if config.get("should_not_exist"):
            holding.append({"none_of": [unwanted(config, sites)]})
        elif is_draft(config):
            steps.append(
                {"id": f"check-{number}", "component": "form", "when": drafted(config, sites)}
            )
            holding.append(steps[-1]["when"])
            remarks.append(
                f"check {number}: its site is patched to send a draft; here the form's own state is"
                " asked"
            )
        else:
            found = check(config, kind, sites, alone=asked[_request(config)] == 1)
            component = "nav" if kind == "navigate" else "form"
            if found.there is not None:
                there = {
                    "id": f"check-{number}-there",
                    "component": component,
                    "weight": _HALF,
                    "when": found.there,
                }
                steps.append(there)
            steps.append({"id": f"check-{number}", "component": component, "when": found.when})
            holding.extend([found.when] if found.state else [])
        if _asks_cookies(config):
            remarks.append(
                f"check {number}: asks a cookie's value, which is told for this task; of a HAR:"
                " --cookie"
            )
    requires = [step["id"] for step in steps if not step["id"].endswith("-there")]
    spoken = {"answer_says": {"value": answer(said, sites)}}
    answered: dict[str, Any] = {"id": "answer", "component": "answer", "when": spoken}
    if requires:
        answered["after"] = requires
    goal = {
        "requires": [*requires, "answer"],
        "when": {"all_of": {"holding": True, "of": [*holding, spoken]}},
    }
    used = {step["component"] for step in steps}
    share = {name: (_HALF - _TENTH) / len(used) for name in sorted(used)}
    spec = {
        "id": f"webarena-verified/{one['task_id']}",
        "version": str(one.get("revision", 1)),
        "instruction": one["intent"],
        "origin": sites.origin(one["sites"][0]),
        "weights": {**share, "answer": _TENTH if used else _HALF, "goal": _HALF},
        "milestones": [
            *steps,
            answered,
            {"id": "goal", "when": {"goal": goal}, "must_hold_at_end": True},
        ],
    }
    return Imported(str(one["task_id"]), spec, kind, tuple(remarks))


def _request(config: Mapping[str, Any]) -> str:
    """Where a check looks for its request: address and method."""
    expected = config["expected"]
    return f"{expected.get('http_method') or 'GET'} {expected['url']}"


def _asks_cookies(config: Mapping[str, Any]) -> bool:
    expected = config["expected"]
    return "response_cookies" in expected or "Cookie" in (expected.get("headers") or {})
