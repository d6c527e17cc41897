"""The nearest miss: of all events that a condition heard, the one that failed by least, and how.

A rule is asked again with some of its arguments let go: what it then takes shows which of them the
event failed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import Any

from api.rewards.event_text import clip, line
from api.rewards.rendering import value_in_words
from detectors.matchers import FactsMatch
from detectors.matchers.facts import split_path, value_at
from detectors.matchers.masked import BodyVerdict
from detectors.matchers.state import StateVerdict
from detectors.model.errors import BudgetError, UnseenError
from detectors.model.safe_json import mapping
from detectors.model.types import Event
from detectors.sdk.arguments import MATCHERS
from detectors.sdk.decorators import by_script
from detectors.sdk.documents import document_of
from detectors.sdk.registry import Rule, foreign, rules
from detectors.sdk.site import judge_site
from detectors.sdk.world import World
from detectors.task.ruleset import ConditionNode

BY_SCRIPT = "only page script put that address there"
BY_WORKER = "a service worker made its document, and no server did"
_MADE_UP = "about:service-worker"
"""Where such a document was loaded from (`page.navigated`)."""
_PLACES = ("element", "widget", "form")


class _Anything:
    """Stands for an argument that is let go: it takes all, and has what the rules ask of a matcher,
    whichever."""

    origin = path = ""
    way = "linear"
    by_beginning = True
    OF_ADDRESS = False
    typed = None

    def matches(self, value: object, *options: object) -> bool:
        return True

    is_at = may_be_at = holds = names = matches_json = matches_beginning = judged = matches
    judge_rows = judge_address = judge = matches

    def judge_body(self, value: object, *options: object) -> BodyVerdict:
        return BodyVerdict(True)

    judge_document = judge_body

    def judge_share(self, body: object) -> StateVerdict:
        return StateVerdict(1.0, 1.0)

    def level(self, value: object) -> float:
        return 1.0

    def keys(self) -> None:
        return None

    @property
    def facts(self) -> _Anything:
        return self

    def __iter__(self) -> Iterator[object]:
        return iter(())


@dataclass(frozen=True, slots=True)
class Miss:
    """An event that came near: which arguments it failed (none: the event as such does not count),
    how far it got; ``unseen``: why nobody knows; ``site``: the origins that its page has to be of,
    where it is of none of them; ``document``: from where its document was loaded, where only page
    script put the address there."""

    event: Event
    step: int
    failed: tuple[str, ...]
    of: int
    level: float
    unseen: str = ""
    site: tuple[str, ...] = ()
    document: str = ""

    @property
    def nearness(self) -> tuple[float, int, int]:
        """What sorts misses: how much of it held, then how little failed, then which brought it so
        far first, or, where nothing of it held, which came last."""
        has_part = self.level > 0
        order = -self.event.seq if has_part else self.event.seq
        is_eligible = has_part or bool(self.failed or self.unseen)
        if not is_eligible:
            return (-1.0, 0, order)
        return (self.level, self.of - len(self.failed), order)


class Misses:
    """The nearest misses of a task's leaves, event by event."""

    def __init__(self, leaves: list[ConditionNode]) -> None:
        self._leaves = [node for node in leaves if isinstance(node.rule, Rule)]
        self.nearest: dict[int, Miss] = {}

    def take(self, event: Event, world: World, step: int) -> None:
        """Look at one event; ``world`` is as it was when the rules read it."""
        for node in self._leaves:
            assert isinstance(node.rule, Rule)
            if event.kind not in node.rule.heard_kinds(node.args):
                continue
            miss = _placed(node, _miss_or_failure(node.rule, node.args, event, world, step), world)
            known = self.nearest.get(node.id)
            if known is None or miss.nearness >= known.nearness:
                self.nearest[node.id] = miss


