"""How conditions stand: readings of leaves, carried up the tree to the milestones that wait for
them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from detectors.engine.counterfactual import Counterfactuals
from detectors.engine.held_keys import MAX_KEY, HeldKeys, short_key
from detectors.engine.missing_combinations import MissingCombinations
from detectors.engine.state import ALL, State
from detectors.matchers.faults import Fault, collected
from detectors.model.budget import MAX_EPISODE, MAX_EVENT, Meter, metered
from detectors.model.errors import BudgetError, UnseenError
from detectors.model.types import Alarm, Event, Reading
from detectors.sdk.correlation import HIDDEN, hides_value, value_of
from detectors.sdk.documents import UNKNOWN_LOAD
from detectors.sdk.file_reads import ReadArgs, check_guard
from detectors.sdk.kept_back import MASKED
from detectors.sdk.registry import Composite, Moment, Rule, Standing
from detectors.sdk.site import UNKNOWN_SITE, judge_site, may_be_made_by_site
from detectors.sdk.world import REPLACES, SHOWN, documents_left, fields_left, invalidated_keys
from detectors.task.guards import Bearing
from detectors.task.ruleset import ConditionNode, Ruleset

MAX_KEYS = 64
"""Keys remembered of one leaf: tabs, fields, files under which its fact is true now."""

MAX_EVIDENCE = 64

MAX_ALARMS = 64
"""Alarms of one batch of events."""

MAX_BOUND = 32
"""Values remembered of one leaf, of those that it was true about (`same`)."""

Risen = tuple[ConditionNode, str]
"""A condition at the top of a milestone's tree that was read, and the key of the reading."""


