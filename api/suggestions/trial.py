"""Which conditions the events of a log meet: the engine reads the log under a task of them, so that
what is shown here is what would be paid there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import yaml

from api.rewards.event_text import is_printable
from api.rewards.rendering import waits_for
from api.suggestions.event_values import find_origin
from api.suggestions.offers import offers_for
from detectors.engine.engine import Engine
from detectors.model.codec import canonical
from detectors.model.json_value import JsonObject, JsonValue
from detectors.model.optional_values import drop_keys
from detectors.model.safe_json import mapping
from detectors.model.types import Condition, Event
from detectors.sdk.registry import Rule, Standing, rules
from detectors.task.ruleset import ConditionNode, Ruleset, compile_task
from detectors.task.task_json import TaskError, task_from_json
from detectors.task.value_types import MAX_MILESTONES

MAX_EVENTS = 20_000
"""Events of a log for which conditions are suggested: each look reads all of them."""
MAX_ID = 40
_WIDTH = 4_000


@dataclass(frozen=True, slots=True)
class MetCondition:
    """A condition that an event meets. ``rule``: its rule's name; ``id``: one for a
    milestone; ``text``: it as YAML in one line;
    ``asks``: it in words; ``can_end``: it can become untrue again; ``others``: the further events
    that meet it."""

    rule: str
    id: str
    text: str
    asks: str
    can_end: bool
    others: tuple[int, ...]

    @property
    def milestone(self) -> str:
        """A line to paste below a task's ``milestones``, with an id that can be changed."""
        return f"- {{id: {self.id}, when: {self.text}}}"


@dataclass(frozen=True, slots=True)
class EventConditions:
    """An event, and the conditions that it meets, the most specific first."""

    event: Event
    conditions: tuple[MetCondition, ...]


@dataclass(frozen=True, slots=True)
class TaskSite:
    """A task's ``origin`` and ``hosts``: rules about pages hold there alone."""

    origin: str | None = None
    hosts: tuple[str, ...] = ()


def find_site(events: Iterable[Event]) -> TaskSite:
    """Return the origin in which most pages were opened after the first step began."""
    return TaskSite(find_origin(events))


def suggest(log: Sequence[Event], site: TaskSite, first: int = 1) -> list[EventConditions]:
    """Return the events of ``log`` from number ``first`` on that meet conditions, in their order.

    ``log`` begins with its episode's first event: whether a condition is met may depend on all that
    came before. An event that confirms a state without changing it meets nothing. Of a page of
    another site than the task's, conditions with ``anywhere`` are suggested.
    """
    offered = {
        event.seq: list(offers_for(event, site.origin)) for event in log if event.seq >= first
    }
    met = _try(offered, log, site)
    if site.origin is not None:
        unmet = drop_keys(offered, met)
        elsewhere = {seq: _offers_anywhere(offers) for seq, offers in unmet.items()}
        met |= _try(elsewhere, log, site)
    return [EventConditions(event, met[event.seq]) for event in log if event.seq in met]


def _offers_anywhere(offers: Iterable[JsonObject]) -> list[JsonObject]:
    """Return those of the conditions whose rule can be about any site's pages, as such."""
    anywhere: list[JsonObject] = []
    for when in offers:
        anywhere.extend(_anywhere(when))
    return anywhere


def _anywhere(when: JsonObject) -> Iterator[JsonObject]:
    """Yield the condition as one about pages of any site, if its rule can be."""
    (rule, arguments) = next(iter(when.items()))
    if "anywhere" in {field.name for field in fields(rules()[rule].args)}:
        yield {rule: {**mapping(arguments), "anywhere": True}}


def _try(
    offered: Mapping[int, Sequence[JsonObject]], log: Sequence[Event], site: TaskSite
) -> dict[int, tuple[MetCondition, ...]]:
    """Return what each event meets of what is offered for it; events that meet nothing are left
    out."""
    by_key = {canonical(when): when for offers in offered.values() for when in offers}
    tried = _read(by_key, log, site)
    found: dict[int, tuple[MetCondition, ...]] = {}
    for seq, offers in offered.items():
        keys = dict.fromkeys(map(canonical, offers))
        met = tuple(tried[key].describe_at(seq) for key in keys if seq in tried[key].events)
        if met:
            found[seq] = met
    return found


@dataclass(frozen=True, slots=True)
class _Tried:
    when: Condition
    text: str
    can_end: bool
    events: dict[int, None]

    def describe_at(self, seq: int) -> MetCondition:
        others = tuple(other for other in self.events if other != seq)
        return MetCondition(
            self.when.rule, _id_of(self.when), self.text, _in_words(self.when), self.can_end, others
        )


