"""A proposal as the text of a task file, with what each milestone rests on as a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import yaml

from api.proposal.ordering import list_anchors
from api.proposal.slots import Values, fill_task
from api.proposal.support import ConditionSupport, Proposal
from api.proposal.weighing import EVEN_WEIGHTS, MilestoneWeight, share_components
from api.tasks.task_files import check_task
from detectors.model.json_value import JsonValue
from detectors.model.optional_values import drop_keys
from detectors.task.ruleset import compile_task

PENALTY = 0.1
WIDTH = 4_000
"""A condition stands in one line, whatever its length."""


@dataclass(frozen=True, slots=True)
class TaskHead:
    """What a task file says before its milestones."""

    id: str
    instruction: str
    origin: str | None
    examples: Values = field(default_factory=dict)
    """A value for each slot of the instruction, by name: the first success's own."""
    version: str = "1"


@dataclass(frozen=True, slots=True)
class RecordingCounts:
    """How many recordings of successes and of failures were compared."""

    good: int
    bad: int


def write_proposal(
    head: TaskHead,
    proposal: Proposal,
    counts: RecordingCounts,
    tests: Sequence[Mapping[str, JsonValue]],
) -> str:
    """Return the task file's text, ending in a line feed. Raises `BadTaskError` for a head that no
    task can have, such as an id with a blank."""
    names = name_milestones([*proposal.milestones, *proposal.guards])
    weights = _weigh(names, proposal, counts)
    entries = _entries(names, proposal, weights)
    lines = [f"# A draft, proposed from {counts.good} successes and {counts.bad} failures."]
    lines += [f"# Note: {note}." for note in proposal.notes]
    lines += write_head(head)
    lines += write_shares(share_weights(head, entries))
    lines.append("milestones:")
    evidence = dict(names)
    for entry in entries:
        support = evidence.get(str(entry["id"]))
        if support is not None:
            lines += _write_evidence(support, counts)
            lines += _write_weight(weights.get(str(entry["id"])))
            lines += _write_notes(entry, support, head.instruction)
        lines += write_entry(entry)
    if tests:
        lines += ["tests:", *(f"  - {write_flow(test)}" for test in tests)]
    return "\n".join(lines) + "\n"


def _weigh(
    names: Sequence[tuple[str, ConditionSupport]], proposal: Proposal, counts: RecordingCounts
) -> dict[str, MilestoneWeight]:
    """Return the weight of each milestone by its id; a guard has a penalty instead."""
    return {
        name: MilestoneWeight(support.in_good, counts.good, support.in_bad, counts.bad)
        for name, support in names
        if support not in proposal.guards
    }


def _entries(
    names: Sequence[tuple[str, ConditionSupport]],
    proposal: Proposal,
    weights: Mapping[str, MilestoneWeight],
) -> list[dict[str, JsonValue]]:
    """Return the milestones as the file has them, the goal last."""
    entries: list[dict[str, JsonValue]] = []
    for name, support in names:
        weight = weights.get(name)
        if weight is None:
            entries.append({"id": name, "when": support.candidate.when, "penalty": PENALTY})
        else:
            described = _describe(name, support, names, proposal)
            entries.append({**described, "weight": weight.value})
    goal_names = [name for name, support in names if support in proposal.goal]
    done = "reached" if "done" in dict(names) else "done"
    return [*entries, {"id": done, "when": {"goal": {"requires": goal_names}}}]


def write_head(head: TaskHead) -> Iterator[str]:
    """Yield the lines before the weights."""
    yield f"id: {write_flow(head.id)}"
    yield f'version: "{head.version}"'
    yield f"instruction: {write_flow(head.instruction)}"
    if head.origin:
        yield f"origin: {write_flow(head.origin)}"
    if head.examples:
        yield "parameters:"
        for name, value in head.examples.items():
            yield f"  {name}: {write_flow({'example': value})}"


def write_shares(shares: Mapping[str, float]) -> Iterator[str]:
    """Yield the line of the components' weights, with what they come from."""
    if len(shares) > 1:
        yield (
            "# What the goal leaves is shared as the weights of the milestones are: a weight is"
            " worth the same in each component."
        )
    yield f"weights: {write_flow(dict(shares))}"


