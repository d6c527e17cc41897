"""A task, compiled: the tree of its conditions, who hears what, and the digest that names the
whole.

Two logs scored under the same digest give the same rewards, byte for byte: the digest covers the
task, the version of every rule in it and the engine's own version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from detectors.matchers import third_party
from detectors.matchers.facts import split_path
from detectors.matchers.plain import ANY_KEY
from detectors.model.caches import SharedPart
from detectors.model.codec import canonical, sha256
from detectors.model.kinds import KINDS
from detectors.model.memory import size_of
from detectors.model.types import Condition, Event
from detectors.model.wire_versions import former_kinds
from detectors.sdk.arguments import parse_args
from detectors.sdk.condition_reads import told_on_request
from detectors.sdk.correlation import bound_reads, can_have
from detectors.sdk.documents import LoadedFrom, loaded_from, with_defaults
from detectors.sdk.registry import Composite, Keys, Rule, foreign, rules
from detectors.sdk.site import is_about_pages, origin_of
from detectors.task.guards import (
    Bearing,
    Role,
    conditions_of,
    milestone_bearings,
    parts_bearing,
)
from detectors.task.language import MilestoneSpec, Task
from detectors.task.part_index import GRAM, MIN_LEAVES, PartIndex
from detectors.task.probes import probe_plan
from detectors.task.source_dependencies import depends_on
from detectors.task.task_json import task_to_json

ENGINE_VERSION = 44
"""Raised whenever the same log and task would give another reward than before."""


ASKED = (
    "request_bodies",
    "response_bodies",
    "request_headers",
    "response_headers",
    "attributes",
    "elements",
    "around",
    "points",
    "selectors",
    "regions",
    "text_regions",
    "file_reads",
    "cookies",
)
"""What a rule's arguments may ask the daemon to keep, by the method ``asks`` → {name: items}."""


MAX_DEPENDENCIES_KEPT = 256
"""Sources and parts of which is remembered whether a rule depends on them."""


@dataclass(slots=True)
class ConditionNode:
    """One condition in the tree. ``role``: what it says of its owner, the milestone; ``parent`` is
    -1 at the top, ``place`` its index among the parent's children; ``binds``: what of its event it
    is remembered with (`same`); ``site``: the origins of the pages that it may be about, None for
    any; ``bearing``: whether its being true pays or guards; ``loaded``: what it requires of the
    load of the document that it is about; ``is_fined``: whether being true adds to a penalty, or
    takes back what was paid."""

    id: int
    rule: Rule | Composite
    args: Any
    owner: int
    role: Role
    parent: int = -1
    place: int = 0
    children: list[int] = field(default_factory=list)
    requires: tuple[int, ...] = ()
    binds: str | None = None
    site: frozenset[str] | None = None
    bearing: Bearing = Bearing.PAYS
    loaded: LoadedFrom | None = None
    is_fined: bool = False


@dataclass(slots=True)
class Slot:
    """Where one rule's leaves wait for one kind: by index key, by parts of one, and those that any
    event may hit."""

    index_event: Callable[[Event], Keys]
    keyed: dict[str, list[int]] = field(default_factory=dict)
    parted: dict[int, Keys] = field(default_factory=dict)
    open: list[int] = field(default_factory=list)
    by_parts: PartIndex | None = None

    def complete(self) -> Slot:
        """Index the parts of leaves, or ask each of them where they are few; then no leaf may be
        added. All that wait under a key wait under `ANY_KEY` too."""
        if self.keyed:
            keyed = (leaf for leaves in self.keyed.values() for leaf in leaves)
            self.keyed[ANY_KEY] = sorted(set(keyed))
        if len(self.parted) >= MIN_LEAVES:
            self.by_parts = PartIndex(self.parted)
        else:
            self.open = sorted([*self.open, *self.parted])
        return self

    def leaves(self, event: Event) -> list[int]:
        """The leaves that the event may hit."""
        if self.by_parts is not None:
            return self._leaves_with_parts(event, self.by_parts)
        if not self.keyed:
            return self.open
        keys, keyed = self.index_event(event), self.keyed
        if len(keys) == 1:  # as most events have
            hit = keyed.get(keys[0])
            return self.open if hit is None else [*self.open, *hit]
        hits = [hit for key in keys if (hit := keyed.get(key)) is not None]
        if not hits:
            return self.open
        if len(hits) == 1 and not self.open:
            return hits[0]
        return list(dict.fromkeys(leaf for hit in (self.open, *hits) for leaf in hit))

    def _leaves_with_parts(self, event: Event, by_parts: PartIndex) -> list[int]:
        keys = self.index_event(event)
        hits = [hit for key in keys if (hit := self.keyed.get(key)) is not None]
        found = (self.open, *hits, by_parts.leaves(keys))
        return list(dict.fromkeys(leaf for hit in found for leaf in hit))


