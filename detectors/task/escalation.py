"""What a task says of the tiers beyond its rules: which steps go on to them, who decides, what it
may cost.

escalation:
  route: cascade
  escalate: [unscored, goal]
  rubric: {goal: ["The order in the shop's list is the one that was asked for."]}
  budget: {episode: {calls: 5}, day: {cost: 2.5}}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from detectors.model.types import Budget, Escalation, Line, MilestoneSpec, Outcome
from detectors.model.validation import Path, TaskReader, is_mapping, is_number
from detectors.sdk.registry import rules
from detectors.sdk.rubric import Rubric, rubric_to_json
from detectors.sdk.tier_rules import is_judged

REASONS = ("unscored", "goal", "low_confidence")
TIERS = ("model", "judge")
DECISIVE = ("positive", "negative", "both", "none")
ITEMS = ("goal", "step")
"""What else is asked about beside milestones, by their ids."""
SCOPES = ("episode", "task", "tenant", "day")
MAX_CALLS = 1_000_000_000
_KEYS = frozenset(
    "route escalate audit confident tiers weights decisive share patience_s rubric budget".split()
)
_PATH: Path = ("escalation",)


def is_decisive(value: Any) -> bool:
    """Whether it names a direction in which a rule may be proof."""
    return value in DECISIVE


def escalation_from_json(
    read: TaskReader, spec: Any, milestones: tuple[MilestoneSpec, ...]
) -> Escalation | None:
    """What ``escalation`` says; problems go to ``read``. None where it is not given and no
    milestone needs it."""
    if spec is None:
        return (
            Escalation(escalate=(), audit=0.0)
            if any(is_judged(rules()[m.when.rule]) for m in milestones)
            else None
        )
    if not is_mapping(spec):
        read.note(_PATH, spec, f"an object with {', '.join(sorted(_KEYS))}")
        return None
    read.unknown(spec, _KEYS, _PATH)
    escalate = _escalate(read, spec, milestones)
    rubric = read.get(
        spec, "rubric", _PATH, is_mapping, "an object with goal, step: lists of criteria", {}
    )
    read.unknown(rubric, frozenset(("goal", "step")), (*_PATH, "rubric"))
    tiers, weights = _tiers(read, spec), _weights(read, spec)
    route = read.get(
        spec, "route", _PATH, lambda v: v in ("cascade", "blend"), "cascade or blend", "cascade"
    )
    if route == "blend":
        _check_blend(read, spec, escalate, tiers, weights)
    return Escalation(
        route=route,
        escalate=escalate,
        audit=float(
            read.get(spec, "audit", _PATH, _part, "a share from 0 to 1", 0.01 if escalate else 0.0)
        ),
        confident=float(read.get(spec, "confident", _PATH, _part, "a confidence from 0 to 1", 0.7)),
        tiers=tiers,
        weights=weights,
        decisive=read.get(
            spec, "decisive", _PATH, is_decisive, f"one of {', '.join(DECISIVE)}", "positive"
        ),
        share=float(
            read.get(
                spec,
                "share",
                _PATH,
                _proper_part,
                "a number above 0 and below 1",
                Escalation().share,
            )
        ),
        patience_s=float(
            read.get(
                spec,
                "patience_s",
                _PATH,
                lambda v: is_number(v) and v > 0,
                "seconds, a number above 0",
                900.0,
            )
        ),
        goal=_rubric(read, rubric, "goal"),
        step=_rubric(read, rubric, "step"),
        budget=_budgets(read, spec),
    )


def escalation_to_json(e: Escalation) -> dict[str, Any]:
    """The same, with every default written out; `escalation_from_json` gives it again."""
    out: dict[str, Any] = {
        "route": e.route,
        "escalate": list(e.escalate) or "never",
        "audit": e.audit,
        "confident": e.confident,
        "tiers": list(e.tiers),
        "decisive": e.decisive,
        "share": e.share,
        "patience_s": e.patience_s,
    }
    if e.route == "blend":
        out["weights"] = dict(e.weights)
    rubric = {
        name: rubric_to_json(lines) for name, lines in (("goal", e.goal), ("step", e.step)) if lines
    }
    budget = {
        scope: {
            name: value
            for name, value in (("calls", b.calls), ("cost", b.cost))
            if value is not None
        }
        for scope, b in e.budget.items()
    }
    return out | ({"rubric": rubric} if rubric else {}) | ({"budget": budget} if budget else {})


def _part(value: Any) -> bool:
    return is_number(value) and 0 <= value <= 1


def _proper_part(value: Any) -> bool:
    return is_number(value) and 0 < value < 1


def _escalate(
    read: TaskReader, spec: Mapping[str, Any], milestones: tuple[MilestoneSpec, ...]
) -> tuple[str, ...]:
    given = spec.get("escalate", ["unscored"])
    listed = [] if given == "never" else [given] if isinstance(given, str) else given
    path = (*_PATH, "escalate")
    if not isinstance(listed, list) or not all(one in REASONS for one in listed):
        read.note(path, given, f"never, or a list of {', '.join(REASONS)}")
        return ()
    if "goal" in listed and not any(m.when.rule == "goal" for m in milestones):
        read.note(path, "goal", "a milestone with a goal beside it: it says what success is worth")
    return tuple(one for one in REASONS if one in listed)


def _tiers(read: TaskReader, spec: Mapping[str, Any]) -> tuple[str, ...]:
    wanted = "a list of model, judge: at least one, each once, in the order in which they are asked"
    given = read.get(
        spec, "tiers", _PATH, lambda v: isinstance(v, list) and bool(v), wanted, list(TIERS)
    )
    if not all(one in TIERS for one in given) or len(set(given)) < len(given):
        read.note((*_PATH, "tiers"), given, wanted)
        return TIERS
    return tuple(given)


def _weights(read: TaskReader, spec: Mapping[str, Any]) -> dict[str, float]:
    default = Escalation().weights
    path = (*_PATH, "weights")
    given = read.get(
        spec,
        "weights",
        _PATH,
        is_mapping,
        "an object with rule, model, judge and numbers from 0",
        {},
    )
    read.unknown(given, frozenset(default), path)
    if given and spec.get("route", "cascade") != "blend":
        read.note(
            path, given, "route: blend beside it; in a cascade the first confident tier decides"
        )
    found = {
        name: float(
            read.get(
                given,
                name,
                path,
                lambda v: is_number(v) and v >= 0,
                "a number from 0",
                0.0 if given else value,
            )
        )
        for name, value in default.items()
    }
    mass = sum(found.values())
    if abs(mass - 1.0) > 1e-9:
        read.note(path, given, f"numbers that sum to 1; these sum to {mass:g}")
    return found


def _check_blend(
    read: TaskReader,
    spec: Mapping[str, Any],
    escalate: tuple[str, ...],
    tiers: tuple[str, ...],
    weights: Mapping[str, float],
) -> None:
    """A blend is asked about every step, and what the rules pay is a term of it that nothing
    outweighs."""
    path = (*_PATH, "weights")
    if ("escalate" in spec and not set(escalate) <= {"unscored", "goal"}) or spec.get(
        "escalate"
    ) in ("never", []):
        read.note(
            (*_PATH, "escalate"),
            spec["escalate"],
            "unscored, goal, or both: a blend asks about every step",
        )
    for tier in TIERS:
        if tier not in tiers and weights[tier] > 0:
            read.note(
                (*path, tier), weights[tier], f"0, or {tier} in tiers: who is not asked can't weigh"
            )
    if not 0 < weights["rule"] < 1:
        read.note(
            (*path, "rule"),
            weights["rule"],
            "above 0 and below 1: rules and a tier both weigh in a blend",
        )
    elif "goal" in escalate and weights["rule"] < 0.5:
        wanted = (
            "at least 0.5 where the goal is asked about: with less, a tier's yes is worth more than"
            " the rules' own"
        )
        read.note((*path, "rule"), weights["rule"], wanted)


def _rubric(read: TaskReader, spec: Mapping[str, Any], name: str) -> tuple[Line, ...]:
    if name not in spec:
        return ()
    found = read.attempt(Rubric.parse, spec[name], (*_PATH, "rubric", name))
    return () if found is None else found.lines


def _budgets(read: TaskReader, spec: Mapping[str, Any]) -> dict[str, Budget]:
    path = (*_PATH, "budget")
    given = read.get(
        spec, "budget", _PATH, is_mapping, f"an object of {', '.join(SCOPES)} and their limits", {}
    )
    read.unknown(given, frozenset(SCOPES), path)
    return {
        scope: _budget(read, given[scope], (*path, scope)) for scope in SCOPES if scope in given
    }


def _budget(read: TaskReader, spec: Any, path: Path) -> Budget:
    if not is_mapping(spec) or not spec:
        read.note(path, spec, "an object with calls, cost, or both")
        return Budget()
    read.unknown(spec, frozenset(("calls", "cost")), path)
    calls = read.get(
        spec,
        "calls",
        path,
        lambda v: type(v) is int and 0 <= v <= MAX_CALLS,
        "a whole number of calls from 0",
    )
    cost = read.get(
        spec, "cost", path, lambda v: is_number(v) and v >= 0, "an amount of money from 0"
    )
    return Budget(calls, None if cost is None else float(cost))


def check_outcome(read: TaskReader, escalation: Escalation | None, outcome: Outcome | None) -> None:
    """In a blend a failure may not pay: where tiers abstain it would weigh more than a success does
    elsewhere."""
    if (
        escalation is not None
        and escalation.route == "blend"
        and outcome is not None
        and outcome.failure > 0
    ):
        read.note(("outcome", "failure"), outcome.failure, "a number up to 0 beside route: blend")


def check_judged(
    read: TaskReader, milestones: tuple[MilestoneSpec, ...], shaped: tuple[str, ...]
) -> None:
    """Refuse what a milestone that a tier decides can't be: nobody knows at the seal whether it is
    met."""
    judged = {m.id for m in milestones if is_judged(rules()[m.when.rule])}
    for n, m in enumerate(milestones):
        path: Path = ("milestones", n)
        if m.id in judged:
            if m.id in ITEMS:
                read.note(
                    (*path, "id"),
                    m.id,
                    f"an id other than {' and '.join(ITEMS)}: those are asked about as well",
                )
            _alone(read, m, path, shaped)
        requires = ("when", tuple(m.when.args.get("requires", ())) if m.when.rule == "goal" else ())
        for key, names in (
            ("after", m.after),
            ("before", m.before),
            ("since", (m.since,)),
            requires,
        ):
            for name in judged.intersection(names):
                read.note(
                    (*path, key),
                    name,
                    "a milestone that rules decide: a tier answers only after the seal",
                )


def _alone(read: TaskReader, m: MilestoneSpec, path: Path, shaped: tuple[str, ...]) -> None:
    wrong = {
        "penalty": m.penalty is not None,
        "repeat": m.repeat != 1,
        "baseline": m.baseline != "never",
        "must_hold_at_end": m.must_hold_at_end,
        "revoke_on": m.revoke_on is not None,
        "only_if": m.only_if is not None,
        "within": m.within is not None,
        "before": bool(m.before),
        "decisive": m.decisive is not None,
    }
    for key, given in wrong.items():
        if given:
            read.note(
                (*path, key),
                getattr(m, key),
                f"none of it: {m.when.rule} decides this milestone, once",
            )
    if m.when.args.get("ask") == "after" and not m.after:
        read.note((*path, "when"), "ask: after", "after: [milestone ids] beside it")
    if m.component in shaped:
        read.note((*path, "component"), m.component, "a component that shaping does not pay")
