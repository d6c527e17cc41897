"""How conditions stand: readings of leaves, carried up the tree to the milestones that wait for
them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from detectors.engine.state import State
from detectors.matchers.faults import Fault
from detectors.model.budget import MAX_EPISODE, MAX_EVENT, Meter
from detectors.model.codec import sha256
from detectors.model.errors import BudgetError, UnseenError
from detectors.model.types import Alarm, Event, Reading
from detectors.sdk.correlation import HIDDEN, value_of
from detectors.sdk.registry import Composite, Moment, Rule, Standing
from detectors.sdk.site import is_at
from detectors.sdk.world import REPLACES, fields_left, form_of, invalidated
from detectors.task.ruleset import ConditionNode, Ruleset

MAX_KEYS = 64
"""Keys remembered of one leaf: tabs, fields, files under which its fact is true now."""

MAX_EVIDENCE = 64

MAX_KEY = 96

MAX_ALARMS = 64
"""Alarms of one batch of events."""

MAX_BOUND = 32
"""Values remembered of one leaf, of those that it was true about (`same`)."""

Report = Callable[[ConditionNode, Standing, str, Event], None]
"""Told of each reading at the top of a milestone's tree: (node, standing, key, event)."""


class Conditions:
    """The tree of one ruleset over one episode's state."""

    required: Callable[[ConditionNode], tuple[Standing, ...]]
    """How the milestones stand that a goal requires; set by the engine."""

    unseen: Callable[[ConditionNode, UnseenError, Event], bool]
    """Told of what nobody saw, before anything of the event is applied: (leaf, why, event); whether to suppose that it
    was as wanted. Set by the engine."""

    faults: list[Fault]
    """What matchers threw while the leaves were read; the engine makes it anew for each batch."""

    meter: Meter
    """What is left of the budget of the event at hand; the engine makes it anew for each batch."""

    def __init__(self, ruleset: Ruleset, state: State, report: Report) -> None:
        self._nodes, self._slots = ruleset.nodes, ruleset.slots
        self._state, self._report = state, report
        self._ticking = [
            n.id for n in ruleset.nodes if isinstance(n.rule, Composite) and n.rule.ticks
        ]
        self._holders: dict[str, set[int]] = {}
        self._risen: dict[tuple[int, str], None] = {}
        self._supposed: set[int] = set()
        self.faults = []
        self.alarms: dict[Alarm, None] = {}
        self.meter = Meter()
        self.settled: set[int] = set()
        for owner, award in state.awards.items():
            if award.earned and ruleset.final[owner]:
                self.settled.add(ruleset.tops[owner])
        self._forms: dict[str, int] = {}  # of the keys that are held, how many have each
        for leaf, standing in state.standings.items():
            for key in () if leaf in self.settled else standing.keys or ():
                self._retain(key, leaf)

    def standing(self, node: ConditionNode) -> Standing:
        """How a condition stands; made on first use."""
        found = self._state.standings.get(node.id)
        if found is None:
            initial = node.rule.initial if isinstance(node.rule, Composite) else 0.0
            found = self._state.standings[node.id] = Standing(initial, initial)
        return found

    def settle(self, node: ConditionNode) -> None:
        """The leaf's milestone is earned for good: it is not read any more, and nothing can make it
        untrue."""
        self.settled.add(node.id)
        for key in self.standing(node).keys or ():
            self._release(key, node.id)

    def stale(self, event: Event) -> tuple[str, ...]:
        """The keys whose readings an event of a `STATEFUL` kind replaces, of those that any has;
        asked before the world takes the event in."""
        # Asks for the few forms of one kind: of those that are held there may be many.
        if self._forms.keys().isdisjoint(REPLACES[event.kind]):
            return ()
        holders = self._holders
        told = invalidated(event, self._state.world)
        if "field" in self._forms:
            told += fields_left(event, self._state.world)
        return tuple(
            [
                key
                for long in told
                if (key := long if len(long) <= MAX_KEY else short_key(long)) in holders
            ]
        )

    def read(self, event: Event, stale: tuple[str, ...]) -> None:
        """Let every leaf that hears the event read it, then drop what it made untrue."""
        asked = self._candidate_leaves(event)
        if not asked and not stale:
            return  # as most events go
        baseline = not self._state.is_live(event)
        self._supposed.clear()
        allowed = self.meter.left = max(0, min(MAX_EVENT, MAX_EPISODE - self._state.spent))
        read: list[tuple[int, Reading]] = []
        for leaf in asked:
            node = self._nodes[leaf]
            assert isinstance(node.rule, Rule)
            if baseline and node.rule.occurs(node.args):
                continue  # what happened before the agent began, or unseen, was not its doing
            try:
                for reading in self._readings(node, event):
                    long = len(reading.key) > MAX_KEY
                    read.append(
                        (leaf, reading._replace(key=short_key(reading.key)) if long else reading)
                    )
            except (UnseenError, BudgetError) as error:
                unseen = self._beyond(node, error) if isinstance(error, BudgetError) else error
                supposed = self.unseen(node, unseen, event)
                taken = unseen.could if supposed else unseen.known
                if supposed:
                    self._supposed.add(leaf)
                if taken is not None:
                    read.append((leaf, taken._replace(key=short_key(taken.key))))
            except Exception as error:  # noqa: BLE001 - a rule, perhaps of others, met what it was not made for
                self._failed(node.rule.name, error, event)
            if self.faults:
                self._raise_alarms(node.rule.name, event)
        self._state.spent += allowed - self.meter.left
        if not read and not stale:
            return
        if stale:
            kept = {(leaf, reading.key) for leaf, reading in read}
            for key in stale:
                dropped = sorted(self._holders.get(key, ()))
                fallen = (leaf for leaf in dropped if (leaf, key) not in kept)
                read.extend((leaf, Reading(0.0, key)) for leaf in fallen)
        if len(read) > 1:
            read.sort(key=lambda pair: pair[0])
        for leaf, reading in read:
            self._apply(self._nodes[leaf], reading, event)
        self._tell(event)

    def _readings(self, node: ConditionNode, event: Event) -> Iterable[Reading]:
        """What the leaf reads in the event; nothing where that comes from a page of another site
        than the task's."""
        assert isinstance(node.rule, Rule)
        world = self._state.world
        here = True if node.site is None else is_at(event, world, node.site)
        if here is False:
            return ()
        found = node.rule.read(event, world, node.args)
        if (
            here is None
            and (could := next((reading for reading in found if reading.level > 0), None))
            is not None
        ):
            raise UnseenError("the address of the page is not known any more", could)
        return () if here is None else found

    def _candidate_leaves(self, event: Event) -> list[int]:
        """The leaves that the event may hit and that are read still."""
        found: list[int] = []
        for slot in self._slots.get(event.kind, ()):
            try:
                leaves = slot.leaves(event)
            except Exception as error:  # noqa: BLE001 - as in `read`
                self._failed("an index of rules", error, event)
                continue
            if leaves:
                found += leaves
        return (
            [leaf for leaf in found if leaf not in self.settled]
            if found and self.settled
            else found
        )

    def _failed(self, what: str, error: Exception, event: Event) -> None:
        """A log that a rule can't read is a log all the same: what it would have said of the event
        is not known."""
        if isinstance(error, MemoryError | ImportError):
            raise error  # that is the machine's, and another's replay would not have it
        # Not the error's own words: they may have a page's in them.
        self._state.blind.setdefault("rules", [event.seq, f"{what} failed: {type(error).__name__}"])

    def _beyond(self, node: ConditionNode, error: BudgetError) -> UnseenError:
        """Nobody knows what the rule would have said, which is told; ``could`` is that it was
        fulfilled."""
        self.faults.append(Fault(error.what, "BudgetError"))
        return UnseenError(
            f"{error.what} is over its budget", Reading(1.0, f"budget:{node.rule.name}")
        )

    def _raise_alarms(self, rule: str, event: Event) -> None:
        """What a matcher threw is told, and changes nothing else: it has not matched."""
        for fault in self.faults:
            if len(self.alarms) < MAX_ALARMS:
                self.alarms[Alarm(event.seq, rule, *fault)] = None
        self.faults.clear()

    def _apply(self, node: ConditionNode, reading: Reading, event: Event) -> None:
        standing = self.standing(node)
        before = standing.now
        keys = standing.keys = {} if standing.keys is None else standing.keys
        was = keys.get(reading.key, 0.0)
        self._hold(keys, reading, node.id)
        standing.now = max(keys.values(), default=0.0)
        standing.best = max(standing.best, standing.now) if self._state.began else standing.now
        if reading.level > 0:
            others = reading.evidence
            standing.at = (
                tuple(sorted({*others, event.seq}))[-MAX_EVIDENCE:] if others else (event.seq,)
            )
            standing.cause = reading.cause
            if reading.level >= 1.0:
                standing.when = self.moment(event)
                self._bind(node, standing, event)
        # A count goes by the things, of which one may end while another stays.
        if (
            standing.now != before
            or reading.level >= 1.0
            or (was != reading.level and node.parent >= 0)
        ):
            self._rise(node, reading.key, event)

    def _bind(self, node: ConditionNode, standing: Standing, event: Event) -> None:
        """Under `same`: remember what the leaf was true about, the first time and the last."""
        value = value_of(event, node.binds) if node.binds is not None else None
        if value is None and node.binds is not None and node.id in self._supposed:
            value = HIDDEN
        if value is None:
            return
        bound = standing.bound = {} if standing.bound is None else standing.bound
        first = bound.pop(value, (event.seq,))[0]
        bound[value] = [first, event.seq]
        if len(bound) > MAX_BOUND:
            del bound[next(iter(bound))]

    def moment(self, event: Event) -> Moment:
        """When the event happens, as composites are told."""
        return Moment(event.seq, event.at, self._state.steps, self._state.is_live(event))

    def tick(self, event: Event) -> None:
        """Let the conditions that wait for time look at it: at a step's begin and seal, and at the
        close."""
        for id in self._ticking:
            node = self._nodes[id]
            if (own := self._state.standings.get(id)) and self.combine(node, own, 0, event):
                self._rise(node, "", event)
        self._tell(event)

    def _hold(self, keys: dict[str, float], reading: Reading, leaf: int) -> None:
        keys.pop(reading.key, None)
        if reading.level > 0:
            keys[reading.key] = reading.level
            self._retain(reading.key, leaf)
            while len(keys) > MAX_KEYS:
                oldest = next(iter(keys))
                del keys[oldest]
                self._release(oldest, leaf)
        else:
            self._release(reading.key, leaf)

    def _retain(self, key: str, leaf: int) -> None:
        holders = self._holders.get(key)
        if holders is None:
            holders = self._holders[key] = set()
            form = form_of(key)
            self._forms[form] = self._forms.get(form, 0) + 1
        holders.add(leaf)

    def _release(self, key: str, leaf: int) -> None:
        holders = self._holders.get(key)
        if holders is not None:
            holders.discard(leaf)
            if not holders:
                del self._holders[key]
                form = form_of(key)
                self._forms[form] -= 1
                if not self._forms[form]:
                    del self._forms[form]

    def _rise(self, node: ConditionNode, key: str, event: Event) -> None:
        if node.parent < 0:
            self._risen[node.id, key] = None
            return
        parent = self._nodes[node.parent]
        if self.combine(parent, self.standing(parent), node.place, event):
            self._rise(parent, "", event)

    def _tell(self, event: Event) -> None:
        """Report what rose, once all that the event is about was read: a gate or a count that the
        same event breaks is broken before anything is paid."""
        if not self._risen:
            return
        risen, self._risen = self._risen, {}
        for id, key in risen:
            node = self._nodes[id]
            self._report(node, self.standing(node), key, event)

    def combine(self, node: ConditionNode, own: Standing, place: int, event: Event) -> bool:
        """Recompute a composite after its part at ``place`` was read; whether that is news to
        whoever waits."""
        assert isinstance(node.rule, Composite)
        parts = [self.standing(self._nodes[child]) for child in node.children]
        parts.extend(self.required(node))
        before = own.now
        own.now = node.rule.combine(parts, own, place, self.moment(event), node.args)
        own.best = max(own.best, own.now) if node.rule.latches and self._state.began else own.now
        # That something did not happen has no event to show; what time made true keeps the event
        # that showed it.
        if own.now > 0 and node.rule.latches and not (node.rule.ticks and before >= 1.0):
            seqs = {s for part in parts if part.best > 0 for s in part.at}
            own.at = tuple(sorted(seqs))[-MAX_EVIDENCE:]
            own.cause = next((part.cause for part in parts if part.cause is not None), None)
        if own.now > before and (node.rule.latches or node.parent < 0):
            # What became truer because something else ended has no event among its parts'. Only
            # below another condition a none_of has no moment of its own: it is waited for by nobody
            # (`sequence`).
            own.at = tuple(sorted({*(own.at if node.rule.latches else ()), event.seq}))[
                -MAX_EVIDENCE:
            ]
        if own.now >= 1.0 and own.now != before:
            own.when = self.moment(event)
        return own.now != before or (own.now >= 1.0 and not node.rule.ticks)

    def level(self, node: ConditionNode) -> float:
        """How true the condition is at this moment, nothing latched but what happened: for what
        must hold."""
        standing = self.standing(node)
        if isinstance(node.rule, Rule) or node.rule.present is None:
            return standing.now
        parts = [self.level(self._nodes[child]) for child in node.children]
        parts.extend(required.now for required in self.required(node))
        here = node.rule.present(parts)
        return here if getattr(node.args, "within", None) is None else min(here, standing.now)

    def forget(self, node: ConditionNode) -> None:
        """Forget a condition and its parts: what was revoked must be done again, not merely
        remembered."""
        standing = self._state.standings.pop(node.id, None)
        for key in (standing.keys if standing else None) or ():
            self._release(key, node.id)
        self.settled.discard(node.id)
        for child in node.children:
            self.forget(self._nodes[child])


def short_key(key: str) -> str:
    """The key itself, or for a long one its beginning and its hash: pages may use names of any
    length."""
    return (
        key
        if len(key) <= MAX_KEY
        else f"{key[:48]}#{sha256(key.encode('utf-8', 'surrogatepass'))[:32]}"
    )