@dataclass(slots=True)
class Ruleset:
    """See the module. ``share[i]``: what a full level of milestone i is worth, as part of the
    episode's reward; ``objective_share``: of each milestone of an objective, by its id, what a full
    level is worth there; ``gates[i]``: the node of its ``only_if``; ``negative[i]``: whether it
    rests on something *not* having happened; ``turning[i]``: the ids of all that it rests on,
    itself too, if more that happens there may be worth less; ``final[i]``: whether, once earned, it
    can't change any more: then its leaf need not be read again; ``metered``: whether a rule may
    cost as much as `detectors.model.budget` allows, and is not to be asked where others wait;
    ``handlers``: what an engine does with an event, by its kind, once one was made."""

    task: Task
    digest: str
    nodes: list[ConditionNode]
    slots: dict[str, list[Slot]]
    tops: list[int]
    gates: list[int | None]
    dependents: dict[int, list[int]]
    share: list[float]
    objective_share: dict[str, float]
    components: tuple[str, ...]
    index: dict[str, int]
    negative: list[bool]
    turning: list[frozenset[str]]
    final: list[bool]
    metered: bool
    handlers: dict[str, Callable[[Any, Event], None]] = field(default_factory=dict)
    _dependencies: dict[tuple[str, str | None], frozenset[int]] = field(default_factory=dict)
    _resting: dict[frozenset[int], frozenset[int]] = field(default_factory=dict)
    _shared: SharedPart | None = None

    @property
    def shared(self) -> SharedPart:
        """What this takes in memory, once for all engines that hold it."""
        if self._shared is None:
            self._shared = SharedPart(id(self), size_of([self]))
        return self._shared

    @property
    def hears(self) -> frozenset[str]:
        """The kinds that some rule of the task hears."""
        return frozenset(self.slots)

    @property
    def kept_probes(self) -> dict[str, list[tuple[str, ...]]]:
        """The probes whose answer at the start is compared with later ones, and the paths to what
        is compared."""
        kept: dict[str, list[tuple[str, ...]]] = {}
        for node in self.nodes:
            if node.rule.name == "probe_kept":
                kept.setdefault(node.args.probe, []).append(
                    split_path(node.args.path) if node.args.path else ()
                )
        return kept

    @property
    def sources(self) -> frozenset[str]:
        """The sources that the rules depend on: a gap in one of them blinds the step."""
        return frozenset(KINDS[kind].source for kind in self.slots if kind in KINDS)

    def find_dependencies(self) -> Iterator[set[int]]:
        """Yield of each milestone, in their order, the indices of itself and of all others that it
        rests on."""
        return _find_dependencies(self.task, self.nodes)

    def owners_of(self, source: str, of: str | None) -> frozenset[int]:
        """The milestones with a rule that depends on ``source``, or with ``of`` on that part of it
        (detectors/task/source_dependencies.py)."""
        known = self._dependencies.get((source, of))
        if known is None:
            if len(self._dependencies) >= MAX_DEPENDENCIES_KEPT:
                self._dependencies.clear()
            known = self._dependencies[source, of] = self._find_owners(source, of)
        return known

    def find_resting(self, owners: frozenset[int]) -> frozenset[int]:
        """The milestones that rest on one of ``owners``, themselves too."""
        known = self._resting.get(owners)
        if known is None:
            if len(self._resting) >= MAX_DEPENDENCIES_KEPT:
                self._resting.clear()
            known = self._resting[owners] = frozenset(
                n for n, rests_on in enumerate(self.find_dependencies()) if rests_on & owners
            )
        return known

    def find_revocable(self, owners: Iterable[int]) -> frozenset[int]:
        """Those of ``owners`` that may be taken back: themselves, or with one that they require."""
        revocable = {n for n, m in enumerate(self.task.milestones) if m.revoke_on is not None}
        waiting = list(revocable)
        while waiting:
            goals = self.dependents.get(waiting.pop(), ())
            above = {self.nodes[goal].owner for goal in goals} - revocable
            revocable |= above
            waiting += above
        return frozenset(revocable.intersection(owners))

    def _find_owners(self, source: str, of: str | None) -> frozenset[int]:
        return frozenset(
            node.owner
            for node in self.nodes
            if isinstance(node.rule, Rule)
            and depends_on(node.rule.heard_kinds(node.args), node.args, source, of)
        )

    @property
    def unplaced(self) -> tuple[str, ...]:
        """The milestones with a rule that any page meets, as the task names no origin."""
        if self.task.origin is not None:
            return ()
        found = {
            n.owner for n in self.nodes if isinstance(n.rule, Rule) and is_confined(n.rule, n.args)
        }
        return tuple(self.task.milestones[owner].id for owner in sorted(found))

    @property
    def has_goal(self) -> bool:
        """Whether a milestone of the task says what success is."""
        return any(self.nodes[top].rule.name == "goal" for top in self.tops)

    @property
    def attainable(self) -> float:
        """The most that an episode can be worth: the weights of the components that have
        milestones, but for shaped ones, with what its end may bring."""
        task = self.task
        earns = {m.component for m in task.milestones if m.penalty is None} - set(task.shaped)
        process = sum(weight for name, weight in sorted(task.weights.items()) if name in earns)
        end = max(0.0, task.outcome.success) * task.outcome.scale if task.outcome else 0.0
        return round(
            process * task.process + end + (task.efficiency.weight if task.efficiency else 0.0), 12
        )

    def plan(self, episode: str) -> dict[str, Any]:
        """What the daemon may know of the task: what to listen for, nothing of what would be
        right."""
        return {
            "episode": episode,
            "task": self.task.id,
            "digest": self.digest,
            # Daemons of an older wire version know some kinds by another name.
            "hears": sorted(
                {*self.hears, *(old for new in self.hears for old in former_kinds(new))}
            ),
            "guarded": self._guarded_kinds(),
            "quiet_ms": self.task.settings.quiet_ms,
            "settle_ms": self.task.settings.settle_ms,
            "text": "text.appeared" in self.slots or "text.disappeared" in self.slots,
            "origin": self.task.origin,
            "probes": [probe_plan(probe) for probe in self.task.probes],
            "tree_bytes": self.task.observations.page_bytes if self.task.observations else 0,
            **self._requested_captures(),
        }

    def _guarded_kinds(self) -> list[str]:
        """The kinds by which something that must not happen is known: of penalties, of what rests
        on something *not* having happened, and of all that these rest on."""
        direct = _direct_dependencies(self.task, self.nodes)
        owners = {
            other
            for n, m in enumerate(self.task.milestones)
            if m.penalty is not None or m.revoke_on is not None or self.negative[n]
            for other in _closure(n, direct)
        }
        return sorted(
            {
                kind
                for node in self.nodes
                if node.owner in owners and isinstance(node.rule, Rule)
                for kind in node.rule.heard_kinds(node.args)
            }
        )

    def _requested_captures(self) -> dict[str, list[Any]]:
        """What the rules ask of requests and pages beyond the kinds that they hear; nothing of what
        would be right."""
        asked: dict[str, list[Any]] = {name: [] for name in ASKED}
        for node in self.nodes:
            for name, items in _asks(node):
                if name not in asked:
                    wanted = ", ".join(ASKED)
                    raise TypeError(f"{node.rule.name}: asks: expected {wanted}, got {name}")
                asked[name].extend(item for item in items if item not in asked[name])
        return asked