class Conditions:
    """The tree of one ruleset over one episode's state."""

    def __init__(self, ruleset: Ruleset, state: State, counterfactuals: Counterfactuals) -> None:
        self._nodes, self._slots, self._tops = ruleset.nodes, ruleset.slots, ruleset.tops
        self._state, self._counterfactuals = state, counterfactuals
        self._ticking = [n for n in ruleset.nodes if isinstance(n.rule, Composite) and n.rule.ticks]
        self._risen: dict[tuple[int, str], None] = {}
        self._supposed: set[int] = set()
        # Whether the event at hand comes from a page of these sites: asked once for all leaves.
        self._sites: dict[frozenset[str], bool | None] = {}
        self._faults: list[Fault] = []
        self._alarms: dict[Alarm, None] = {}
        self._meter = Meter()
        self._settled = {
            ruleset.tops[owner]
            for owner, award in state.awards.items()
            if award.earned and ruleset.final[owner]
        }
        self._missing_combinations = MissingCombinations(ruleset, state)
        self._held = HeldKeys()
        for leaf, standing in state.standings.items():
            if leaf not in self._settled:
                for key in standing.keys or ():
                    self._held.hold(key, leaf)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Collect what matchers throw, and meter what they cost, while a batch of events is
        read."""
        with collected() as self._faults, metered() as self._meter:
            yield

    def take_alarms(self) -> list[Alarm]:
        """Return the alarms of the batch, and forget them."""
        alarms, self._alarms = list(self._alarms), {}
        return alarms

    def memory(self) -> list[object]:
        """The roots of what is held beside the state; see detectors/engine/footprint.py."""
        return [
            self._risen,
            self._supposed,
            self._alarms,
            self._settled,
            self._missing_combinations.affected,
            self._held,
        ]

    def standing(self, node: ConditionNode) -> Standing:
        """How a condition stands; made on first use."""
        standing = self._state.standings.get(node.id)
        if standing is None:
            initial = node.rule.initial if isinstance(node.rule, Composite) else 0.0
            standing = self._state.standings[node.id] = Standing(initial, initial)
        return standing

    def required(self, node: ConditionNode) -> list[Standing]:
        """How the milestones stand that the goal ``node`` requires."""
        standings = []
        for n in node.requires:
            level = 1.0 if self._state.award(n).met else 0.0
            evidence = self.standing(self._nodes[self._tops[n]]).at
            standings.append(Standing(level, level, evidence if level else ()))
        return standings

    def settle(self, node: ConditionNode) -> None:
        """Read the leaf no more: its milestone is earned for good, and nothing can make it
        untrue."""
        self._settled.add(node.id)
        for key in self.standing(node).keys or ():
            self._held.release(key, node.id)

    def stale(self, event: Event) -> tuple[str, ...]:
        """The keys whose readings an event of a `STATEFUL` kind replaces, of those that any has;
        asked before the world takes the event in."""
        forms = self._held.forms
        if forms.keys().isdisjoint(REPLACES[event.kind]):
            return ()
        world = self._state.world
        keys = invalidated_keys(event, world)
        if "field" in forms:
            keys += fields_left(event, world)
        held = self._held.select_held(keys)
        if not forms.keys().isdisjoint(SHOWN) and (ended := documents_left(event, world)):
            held += self._held.select_below(ended)
        return held

    def may_drop(self, kind: str) -> bool:
        """Whether an event of a `STATEFUL` kind may replace a reading that any leaf has."""
        return not self._held.forms.keys().isdisjoint(REPLACES[kind])

    def read(self, event: Event, stale: tuple[str, ...]) -> Iterable[Risen]:
        """Let every leaf that hears the event read it, then drop what it made untrue. Returns what
        came of it at the tops, once all that the event is about was read: a gate or a count that
        the same event breaks is broken before anything is paid."""
        leaves = self._candidate_leaves(event)
        if not leaves and not stale:
            return ()  # as with most events
        readings = self._read_leaves(leaves, event)
        if stale:
            self._drop_stale(stale, readings)
        if self._state.unclear:
            owners = {self._nodes[leaf].owner for leaf, _ in readings}
            self._missing_combinations.check_reading(owners, event)
        if len(readings) > 1:
            readings.sort(key=_leaf_of)
        for leaf, reading in readings:
            self._apply(self._nodes[leaf], reading, event)
        return self._take_risen()

    def tick(self, event: Event) -> Iterable[Risen]:
        """Let the conditions that wait for time look at it: at a step's begin and seal, and at the
        close."""
        if self._state.misses_combinations:
            self._missing_combinations.check_reading({node.owner for node in self._ticking}, event)
        for node in self._ticking:
            own = self._state.standings.get(node.id)
            if own is not None and self.combine(node, own, 0, event):
                self._rise(node, "", event)
        return self._take_risen()

    def _candidate_leaves(self, event: Event) -> list[int]:
        """The leaves that the event may hit and that are read still."""
        candidates: list[int] = []
        for slot in self._slots.get(event.kind, ()):
            try:
                leaves = slot.leaves(event)
            except Exception as error:  # noqa: BLE001 - as in `_read_leaves`
                self._mark_failure("an index of rules", error, event, range(len(self._tops)))
                continue
            if leaves:
                candidates += leaves
        if candidates and self._settled:
            return [leaf for leaf in candidates if leaf not in self._settled]
        return candidates

    def _read_leaves(self, leaves: list[int], event: Event) -> list[tuple[int, Reading]]:
        """What each of the leaves reads in the event, within the budget of the episode."""
        baseline = not self._state.is_live(event)
        self._supposed.clear()
        self._sites.clear()
        allowed = self._meter.left = max(0, min(MAX_EVENT, MAX_EPISODE - self._state.spent))
        readings: list[tuple[int, Reading]] = []
        for leaf in leaves:
            node = self._nodes[leaf]
            assert isinstance(node.rule, Rule)
            if baseline and node.rule.occurs(node.args):
                continue  # what happened before the agent began, or unseen, was not its doing
            try:
                for reading in self._readings(node, event):
                    readings.append((leaf, _with_short_key(reading)))
            except (UnseenError, BudgetError) as error:
                reading_or_none = self._read_unknowable(node, error, event)
                if reading_or_none is not None:
                    readings.append((leaf, _with_short_key(reading_or_none)))
            except Exception as error:  # noqa: BLE001 - a rule, perhaps of others, met what it was not made for
                self._mark_failure(node.rule.name, error, event, (node.owner,))
            if self._faults:
                self._raise_alarms(node.rule.name, event)
        self._state.spent += allowed - self._meter.left
        return readings

    def _readings(self, node: ConditionNode, event: Event) -> Iterable[Reading]:
        """What the leaf reads in the event; nothing where that comes from a page of another site
        than the task's, or of a document that was loaded from another address. Raises `UnseenError`
        where the site, or the address, is not known."""
        assert isinstance(node.rule, Rule)
        world = self._state.world
        is_here = self._is_at_site(node, event)
        if is_here is False:
            return ()
        is_loaded = node.loaded is None or node.loaded.judge(event, world)
        if is_loaded is False:
            return ()
        readings = node.rule.read(event, world, node.args)
        if Bearing.GUARDS in node.bearing and isinstance(node.args, ReadArgs):
            readings = check_guard(
                readings, event, node.args, is_so=self._counts_as_so(node, event)
            )
        if is_here and is_loaded:
            return _check_bound(readings, node, event)
        unknown = UNKNOWN_LOAD if is_here else UNKNOWN_SITE
        for reading in readings:
            if reading.level > 0:
                raise UnseenError(unknown, reading)
        return ()

    def _is_at_site(self, node: ConditionNode, event: Event) -> bool | None:
        """Whether the event comes from a page of the leaf's site, None where that is not known. To
        a guard the documents and downloads that such a page may have made by script are its own;
        what a leaf both pays and guards is not known there."""
        world = self._state.world
        if node.site is None:
            return True
        if node.site not in self._sites:
            self._sites[node.site] = judge_site(event, world, node.site)
        is_here = self._sites[node.site]
        if is_here is not False or Bearing.GUARDS not in node.bearing:
            return is_here
        may_be_made = may_be_made_by_site(event, world, node.site)
        if may_be_made and node.bearing is not Bearing.GUARDS:
            return None
        return may_be_made

    def _counts_as_so(self, node: ConditionNode, event: Event) -> bool:
        """Whether the leaf is so in a file that nobody can read: where its absence alone is paid,
        and the agent may have made the file unreadable."""
        is_live = self._state.is_live(event)
        return is_live and node.bearing is Bearing.GUARDS and not node.is_fined

    def _read_unknowable(
        self, node: ConditionNode, error: UnseenError | BudgetError, event: Event
    ) -> Reading | None:
        """What to go on with where a rule can't know what it is asked, or is over its budget: what
        it knows, in a counterfactual what may be."""
        if isinstance(error, BudgetError):
            self._faults.append(Fault(error.what, "BudgetError"))
            could = Reading(1.0, f"budget:{node.rule.name}")
            error = UnseenError(f"{error.what} is over its budget", could)
        if not self._counterfactuals.suppose(node, error, event):
            return error.known
        self._supposed.add(node.id)
        return error.could

    def _mark_failure(
        self, what: str, error: Exception, event: Event, owners: Iterable[int]
    ) -> None:
        """Mark the step: a log that a rule can't read is a log all the same, and what it would have
        read in the event, for the milestones ``owners``, is not known."""
        if isinstance(error, MemoryError | ImportError):
            raise error  # that is the machine's, and another's replay would not have it
        # Not the error's own words: they may have a page's in them.
        self._state.blind.setdefault("rules", [event.seq, f"{what} failed: {type(error).__name__}"])
        self._state.refuse(owners)
        self._state.doubt_owners((ALL,))

    def _raise_alarms(self, rule: str, event: Event) -> None:
        """Report what a matcher threw; it changes nothing else: it has not matched."""
        for fault in self._faults:
            if len(self._alarms) < MAX_ALARMS:
                self._alarms[Alarm(event.seq, rule, *fault)] = None
        self._faults.clear()

    def _drop_stale(self, stale: tuple[str, ...], readings: list[tuple[int, Reading]]) -> None:
        """Add to ``readings`` that what was read under stale keys is true no more, but where it was
        read again."""
        confirmed = {(leaf, reading.key) for leaf, reading in readings}
        for key in stale:
            for leaf in self._held.leaves(key):
                if (leaf, key) not in confirmed:
                    readings.append((leaf, Reading(0.0, key)))

    def _apply(self, node: ConditionNode, reading: Reading, event: Event) -> None:
        standing = self.standing(node)
        before = standing.now
        if standing.keys is None:
            standing.keys = {}
        level_before = standing.keys.get(reading.key, 0.0)
        self._hold(standing.keys, reading, node.id)
        standing.now = max(standing.keys.values(), default=0.0)
        standing.best = max(standing.best, standing.now) if self._state.began else standing.now
        if reading.level > 0:
            standing.at = _evidence(reading, event)
            standing.cause = reading.cause
        is_full = reading.level >= 1.0
        if is_full:
            standing.when = self.moment(event)
            self._bind(node, standing, event)
        # A count goes by the things, of which one may end while another stays.
        counts = level_before != reading.level and node.parent >= 0
        if standing.now != before or is_full or counts:
            self._rise(node, reading.key, event)

    def _bind(self, node: ConditionNode, standing: Standing, event: Event) -> None:
        """Under `same`: remember what the leaf was true about, the first time and the last."""
        if node.binds is None:
            return
        value = value_of(event, node.binds)
        if value is None:
            if node.id not in self._supposed:
                return
            value = HIDDEN
        if standing.bound is None:
            standing.bound = {}
        bound = standing.bound
        first = bound.pop(value, (event.seq,))[0]
        bound[value] = [first, event.seq]
        if len(bound) > MAX_BOUND:
            del bound[next(iter(bound))]

    def moment(self, event: Event) -> Moment:
        """When the event happens, as composites see it."""
        return Moment(event.seq, event.at, self._state.steps, self._state.is_live(event))

    def _hold(self, keys: dict[str, float], reading: Reading, leaf: int) -> None:
        keys.pop(reading.key, None)
        if reading.level <= 0:
            self._held.release(reading.key, leaf)
            return
        keys[reading.key] = reading.level
        self._held.hold(reading.key, leaf)
        while len(keys) > MAX_KEYS:
            oldest = next(iter(keys))
            del keys[oldest]
            self._held.release(oldest, leaf)

    def _rise(self, node: ConditionNode, key: str, event: Event) -> None:
        """Carry a reading up to the top of its tree."""
        if node.parent < 0:
            self._risen[node.id, key] = None
            return
        parent = self._nodes[node.parent]
        if self.combine(parent, self.standing(parent), node.place, event):
            self._rise(parent, "", event)

    def _take_risen(self) -> Iterable[Risen]:
        if not self._risen:
            return ()
        risen, self._risen = self._risen, {}
        return [(self._nodes[id], key) for id, key in risen]

    def combine(self, node: ConditionNode, own: Standing, place: int, event: Event) -> bool:
        """Recompute a composite after its part at ``place`` was read; return whether that is news
        for the conditions and milestones above it."""
        rule = node.rule
        assert isinstance(rule, Composite)
        parts = [self.standing(self._nodes[child]) for child in node.children]
        parts += self.required(node)
        before = own.now
        own.now = rule.combine(parts, own, place, self.moment(event), node.args)
        own.best = max(own.best, own.now) if rule.latches and self._state.began else own.now
        _update_evidence(own, parts, node, before, event)
        changed = own.now != before
        if own.now >= 1.0 and changed:
            own.when = self.moment(event)
        return changed or (own.now >= 1.0 and not rule.ticks)

    def level(self, node: ConditionNode) -> float:
        """How true the condition is at this moment, nothing latched but what happened: for what
        must hold."""
        standing = self.standing(node)
        if isinstance(node.rule, Rule) or node.rule.present is None:
            return standing.now
        parts = [self.level(self._nodes[child]) for child in node.children]
        parts.extend(required.now for required in self.required(node))
        level = node.rule.present(parts)
        if getattr(node.args, "within", None) is None:
            return level
        return min(level, standing.now)

    def forget(self, node: ConditionNode) -> None:
        """Forget a condition and its parts: what was revoked must be done again, not merely
        remembered."""
        standing = self._state.standings.pop(node.id, None)
        if standing is not None:
            for key in standing.keys or ():
                self._held.release(key, node.id)
        self._settled.discard(node.id)
        for child in node.children:
            self.forget(self._nodes[child])


def _leaf_of(entry: tuple[int, Reading]) -> int:
    return entry[0]


def _with_short_key(reading: Reading) -> Reading:
    if len(reading.key) <= MAX_KEY:
        return reading
    return reading._replace(key=short_key(reading.key))


def _latest(seqs: Iterable[int]) -> tuple[int, ...]:
    """The latest of the events, in their order."""
    return tuple(sorted(seqs))[-MAX_EVIDENCE:]


def _evidence(reading: Reading, event: Event) -> tuple[int, ...]:
    """The events that show a reading: the one that was read, with those that the rule names."""
    if not reading.evidence:
        return (event.seq,)
    return _latest({*reading.evidence, event.seq})


def _update_evidence(
    own: Standing, parts: list[Standing], node: ConditionNode, before: float, event: Event
) -> None:
    """Name the events that show how a composite stands, where its level was ``before``."""
    rule = node.rule
    assert isinstance(rule, Composite)
    # That something did not happen has no event to show; what time made true keeps the event that
    # showed it.
    keeps_evidence = rule.ticks and before >= 1.0
    if own.now > 0 and rule.latches and not keeps_evidence:
        own.at = _evidence_of_parts(parts)
        own.cause = next((part.cause for part in parts if part.cause is not None), None)
    if own.now <= before:
        return
    # What became truer because something else ended has no event among its parts'. Only below
    # another condition a none_of has no moment of its own: nothing waits for it (`sequence`).
    if rule.latches:
        own.at = _latest({*own.at, event.seq})
    elif node.parent < 0:
        own.at = (event.seq,)


def _evidence_of_parts(parts: Iterable[Standing]) -> tuple[int, ...]:
    """The events that show the parts which came true."""
    return _latest({seq for part in parts if part.best > 0 for seq in part.at})


def _check_bound(
    readings: Iterable[Reading], node: ConditionNode, event: Event
) -> Iterable[Reading]:
    """Return the readings. Raises `UnseenError` where the leaf is true, and under `same` nobody
    knows what about: it was masked."""
    if node.binds is None or not hides_value(event, node.binds):
        return readings
    found = list(readings)
    for reading in found:
        if reading.level > 0:
            raise UnseenError(MASKED, reading)
    return found
