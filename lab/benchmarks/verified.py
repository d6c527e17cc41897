"""WebArena-Verified's tasks: what its evaluators ask of an answer and of the network, as
milestones.

All of its checks together are the goal, as in its all-or-nothing score; each check by itself is a
step, and so is the request that reaches the right place with something else in it. The answer is
asked for last and weighs little where something is to be done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import orjson

from api.tasks.task_files import BadTaskError, check_task
from common.regular_file import read_regular
from detectors.model.json_value import (
    JsonObject,
    JsonValue,
    read_list,
    read_object,
    read_text,
    require_list,
    require_object,
)
from lab.benchmarks.base import BadSourceError, CoverageTable, Imported
from lab.benchmarks.verified_checks import UnjudgedError, check, expected_of, unwanted_request
from lab.benchmarks.verified_drawn import open_drawn
from lab.benchmarks.verified_forms import draft_fields, is_draft
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
_NO_RESULTS = {"type": "null"}
"""The schema of an answer that retrieves nothing."""
_ANSWER, _NETWORK = "AgentResponseEvaluator", "NetworkEventEvaluator"
"""The evaluators that are known here: the first looks at the answer, all others at the network."""
REFUSED = "refused"
"""The kind of a task that nothing here can judge."""


def tasks(source: Path, sites: Mapping[str, str]) -> Iterator[Imported]:
    """One task each, in the file's order; one that can't be judged says why, and ends nothing.
    Raises `BadSourceError`, `OSError`."""
    places = Sites({**SITES, **sites})
    for number, task in enumerate(_dataset(source)):
        where = f"task {task.get('task_id', f'at {number}')}"
        try:
            made = _imported(task, places)
            check_task(made.spec)
        except (UnjudgedError, BadTaskError) as error:
            yield Imported(str(task["task_id"]), None, REFUSED, (_refusal_reason(error),))
        except BadSourceError as error:
            raise BadSourceError(f"{where}: {error}") from None
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            wanted = "task_id, sites, intent, and eval as WebArena-Verified has them"
            raise BadSourceError(
                f"{where}: {type(error).__name__} {error}; wanted {wanted}"
            ) from None
        else:
            yield made


def _refusal_reason(error: UnjudgedError | BadTaskError) -> str:
    """Why nothing here can judge a task."""
    if isinstance(error, BadTaskError):
        problem = error.problems[0]
        return f"what it asks for is refused: got {problem.value}, wanted {problem.wanted}"
    return f"nothing here can judge it: {error}"


def coverage(source: Path) -> CoverageTable:
    """One line a kind of task. Raises as `tasks`."""
    rows: dict[str, Counter[str]] = {}
    for task, made in zip(_dataset(source), tasks(source, {}), strict=True):
        counted = rows.setdefault(made.kind, Counter())
        counted["tasks"] += 1
        if made.spec is None:
            continue
        answer_check, checks = _checks_of(task)
        counted["checks"] += len(checks)
        counted["forms"] += sum(map(is_draft, checks))
        counted["unwanted"] += sum(bool(check.get("should_not_exist")) for check in checks)
        counted["cookies"] += sum(map(_asks_cookies, checks))
        counted["schema"] += answer_check.get("results_schema", _NO_RESULTS) != _NO_RESULTS
        counted["milestones"] += len(read_list(made.spec, "milestones")) - 1
    names = ("tasks", "checks", "forms", "unwanted", "cookies", "schema", "milestones")
    every = sum(rows.values(), Counter())
    lines = [[kind, *(counted[name] for name in names)] for kind, counted in sorted(rows.items())]
    columns = (
        "kind", "tasks", "network checks", "of them told by the form's state",
        "of them: must not be sent", "of them about a cookie's value", "answers with a schema",
        "step milestones",
    )  # fmt: skip
    return CoverageTable(
        "WebArena-Verified", columns, [*lines, ["**all**", *(every[name] for name in names)]]
    )


def _dataset(source: Path) -> list[JsonObject]:
    """Read the tasks of the dataset's file, or of the one in a folder of the installed package.
    Raises `BadSourceError`."""
    path: Path | None = source
    if source.is_dir():
        path = min(source.rglob(f"assets/dataset/{NAME}"), default=None)
    if path is None:
        raise BadSourceError(
            f"wanted {NAME}, or a folder into which webarena-verified was installed"
        )
    try:
        tree = orjson.loads(read_regular(path))
    except orjson.JSONDecodeError as error:
        raise BadSourceError(f"{path.name}: no JSON: {error}") from None
    if not isinstance(tree, list) or not all(map(_has_eval, tree)):
        raise BadSourceError(f"{path.name}: wanted a list of tasks, each with eval")
    return tree


def _checks_of(task: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    """A task's check of the answer, and those of the network."""
    checks = [require_object(check, "eval") for check in read_list(task, "eval")]
    return checks[0], checks[1:]


def _has_eval(task: object) -> bool:
    """Whether ``task`` is an object with at least one check."""
    return isinstance(task, dict) and isinstance(task.get("eval"), list) and bool(task["eval"])