def compile_task(task: Task) -> Ruleset:
    """Compile ``task``, which `task_from_json` has checked."""
    index = {m.id: n for n, m in enumerate(task.milestones)}
    nodes: list[ConditionNode] = []
    tops: list[int] = []
    gates: list[int | None] = []
    bearings = milestone_bearings(task)
    for n, milestone in enumerate(task.milestones):
        grown = {
            role: _grow(nodes, condition, n, role, bearing, task, index)
            for role, condition, bearing in conditions_of(milestone, bearings[n])
        }
        tops.append(grown["when"])
        gates.append(grown.get("only_if"))
    dependents: dict[int, list[int]] = {}
    for node in nodes:
        for required in node.requires:
            dependents.setdefault(required, []).append(node.id)
    return Ruleset(
        task=task,
        digest=_digest(task, nodes),
        nodes=nodes,
        slots=_slots(nodes),
        tops=tops,
        gates=gates,
        dependents=dependents,
        share=_shares(task),
        components=tuple(
            sorted({*(m.component for m in task.milestones), *task.endings} - set(task.objectives))
        ),
        objective_share=_objective_shares(task),
        index=index,
        negative=(negative := _negative(task, nodes)),
        turning=_turning(task, nodes, negative),
        final=[
            _is_final(task, m, nodes[top].rule)
            for m, top in zip(task.milestones, tops, strict=True)
        ],
        metered=third_party.is_metered(task_to_json(task)["milestones"]),
    )