def _read(
    conditions: Mapping[bytes, JsonObject], log: Sequence[Event], site: TaskSite
) -> dict[bytes, _Tried]:
    """Return the conditions with the events that meet them; none do where a task may not say so."""
    tried = {key: _Tried(Condition(""), "", False, {}) for key in conditions}
    sound = [key for key, when in conditions.items() if _is_sound(when, site)]
    for start in range(0, len(sound), MAX_MILESTONES):
        keys = sound[start : start + MAX_MILESTONES]
        spec = _task_of([conditions[key] for key in keys], site)
        compiled = compile_task(task_from_json(spec))
        met = _meet(compiled, log)
        for number, key in enumerate(keys):
            when = compiled.task.milestones[number].when
            text = as_yaml(conditions[key])
            can_end = _can_end(_leaf(compiled, number))
            tried[key] = _Tried(when, text, can_end, met[number])
    return tried


def _can_end(leaf: _Leaf) -> bool:
    """Whether what a rule says can become untrue again: a state can, and the agent's answer."""
    return leaf.rule.component == "answer" or not leaf.rule.occurs(leaf.args)


def _meet(compiled: Ruleset, log: Sequence[Event]) -> list[dict[int, None]]:
    """Return the numbers of the events by which each milestone's condition came true after the
    first step began."""
    met: list[dict[int, None]] = [{} for _ in compiled.tops]
    if not log:
        return met
    engine = Engine(compiled, log[0].episode)
    standing_of = engine.conditions.standing
    hearing = _milestones_by_kind(compiled)
    for event in log:
        numbers = hearing.get(event.kind, ())
        leaves = [_leaf(compiled, number) for number in numbers]
        before = [_list_held(standing_of(leaf.node)) for leaf in leaves]
        engine.feed([event])
        for number, leaf, held in zip(numbers, leaves, before, strict=True):
            standing = standing_of(leaf.node)
            is_new = leaf.rule.occurs(leaf.args) or bool(_list_held(standing) - held)
            if is_new and _is_met_by(standing, event):
                met[number][event.seq] = None
    return met


def _milestones_by_kind(compiled: Ruleset) -> dict[str, list[int]]:
    """Return the numbers of the milestones that hear each kind of event."""
    hearing: dict[str, list[int]] = {}
    for number in range(len(compiled.tops)):
        leaf = _leaf(compiled, number)
        for kind in leaf.rule.heard_kinds(leaf.args):
            hearing.setdefault(kind, []).append(number)
    return hearing


def _is_met_by(standing: Standing, event: Event) -> bool:
    """Whether this event made a condition true, and it was observed to do so."""
    when = standing.when
    if when is None:
        return False
    return when.seq == event.seq and when.seen


class _Leaf(NamedTuple):
    """A milestone's condition, which is one rule."""

    node: ConditionNode
    rule: Rule
    args: object


def _leaf(compiled: Ruleset, number: int) -> _Leaf:
    node = compiled.nodes[compiled.tops[number]]
    assert isinstance(node.rule, Rule)
    return _Leaf(node, node.rule, node.args)


def _list_held(standing: Standing) -> set[str]:
    """Return the keys of what it is true about."""
    return {key for key, level in (standing.keys or {}).items() if level >= 1.0}


def _is_sound(when: JsonObject, site: TaskSite) -> bool:
    """Return whether a task may say so: what pages wrote need not be a value that a rule takes."""
    try:
        task_from_json(_task_of([when], site))
    except TaskError:
        return False
    return True


def _task_of(conditions: Sequence[JsonObject], site: TaskSite) -> dict[str, JsonValue]:
    """Return a task that goes on reading each condition after it was met."""
    milestones: list[JsonValue] = []
    for n, when in enumerate(conditions):
        milestones.append(
            {
                "id": f"m{n}",
                "component": "goal",
                "must_hold_at_end": True,
                "when": dict(when),
            }
        )
    task: dict[str, JsonValue] = {
        "id": "suggestions",
        "version": "1",
        "instruction": "suggestions",
        "milestones": milestones,
    }
    if site.origin:
        task["origin"] = site.origin
    if site.origin and site.hosts:
        task["hosts"] = list(site.hosts)
    return task


def as_yaml(value: JsonValue) -> str:
    """Return a value as YAML in one line; what does not print, as an escape."""
    text = _dump(value, plain=True)
    return text if is_printable(text) else _dump(value, plain=False)


def _dump(value: JsonValue, *, plain: bool) -> str:
    text = yaml.safe_dump(
        value, default_flow_style=True, allow_unicode=plain, width=_WIDTH, sort_keys=False
    )
    return text.removesuffix("\n").removesuffix("\n...")


def _in_words(when: Condition) -> str:
    return next(waits_for(when)).removeprefix(f"{when.rule}: ")


_NAMING = ("name", "field", "title", "text", "url", "form", "path", "message", "tool", "id", "kind")


def _id_of(when: Condition) -> str:
    """Return an id for a milestone: the rule, and what its arguments name first."""
    named = next((when.args[name] for name in _NAMING if name in when.args), "")
    while isinstance(named, Mapping) and named:
        named = next(iter(named.values()))
    words = re.findall(r"[a-z0-9]+", f"{when.rule} {named}".casefold())
    return "-".join(words)[:MAX_ID].strip("-")