def _miss_or_failure(rule: Rule, args: Any, event: Event, world: World, step: int) -> Miss:
    """Return how an event misses a rule; a rule of others that fails leaves that unknown."""
    try:
        return _miss(rule, args, event, world, step)
    # As in detectors/engine/conditions.py: the step's reason names it.
    except Exception as error:
        if foreign(rule.name) is None:
            raise
        failed = f"{rule.name} failed: {type(error).__name__}"
        return Miss(event, step, (), 0, 0.0, failed)


def _placed(node: ConditionNode, miss: Miss, world: World) -> Miss:
    """Return the miss with what of its page's place does not count: the site, or the address from
    which its document was loaded."""
    if node.site is not None and judge_site(miss.event, world, node.site) is False:
        miss = replace(miss, site=tuple(sorted(node.site)))
    if node.loaded is not None and node.loaded.judge(miss.event, world) is False:
        miss = replace(miss, document=document_of(miss.event, world))
    return miss


def _let_go(args: Any, free: Mapping[str, object]) -> Any:
    """Return a copy of a rule's arguments with some let go; its own checks are for a task's."""
    changed = copy(args)
    for name, anything in free.items():
        object.__setattr__(changed, name, anything)
    return changed


def _miss(rule: Rule, args: Any, event: Event, world: World, step: int) -> Miss:
    """Return how near an event came to a rule: its level, and which of the arguments fail."""
    names = _matchers_given(args)
    try:
        level = _level(rule, args, event, world)
    except UnseenError as unseen:
        known_level = unseen.known.level if unseen.known else 0.0
        return Miss(event, step, (), len(names), known_level, str(unseen))
    except BudgetError as error:
        return Miss(event, step, (), len(names), 0.0, f"{error.what} is over its budget")
    whole = Miss(event, step, (), len(names), level)
    if level >= 1.0 or not names:
        return whole
    free: dict[str, object] = {name: _Anything() for name in names}
    if _level_free(rule, _let_go(args, free), event, world) <= 0:
        free |= dict.fromkeys(_choices(args))
        if _level_free(rule, _let_go(args, free), event, world) <= 0:
            return whole
    failed = []
    for name in free:
        others = {**free}
        del others[name]
        if _level_free(rule, _let_go(args, others), event, world) < 1.0:
            failed.append(name)
    return Miss(event, step, tuple(failed), len(free), level)


def _matchers_given(args: Any) -> list[str]:
    """Return the names of the arguments that hold a matcher."""
    kinds = tuple(MATCHERS)
    return [field.name for field in fields(args) if isinstance(getattr(args, field.name), kinds)]


def _choices(args: Any) -> list[str]:
    """The arguments that are given and no matchers, and whose default, None, asks for nothing."""
    given = ((f.name, getattr(args, f.name)) for f in fields(args) if f.default is None)
    return [name for name, value in given if isinstance(value, bool | str)]


def _level(rule: Rule, args: object, event: Event, world: World) -> float:
    return max((reading.level for reading in rule.read(event, world, args)), default=0.0)


def _level_free(rule: Rule, args: object, event: Event, world: World) -> float:
    """`_level` where `_Anything` stands among the arguments, at the most that it may be."""
    try:
        return _level(rule, args, event, world)
    except UnseenError as unseen:
        return unseen.level
    except BudgetError:
        return 1.0
    except Exception:
        if foreign(rule.name) is None:
            raise
        # a rule of others may ask more of a matcher; which argument failed can't be told then
        return 0.0


def in_words(miss: Miss | None, rule: str, given: object) -> str:
    """Describe in one line the event that came nearest, and what of it was otherwise. ``given``:
    the arguments of ``rule`` as the task has them."""
    if miss is None:
        return "no event that this rule reads is in the log"
    described = _described(miss, rule, given)
    if miss.site:
        described += f" (its page is not of {' or '.join(miss.site)})"
    if miss.document and miss.level > 0:
        described += f" ({by_push(miss.document)})"
    return described