def _grow(
    nodes: list[ConditionNode],
    condition: Condition,
    owner: int,
    role: Role,
    bearing: Bearing,
    task: Task,
    index: dict[str, int],
) -> int:
    found = rules()[condition.rule]
    parsed = parse_args(found.args, condition.args, (condition.rule,), task.origin)
    args = with_defaults(parsed, guards=Bearing.GUARDS in bearing)
    node = ConditionNode(len(nodes), found, args, owner, role, bearing=bearing)
    node.loaded = loaded_from(args)
    takes_away = task.milestones[owner].penalty is not None or role == "revoke_on"
    node.is_fined = takes_away and Bearing.GUARDS in bearing
    if task.origin is not None and isinstance(found, Rule) and is_confined(found, args):
        node.site = frozenset(
            origin_of(f"{one.rstrip('/')}/") for one in (task.origin, *task.hosts)
        )
    nodes.append(node)
    if condition.rule == "goal":
        node.requires = tuple(index[name] for name in args.requires)
    below = parts_bearing(found, args, bearing)
    for place, part in enumerate(condition.of):
        child = _grow(nodes, part, owner, role, below, task, index)
        nodes[child].parent, nodes[child].place = node.id, place
        node.children.append(child)
        if isinstance(found, Composite) and found.binds is not None:
            nodes[child].binds = found.binds(args, place)
    return node.id


def is_confined(found: Rule, args: Any) -> bool:
    """Whether the rule is about pages, and under ``args`` about those of the task's own site
    alone."""
    if getattr(args, "anywhere", True) or getattr(args, "url", None) is not None:
        return False
    return is_about_pages(found.heard_kinds(args))


def _negative(task: Task, nodes: list[ConditionNode]) -> list[bool]:
    """Of each milestone whether it rests on something not having happened."""
    negative = [bool(m.before) for m in task.milestones]
    for node in nodes:
        if isinstance(node.rule, Composite) and node.role != "revoke_on":
            negative[node.owner] |= node.rule.absent(node.args)
    return negative


def _is_final(task: Task, m: MilestoneSpec, rule: Rule | Composite) -> bool:
    plain = m.repeat == 1 and m.penalty is None and m.revoke_on is None and not m.must_hold_at_end
    return plain and m.component not in task.credit and isinstance(rule, Rule)


def _turning(task: Task, nodes: list[ConditionNode], negative: list[bool]) -> list[frozenset[str]]:
    """Of each milestone the ids of what it rests on, where any of that may be undone; else none."""
    can_be_undone = [negative[n] or m.revoke_on is not None for n, m in enumerate(task.milestones)]
    turning = []
    for dependencies in _find_dependencies(task, nodes):
        ids = frozenset[str]()
        if any(can_be_undone[other] for other in dependencies):
            ids = frozenset(task.milestones[other].id for other in dependencies)
        turning.append(ids)
    return turning


