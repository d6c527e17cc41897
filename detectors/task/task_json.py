"""A task's one JSON form: what YAML is read into, what the service stores and the digest is taken
of.

`task_from_json` checks everything that can be known without running: names, types, arguments of
rules, references between milestones. It collects all problems before it raises.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from detectors.model.errors import DetectorError, SpecError
from detectors.model.types import Condition, MilestoneSpec, Task, Window
from detectors.model.validation import TaskReader, is_mapping, is_number, is_text
from detectors.sdk.arguments import Path, parse_args
from detectors.sdk.registry import Composite, Rule, rules
from detectors.sdk.tier_rules import NAMES as JUDGED
from detectors.sdk.window import window_from_json, window_to_json
from detectors.task.episode_terms import KEYS as ENDINGS
from detectors.task.episode_terms import endings_from_json, endings_to_json
from detectors.task.escalation import (
    DECISIVE,
    check_judged,
    check_outcome,
    escalation_from_json,
    escalation_to_json,
    is_decisive,
)
from detectors.task.probes import check_references, probe_to_json, probes_from_json
from detectors.task.semantics import check_milestone, check_parts
from detectors.task.task_versions import convert_task
from detectors.task.tools_preset import expand

DEFAULT_WEIGHTS: Mapping[str, float] = {
    "nav": 0.1,
    "ui": 0.2,
    "form": 0.2,
    "file": 0.3,
    "goal": 0.2,
}
TOP = ("goal", *JUDGED)
"""Rules that are the whole of a milestone's `when`, or nothing."""
COMPONENTS = ("nav", "ui", "form", "file", "goal", "tool", "ax", "answer")
MAX_CHAIN = 64
MAX_MILESTONES = 2_000
MAX_NAMED = 50
MAX_ID = 512
MAX_VERSION = 256
"""Characters of a task's or a milestone's id, and of a task's version."""
"""Names that a message lists."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}(?:/[A-Za-z0-9_.\-]{1,64})*")
_TASK_KEYS = frozenset(
    (
        "$schema",
        "id",
        "version",
        "instruction",
        "origin",
        "hosts",
        "weights",
        "credit",
        "penalty_floor",
        "settings",
        "milestones",
        "probes",
        "escalation",
        *ENDINGS,
    )
)
_MILESTONE_KEYS = frozenset(
    "id when component weight penalty after before repeat baseline must_hold_at_end revoke_on "
    "only_if within since credit_to decisive".split()
)


class TaskError(DetectorError):
    """A task is refused; ``problems`` lists every `SpecError` that was found."""

    def __init__(self, problems: list[SpecError]) -> None:
        self.problems = problems
        super().__init__("; ".join(map(str, problems)))


def task_from_json(spec: Any, *, stored: bool = False) -> Task:
    """The `Task` that ``spec`` says. Raises `TaskError` with every problem that it has.

    ``stored``: the task was taken before; what only newer builds refuse is let be, and old names of
    kinds and fields are read as the new ones.
    """
    read = TaskReader(stored=stored)
    spec = convert_task(spec) if stored else spec
    if not isinstance(spec, Mapping):
        raise TaskError(
            [SpecError((), spec, "an object with id, version, instruction and milestones")]
        )
    if "tools" in spec:
        spec = expand(read, spec)
    read.unknown(spec, _TASK_KEYS, ())
    for key in ("id", "version", "instruction", "milestones"):
        if key not in spec:
            read.note((key,), None, "this key; it must be given")
    weights = _weights(read, spec)
    origin = read.get(spec, "origin", (), is_text, "an origin such as https://shop.example")
    credit = _credit(read, read.get(spec, "credit", (), _is_credit, _CREDIT, {}), weights)
    milestones = _milestones(read, spec.get("milestones", []), weights, origin)
    for n, milestone in enumerate(milestones):
        check_milestone(read, milestone, ("milestones", n), credit, origin)
    probes = probes_from_json(spec.get("probes", []), origin, read.note)
    check_references(milestones, probes, read.note)
    settings = read.get(spec, "settings", (), is_mapping, "an object with quiet_ms, settle_ms", {})
    read.unknown(settings, frozenset(("quiet_ms", "settle_ms")), ("settings",))
    task = Task(
        id=read.get(
            spec,
            "id",
            (),
            _is_id,
            f"letters, digits, - _ . and /, at most 64 a part, {MAX_ID} in all",
            "",
        ),
        version=read.get(
            spec,
            "version",
            (),
            _is_version,
            f'a text such as "1" (quote it), of at most {MAX_VERSION} characters',
            "",
        ),
        instruction=read.get(
            spec, "instruction", (), is_text, "the text that the agent is told", ""
        ),
        milestones=milestones,
        weights=weights,
        origin=origin,
        hosts=tuple(
            read.get(
                spec, "hosts", (), _is_origins, "a list of origins such as https://cdn.example", ()
            )
        ),
        credit=credit,
        penalty_floor=read.get(
            spec, "penalty_floor", (), lambda v: is_number(v) and v <= 0, "a number up to 0", -1.0
        ),
        quiet_ms=read.get(settings, "quiet_ms", ("settings",), _millis, _MILLIS, 50),
        settle_ms=read.get(settings, "settle_ms", ("settings",), _millis, _MILLIS, 1000),
        probes=probes,
        escalation=escalation_from_json(read, spec.get("escalation"), milestones),
        **endings_from_json(read, spec, milestones),
    )
    check_judged(read, milestones, task.shaped)
    check_outcome(read, task.escalation, task.outcome)
    for name in sorted(set(task.shaped) & set(credit)):
        read.note(
            ("shaping", "potential"), name, "a component that is credited by progress, not by level"
        )
    if read.problems:
        raise TaskError(read.problems)
    return task


def task_to_json(task: Task) -> dict[str, Any]:
    """The canonical JSON of a task, with every default written out; `task_from_json` gives the task
    again."""
    out: dict[str, Any] = {
        "id": task.id,
        "version": task.version,
        "instruction": task.instruction,
        "weights": dict(task.weights),
        "credit": dict(task.credit),
        "penalty_floor": task.penalty_floor,
        "settings": {"quiet_ms": task.quiet_ms, "settle_ms": task.settle_ms},
        "milestones": [_milestone_json(m) for m in task.milestones],
    }
    if task.probes:
        out["probes"] = [probe_to_json(probe) for probe in task.probes]
    if task.escalation is not None:
        out["escalation"] = escalation_to_json(task.escalation)
    out |= endings_to_json(task)
    if task.hosts:
        out["hosts"] = list(task.hosts)
    return out if task.origin is None else {**out, "origin": task.origin}


def _is_origins(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(one, str) and "://" in one for one in value
    )


def condition_to_json(condition: Condition) -> dict[str, Any]:
    """A condition as `task_from_json` reads it."""
    body: dict[str, Any] = dict(condition.args)
    if condition.rule == "goal":
        if condition.of:
            body["when"] = condition_to_json(condition.of[0])
    elif condition.of:
        body["of"] = [condition_to_json(part) for part in condition.of]
    return {condition.rule: body}


_CREDIT = "progress, level, or an object of components and one of these"
_MILLIS = "milliseconds, a whole number from 0 to 60000"


def _is_credit(value: Any) -> bool:
    return value in ("progress", "level") or is_mapping(value)


def _millis(value: Any) -> bool:
    return type(value) is int and 0 <= value <= 60_000


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_ID and _ID.fullmatch(value) is not None


def _is_version(value: Any) -> bool:
    return is_text(value) and len(value) <= MAX_VERSION and "\0" not in value


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def _weights(read: TaskReader, spec: Mapping[str, Any]) -> dict[str, float]:
    given = read.get(spec, "weights", (), is_mapping, "an object of components and numbers", {})
    read.unknown(given, frozenset(COMPONENTS), ("weights",))
    weights = dict(DEFAULT_WEIGHTS)
    for name, _value in given.items():
        if name in COMPONENTS:
            ok = read.get(
                given, name, ("weights",), lambda v: is_number(v) and v >= 0, "a number from 0", 0.0
            )
            weights[name] = float(ok)
    return weights


def _credit(read: TaskReader, spec: Any, weights: Mapping[str, float]) -> dict[str, Any]:
    if isinstance(spec, str):
        return dict.fromkeys(weights, spec) if spec == "level" else {}
    read.unknown(spec, frozenset(weights), ("credit",))
    for name, value in spec.items():
        if value not in ("progress", "level"):
            read.note(("credit", name), value, "progress or level")
    return {name: value for name, value in spec.items() if value == "level"}


def _milestones(
    read: TaskReader, specs: Any, weights: Mapping[str, float], origin: str | None
) -> tuple[MilestoneSpec, ...]:
    if not isinstance(specs, list) or not specs:
        read.note(("milestones",), specs, "a list of at least one milestone")
        return ()
    if len(specs) > MAX_MILESTONES and not read.stored:
        read.note(("milestones",), f"{len(specs)} milestones", f"at most {MAX_MILESTONES}")
        return ()
    found = [
        m
        for n, spec in enumerate(specs)
        if (m := _milestone(read, spec, ("milestones", n), weights, origin))
    ]
    _check_references(read, found)
    _check_circles(read, found)
    return tuple(found)


def _check_references(read: TaskReader, milestones: list[MilestoneSpec]) -> None:
    """Refuse ids that two milestones have, and names of milestones that there are not."""
    ids = [m.id for m in milestones]
    known, before = frozenset(ids), set[str]()
    named = ", ".join(ids[:MAX_NAMED]) + (", …" if len(ids) > MAX_NAMED else "")
    for n, m in enumerate(milestones):
        path: Path = ("milestones", n)
        if m.id in before:
            read.note((*path, "id"), m.id, "an id that no other milestone of the task has")
        before.add(m.id)
        for key, name in _references(m):
            if name not in known or name == m.id:
                read.note((*path, key), name, f"another milestone's id; there are {named}")


def _references(m: MilestoneSpec) -> Iterator[tuple[str, str]]:
    """The other milestones that one names, each with the key under which it does."""
    yield from (("after", name) for name in m.after)
    yield from (("before", name) for name in m.before)
    if m.since:
        yield "since", m.since
    yield from (("when", name) for name in _required(m))


def _check_circles(read: TaskReader, milestones: list[MilestoneSpec]) -> None:
    """Refuse a milestone that waits for itself, through others or not, or for a chain longer than
    anybody can follow."""
    waits = {m.id: [name for key, name in _references(m) if key != "before"] for m in milestones}
    depth = dict.fromkeys(waits, 0)
    for _ in range(MAX_CHAIN + 1):
        deeper = {
            id: 1 + max((depth[name] for name in names if name in depth), default=-1)
            for id, names in waits.items()
        }
        if deeper == depth:
            return
        depth = deeper
    expected = f"after and requires without a circle, at most {MAX_CHAIN} deep"
    for n, m in enumerate(milestones):
        if depth[m.id] > MAX_CHAIN:
            read.note(("milestones", n), m.id, expected)


def _required(m: MilestoneSpec) -> tuple[str, ...]:
    """The milestones that a goal requires."""
    return tuple(m.when.args.get("requires", ())) if m.when.rule == "goal" else ()


def _milestone(
    read: TaskReader, spec: Any, path: Path, weights: Mapping[str, float], origin: str | None
) -> MilestoneSpec | None:
    if not isinstance(spec, Mapping) or "id" not in spec or "when" not in spec:
        read.note(path, spec, "an object with id and when")
        return None
    read.unknown(spec, _MILESTONE_KEYS, path)
    when = _condition(read, spec["when"], (*path, "when"), origin, top=True)
    component = read.get(
        spec, "component", path, COMPONENTS.__contains__, f"one of {', '.join(COMPONENTS)}"
    )
    component = component or _default_component(when)
    if component not in weights:
        read.note((*path, "component"), component, f"a weight for it: give weights.{component}")

    def get(key: str, is_right: Callable[[Any], bool], expected: str, default: Any = None) -> Any:
        return read.get(spec, key, path, is_right, expected, default)

    return MilestoneSpec(
        id=get("id", _is_id, f"letters, digits, - _ . and /, at most {MAX_ID}", ""),
        when=when or Condition("goal"),
        component=component,
        weight=float(get("weight", _is_positive, "a number above 0", 1.0)),
        penalty=get("penalty", _is_positive, "a number above 0; it is paid negative"),
        after=tuple(get("after", _are_names, _IDS, ())),
        before=tuple(get("before", _are_names, _IDS, ())),
        repeat=get("repeat", _is_repeat, "a whole number 1…1000", 1),
        baseline=get(
            "baseline", ("never", "transition").__contains__, "never or transition", "never"
        ),
        must_hold_at_end=get("must_hold_at_end", _is_bool, "true or false", False),
        revoke_on=_optional_condition(read, spec, "revoke_on", path, origin),
        only_if=_optional_condition(read, spec, "only_if", path, origin),
        within=_optional_window(read, spec.get("within"), (*path, "within")),
        since=get("since", _is_id, "another milestone's id"),
        credit_to=get(
            "credit_to",
            ("occurrence", "cause").__contains__,
            "occurrence or cause",
            "occurrence",
        ),
        decisive=get("decisive", is_decisive, f"one of {', '.join(DECISIVE)}"),
    )


_IDS = "a list of milestone ids"


def _is_positive(value: Any) -> bool:
    return is_number(value) and value > 0


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_repeat(value: Any) -> bool:
    return type(value) is int and 1 <= value <= 1000


def _optional_condition(
    read: TaskReader, spec: Mapping[str, Any], key: str, path: Path, origin: str | None
) -> Condition | None:
    if spec.get(key) is None:
        return None
    return _condition(read, spec[key], (*path, key), origin)


def _optional_window(read: TaskReader, spec: Any, path: Path) -> Window | None:
    if spec is None:
        return None
    window: Window | None = read.attempt(window_from_json, spec, path)
    return window


def _default_component(when: Condition | None) -> str:
    """The rule's own component; of a composite, that of its first part; a goal's is goal."""
    if when is None or when.rule == "goal":
        return "goal"
    found = rules()[when.rule]
    return (
        found.component
        if isinstance(found, Rule)
        else _default_component(when.of[0] if when.of else None)
    )


def _condition(
    read: TaskReader, spec: Any, path: Path, origin: str | None, top: bool = False, depth: int = 0
) -> Condition | None:
    if not isinstance(spec, Mapping) or len(spec) != 1:
        read.note(path, spec, "an object with one key, the rule's name")
        return None
    name, body = next(iter(spec.items()))
    found = rules().get(name)
    if found is None or (name in TOP and not top):
        read.note(
            (*path, str(name)),
            name,
            f"a rule; there are {', '.join(n for n in rules() if top or n not in TOP)}",
        )
        return None
    if depth > 16:
        read.note(path, name, "conditions nested at most 16 deep")
        return None
    body = {"of": body} if isinstance(body, list) else {} if body is None else body
    return _checked(read, name, found, body, (*path, name), origin, depth)


def _checked(
    read: TaskReader,
    name: str,
    found: Rule | Composite,
    body: Any,
    path: Path,
    origin: str | None,
    depth: int,
) -> Condition | None:
    args, parts = body, list[Condition | None]()
    if isinstance(found, Composite) and isinstance(body, Mapping):
        key = "when" if name == "goal" else "of"
        args = {k: v for k, v in body.items() if k != key}
        for n, part in enumerate(_listed_parts(read, name, body, path)):
            where = (*path, "when") if name == "goal" else (*path, "of", n)
            parts.append(_condition(read, part, where, origin, depth=depth + 1))
    try:
        parse_args(found.args, args, path, origin)
    except SpecError as error:
        read.problems.append(error)
        return None
    known = tuple(part for part in parts if part is not None)
    if len(known) < len(parts):
        return None
    if known:
        check_parts(read, name, args, known, path, origin)
    return Condition(name, dict(args), known)


def _listed_parts(read: TaskReader, name: str, body: Mapping[str, Any], path: Path) -> list[Any]:
    """The conditions within a composite, as they are written: `of`, or of a goal its `when`."""
    if name == "goal":
        if "when" not in body and not body.get("requires"):
            read.note(path, body, "requires: [milestone ids], or when: a condition, or both")
        return [body["when"]] if "when" in body else []
    parts = body.get("of", [])
    if not isinstance(parts, list) or not parts:
        read.note((*path, "of"), parts, "a list of at least one condition")
        return []
    return parts


def _milestone_json(m: MilestoneSpec) -> dict[str, Any]:
    out: dict[str, Any] = {
        "id": m.id,
        "when": condition_to_json(m.when),
        "component": m.component,
        "weight": m.weight,
        "after": list(m.after),
        "before": list(m.before),
        "repeat": m.repeat,
        "baseline": m.baseline,
        "must_hold_at_end": m.must_hold_at_end,
    }
    if m.penalty is not None:
        out["penalty"] = m.penalty
    for name, condition in (("revoke_on", m.revoke_on), ("only_if", m.only_if)):
        if condition is not None:
            out[name] = condition_to_json(condition)
    if m.within is not None:
        out["within"] = window_to_json(m.within)
    if m.since is not None:
        out["since"] = m.since
    if m.credit_to != "occurrence":
        out["credit_to"] = m.credit_to
    if m.decisive is not None:
        out["decisive"] = m.decisive
    return out