def by_push(document: str) -> str:
    """Say that only page script put an address there, or a service worker what stands at it, and
    what to write instead, or where that is to count."""
    if document == _MADE_UP:
        return (
            f"{BY_WORKER}: let the milestone wait for what the server answered, as"
            " `request_accepted` does; `loaded: false` counts whatever the page's script makes up"
        )
    return (
        f"{BY_SCRIPT}: its document was loaded from {clip(document)};"
        " `loaded: false` counts it, as single-page applications need it"
    )


def _described(miss: Miss, rule: str, given: object) -> str:
    """Say what came nearest: the event, where, and what is missing."""
    event = miss.event
    place = f"in step {miss.step}" if miss.step >= 0 else "before the first step"
    where = f"event {event.seq} {place}"
    shown = clip(line(event).split(event.source, 1)[1])
    if miss.level >= 1:
        return f"{where} {_fulfils(miss)}: {shown}"
    if miss.level > 0:
        return f"nearest: {where} brought it to {miss.level:.0%}: {shown}"
    return f"nearest: {where}{_why_not(miss, rule, given)}: {shown}"


def _fulfils(miss: Miss) -> str:
    """Say under which condition a miss would have fulfilled the rule."""
    if miss.site:
        return "would fulfil it on the task's own site"
    if miss.document:
        return "would fulfil it, were its document loaded there"
    return "fulfils it"


def _why_not(miss: Miss, rule: str, given: object) -> str:
    """Say why the event does not fulfil the condition, to follow the event's number and step."""
    if miss.unseen:
        return f": {miss.unseen}; nobody can know"
    if miss.failed:
        wrong: list[str] = []
        for name in miss.failed:
            wrong.extend(_wrong(miss.event, name, given))
        return ": " + "; ".join(wrong)
    if not miss.of:
        return f", for which {rule} is not true as the task has it"
    if by_script(miss.event):
        return ": " + _by_script_in_words(rule)
    return f", which does not count for {rule} (see docs/rules.md#{rule})"


def _by_script_in_words(rule: str) -> str:
    """Say that page script did it, and what to write where that is to count."""
    said = "page script did it (`trusted` is false), and only a user's own act counts"
    if "trusted" in {field.name for field in fields(rules()[rule].args)}:
        said += (
            "; automation libraries set values so, as by `select_option`: `trusted: false` in the"
            " condition counts them"
        )
    elif rule == "observed":
        said += "; `trusted: false` in `where` asks for it"
    return said


_FACTS = ("where", "arguments", "result")
"""Arguments that name facts of an event, each by its path."""


def _wrong(event: Event, name: str, given: Any) -> Iterator[str]:
    """Say what the event has for an argument, and what was wanted; of facts each that is
    otherwise."""
    wanted = given.get(name, "the default")
    facts = list(_wrong_facts(event, name, wanted)) if name in _FACTS else []
    if facts:
        yield from facts
    elif name == "where" and by_script(event):
        yield _by_script_in_words("observed")
    else:
        yield f"{name} is {_event_value(event, name)}, wanted {value_in_words(wanted)}"


def _wrong_facts(event: Event, name: str, wanted: object) -> Iterator[str]:
    """Yield each fact that is another one than wanted, with both."""
    data = event.data if name == "where" else event.data.get(name)
    for path, value in mapping(wanted).items():
        if not FactsMatch.parse({path: value}, (name,)).matches(data):
            found = clip(value_in_words(value_at(data, split_path(path))), 80)
            yield f"{name}.{path} is {found}, wanted {value_in_words(value)}"


def _event_value(event: Event, name: str) -> str:
    """What the event has for an argument of that name, as far as it can be told."""
    key = "name" if name == "field" else name
    if key in event.data:
        return clip(value_in_words(event.data[key]), 80)
    for place in _PLACES:
        facts = mapping(event.data.get(place))
        if key in facts:
            return clip(value_in_words(facts[key]), 80)
    return "otherwise"