def _find_dependencies(task: Task, nodes: list[ConditionNode]) -> Iterator[set[int]]:
    """Yield of each milestone all that it rests on, itself too."""
    direct = _direct_dependencies(task, nodes)
    for n in range(len(direct)):
        yield _closure(n, direct)


def _direct_dependencies(task: Task, nodes: list[ConditionNode]) -> list[set[int]]:
    """Of each milestone itself and those that it names."""
    index = {m.id: n for n, m in enumerate(task.milestones)}
    direct: list[set[int]] = []
    for n, m in enumerate(task.milestones):
        names = [*m.after, *m.before]
        if m.since:
            names.append(m.since)
        direct.append({n, *(index[name] for name in names)})
    for node in nodes:
        direct[node.owner].update(node.requires)
    return direct


def _closure(start: int, direct: list[set[int]]) -> set[int]:
    """All that a milestone depends on, itself too, through whatever others."""
    reached: set[int] = set()
    waiting = [start]
    while waiting:
        n = waiting.pop()
        if n not in reached:
            reached.add(n)
            waiting.extend(direct[n])
    return reached


def _slots(nodes: list[ConditionNode]) -> dict[str, list[Slot]]:
    slots: dict[str, dict[Callable[[Event], Keys], Slot]] = {}
    for node in nodes:
        if not isinstance(node.rule, Rule):
            continue
        keys = node.rule.index_args(node.args)
        parts = _index_parts(node.rule, node.args) if keys is None else None
        for kind in node.rule.heard_kinds(node.args):
            # Rules that share an index function share its look-up.
            at = node.rule.index_event
            slot = slots.setdefault(kind, {}).setdefault(at, Slot(at))
            if parts is not None:
                slot.parted[node.id] = parts
            elif keys is None:
                slot.open.append(node.id)
            else:
                for key in dict.fromkeys(keys):
                    slot.keyed.setdefault(key, []).append(node.id)
    return {
        kind: [slot.complete() for slot in by_index.values()]
        for kind, by_index in sorted(slots.items())
    }


def _index_parts(rule: Rule, args: Any) -> Keys | None:
    """Return the parts that a condition can wait under, None where they are too short."""
    parts = rule.index_parts(args)
    if parts is None or max(map(len, parts), default=0) < GRAM:
        return None
    return parts


def _asks(node: ConditionNode) -> Iterator[tuple[str, list[Any]]]:
    if hasattr(node.args, "asks"):
        yield from node.args.asks().items()
    if node.binds is not None and isinstance(node.rule, Rule):
        for kind in node.rule.heard_kinds(node.args):
            if can_have(kind, node.binds):
                yield from told_on_request(kind, bound_reads(node.binds)).items()


def _shares(task: Task) -> list[float]:
    """w_c times each milestone's part of its component (docs/rewards.md): positive weights
    normalised to 1."""
    peers: dict[str, list[float]] = {}
    for m in task.milestones:
        if m.penalty is None:
            peers.setdefault(m.component, []).append(m.weight)
    sums = {component: sum(weights) for component, weights in peers.items()}
    return [
        (
            -m.penalty * task.process
            if m.penalty is not None
            else task.process * task.weights.get(m.component, 0.0) * m.weight / sums[m.component]
        )
        for m in task.milestones
    ]


def _objective_shares(task: Task) -> dict[str, float]:
    """What each objective comes to, times each of its milestones' part of it."""
    sums = {
        name: sum(m.weight for m in task.milestones if m.component == name)
        for name in task.objectives
    }
    return {
        m.id: task.objectives[m.component] * m.weight / sums[m.component]
        for m in task.milestones
        if m.component in task.objectives
    }


def _digest(task: Task, nodes: list[ConditionNode]) -> str:
    versions = {node.rule.name: node.rule.version for node in nodes}
    spec = task_to_json(task)
    libraries = third_party.versions(spec["milestones"])
    others = {name: origin for name in versions if (origin := foreign(name)) is not None}
    said = {"engine": ENGINE_VERSION, "rules": versions, "libraries": libraries, "task": spec}
    return sha256(canonical(said | ({"plugins": others} if others else {})))