def _write_evidence(support: ConditionSupport, counts: RecordingCounts) -> Iterator[str]:
    """Yield in which recordings a condition was met."""
    yield (
        f"  # in {support.in_good} of {counts.good} successes and {support.in_bad} of"
        f" {counts.bad} failures, as event {support.candidate.event} of {support.log}"
    )


def _write_weight(weight: MilestoneWeight | None) -> Iterator[str]:
    """Yield where a milestone's weight comes from; nothing for a guard, which has none."""
    if weight is not None:
        yield f"  # {weight.explain()}"


def _write_notes(
    entry: Mapping[str, JsonValue], support: ConditionSupport, instruction: str
) -> Iterator[str]:
    """Yield what an author of the task has to know of a condition."""
    if support.is_by_script:
        yield (
            "  # loaded: false, as page script put the address there (history.pushState) and no"
            " document was loaded: any script of the site can"
        )
    if "after" in entry and not support.is_by_script and support.rule != "file_matches":
        yield "  # after what every success had done before it, and a failure had not"
    if support.is_by_path:
        yield (
            "  # by its place in the page, as it has no name and no id: once something is put"
            " before it, it is another place"
        )
    if words := ", ".join(_words_of(support.candidate.when, instruction)):
        yield f"  # in the instruction: {words}"


def write_entry(entry: Mapping[str, JsonValue]) -> Iterator[str]:
    """Yield the lines of a milestone, a key each."""
    first = True
    for key, value in entry.items():
        yield f"  {'- ' if first else '  '}{key}: {write_flow(value)}"
        first = False


def _words_of(value: JsonValue, instruction: str) -> Iterator[str]:
    """Yield the texts of a condition that stand in the instruction."""
    if isinstance(value, str):
        if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", instruction, re.IGNORECASE):
            yield value
    elif isinstance(value, Mapping):
        for one in drop_keys(value, ("method", "role")).values():
            yield from _words_of(one, instruction)


def _describe(
    name: str,
    support: ConditionSupport,
    names: Sequence[tuple[str, ConditionSupport]],
    proposal: Proposal,
) -> dict[str, JsonValue]:
    """Return a milestone's entry, after those that it is known to follow."""
    anchors = list_anchors(support, proposal)
    after = [other for other, one in names if any(one is anchor for anchor in anchors)]
    return {"id": name, **({"after": after} if after else {}), "when": support.candidate.when}


def name_milestones(supports: Sequence[ConditionSupport]) -> list[tuple[str, ConditionSupport]]:
    """Return each milestone with an id of its own, made of what it waits for."""
    named: list[tuple[str, ConditionSupport]] = []
    taken: set[str] = set()
    for support in supports:
        words = re.findall(r"[a-z0-9]+", support.candidate.family.casefold())
        base = "-".join(words)[:40].strip("-") or "milestone"
        name, number = base, 2
        while name in taken:
            name, number = f"{base}-{number}", number + 1
        taken.add(name)
        named.append((name, support))
    return named


def share_weights(
    head: TaskHead, entries: Sequence[Mapping[str, JsonValue]]
) -> Mapping[str, float]:
    """Return weights that sum to 1 over the components that the milestones have. Raises
    `BadTaskError`."""
    task = compile_task(check_task(fill_task(build_spec(head, entries), head.examples))).task
    return share_components(
        [
            (one.component, one.weight)
            for one in task.milestones
            if one.penalty is None and one.component != "goal"
        ]
    )


def build_spec(head: TaskHead, entries: Sequence[Mapping[str, JsonValue]]) -> dict[str, JsonValue]:
    """Return the JSON value of a task of these milestones, in which each component weighs the same:
    to be checked, or to find the components of its milestones."""
    spec: dict[str, JsonValue] = {
        "id": head.id,
        "version": head.version,
        "instruction": head.instruction,
        "weights": dict(EVEN_WEIGHTS),
        "milestones": list(entries),
    }
    return {**spec, "origin": head.origin} if head.origin else spec


def write_flow(value: JsonValue) -> str:
    """Return a value as YAML in one line."""
    text = yaml.safe_dump(
        _plain(value), default_flow_style=True, allow_unicode=True, width=WIDTH, sort_keys=False
    )
    return text.removesuffix("\n").removesuffix("\n...")


def _plain(value: JsonValue) -> object:
    """Return a value as dicts and lists, which is what YAML writes."""
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value