def _imported(task: JsonObject, sites: Sites) -> Imported:
    """Import a task. Raises `UnjudgedError` where nothing tells that it was done."""
    answer_check, network = _checks_of(task)
    origin = sites.origin(str(require_list(task["sites"], "sites")[0]))
    _require_evaluator(0, answer_check, _ANSWER)
    for number, config in enumerate(network, 1):
        _require_evaluator(number, config, _NETWORK)
    kind = str(expected_of(answer_check)["task_type"])
    checks = _NetworkChecks(kind, str(task["intent"]), network, sites)
    is_to_succeed = expected_of(answer_check)["status"] == "SUCCESS"
    is_to_change = is_to_succeed and kind != "retrieve"
    if is_to_change and not checks.required:
        raise UnjudgedError(f"eval: wanted a check of what a task to {kind} does, got none")
    spoken: JsonObject = {"answer_says": {"value": answer(answer_check, sites)}}
    answered: dict[str, JsonValue] = {"id": "answer", "component": "answer", "when": spoken}
    if checks.required:
        answered["after"] = checks.required
    goal: JsonObject = {
        "requires": [*checks.required, "answer"],
        "when": {"all_of": {"holding": True, "of": [*checks.holding, spoken]}},
    }
    components = sorted({str(step["component"]) for step in checks.steps})
    share = {name: (_HALF - _TENTH) / len(components) for name in components}
    spec: JsonObject = {
        "id": f"webarena-verified/{task['task_id']}",
        "version": str(task.get("revision", 1)),
        "instruction": task["intent"],
        "origin": origin,
        "weights": {**share, "answer": _TENTH if components else _HALF, "goal": _HALF},
        "milestones": [
            *checks.steps,
            answered,
            {"id": "goal", "when": {"goal": goal}, "must_hold_at_end": True},
        ],
    }
    return Imported.from_spec(str(task["task_id"]), spec, kind, checks.remarks)


def _require_evaluator(number: int, config: JsonObject, expected: str) -> None:
    """Raise `UnjudgedError` where check ``number`` names another evaluator than ``expected``."""
    evaluator = config.get("evaluator", expected)
    if evaluator != expected:
        raise UnjudgedError(f"eval.{number}: got {evaluator}, wanted {expected}")


class _NetworkChecks:
    """The checks of a task's requests. ``steps``: milestones, of which ``required`` are the goal's;
    ``holding``: conditions that the goal wants at the end; ``remarks``: what is said at import."""

    def __init__(
        self, kind: str, instruction: str, network: Sequence[JsonObject], sites: Sites
    ) -> None:
        self._kind = kind
        self._instruction = instruction
        self._sites = sites
        self.steps: list[JsonObject] = []
        self.required: list[str] = []
        self.holding: list[JsonObject] = []
        self.remarks: list[str] = []
        self._requests = Counter(
            _request(config) for config in network if not config.get("should_not_exist")
        )
        for number, config in enumerate(network, 1):
            self._add(number, config)

    def _add(self, number: int, whole: JsonObject) -> None:
        """Add one check of requests as a step, or as what must hold all the time. Raises
        `UnjudgedError` where all that it asks is drawn."""
        opened = open_drawn(whole, self._instruction)
        config = opened.config
        self.remarks += opened.remarks(number)
        if opened.is_of_any:
            raise UnjudgedError(
                f"check {number}: all that it asks of a request is drawn or masked, so that any"
                " other to its address would be paid"
            )
        if config.get("should_not_exist"):
            self.holding.append({"none_of": [unwanted_request(config, self._sites)]})
        elif is_draft(config):
            self._add_draft(number, config)
        else:
            self._add_request(number, config)
        if _asks_cookies(config):
            self.remarks.append(
                f"check {number}: asks a cookie's value, which is told for this task; of a HAR:"
                " --cookie"
            )

    def _add_draft(self, number: int, config: JsonObject) -> None:
        when = draft_fields(config, self._sites)
        self._add_step(number, "form", when)
        self.holding.append(when)
        self.remarks.append(
            f"check {number}: its site is patched to send a draft; here the form's own state is"
            " asked"
        )

    def _add_request(self, number: int, config: JsonObject) -> None:
        """Add a check of a request that must be there; what it asks of a state must hold at the
        end, too."""
        alone = self._requests[_request(config)] == 1
        when, there, is_state = check(config, self._kind, self._sites, alone=alone)
        component = "nav" if self._kind == "navigate" else "form"
        if there is not None:
            self.steps.append(
                {
                    "id": f"check-{number}-there",
                    "component": component,
                    "weight": _HALF,
                    "when": there,
                }
            )
        self._add_step(number, component, when)
        if is_state:
            self.holding.append(when)

    def _add_step(self, number: int, component: str, when: JsonObject) -> None:
        name = f"check-{number}"
        self.steps.append({"id": name, "component": component, "when": when})
        self.required.append(name)


def _request(config: JsonObject) -> str:
    """Where a check looks for its request: address and method."""
    expected = expected_of(config)
    return f"{read_text(expected, 'http_method', 'GET')} {expected['url']}"


def _asks_cookies(config: JsonObject) -> bool:
    expected = expected_of(config)
    return "response_cookies" in expected or "Cookie" in read_object(expected, "headers")
