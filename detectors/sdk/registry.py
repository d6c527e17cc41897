"""What a rule is, and the table of all of them: the folder ``rules`` is the list.

A leaf rule is a pure function of (event, world, arguments) that yields `Reading`s. A composite
looks at its children's standing instead. Rules hold no state and never import each other.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple, TypeVar

from detectors.model.kinds import KINDS
from detectors.model.types import Event, Json, Reading
from detectors.sdk.world import World

Args = Any
"""An instance of a rule's own class of arguments; the decorators hold its functions to that."""
OwnArgs = TypeVar("OwnArgs")
Read = Callable[[Event, World, Args], Iterable[Reading]]
OwnRead = Callable[[Event, World, OwnArgs], Iterable[Reading]]
Keys = tuple[str, ...]


@dataclass(slots=True)
class Standing:
    """How a condition stands: ``now``, the ``best`` so far, ``at`` = seqs that prove the latest
    reading ≥ 1.

    ``reached`` is a composite's own memory, such as when each part of a sequence came; ``when`` the
    moment of the latest reading ≥ 1, ``bound`` the values that a condition under `same` was true
    about: first and latest seq.
    """

    now: float = 0.0
    best: float = 0.0
    at: tuple[int, ...] = ()
    cause: int | None = None
    keys: dict[str, float] | None = None
    reached: list[Json] | None = None
    when: Moment | None = None
    bound: dict[str, list[int]] | None = None


class Moment(NamedTuple):
    """When something is read: number and time (ns) of the event, steps begun so far; ``seen``: it
    came after the first step began, and not as what a source found on attaching."""

    seq: int
    at: int
    step: int
    seen: bool = True


Combine = Callable[[Sequence[Standing], Standing, int, Moment, Args], float]
"""(children, own standing, index of the child that was read, the moment, arguments) → level."""


OwnCombine = Callable[[Sequence[Standing], Standing, int, Moment, OwnArgs], float]


def never(args: object) -> bool:
    """For what is not so under any arguments."""
    return False


def no_index(args: object) -> Keys | None:
    """For rules whose hits can't be told beforehand."""
    return None


Effect = Literal["supports", "opposes", "either"]
"""What the truth of a condition does to another: makes it truer, less true, or now this, now
that."""


def supports(args: object) -> Effect:
    """For a composite that its parts only make truer."""
    return "supports"


@dataclass(frozen=True, slots=True)
class Rule:
    """A leaf rule. ``index_args`` names the only index keys that can ever hit (None: any),
    ``index_event`` the keys of an event: an event goes to a milestone only where they meet, so that
    a thousand milestones cost what ten do. ``index_parts``, where ``index_args`` names none, names
    texts all of which stand in one of the event's keys wherever it hits (None, or an empty key of
    the event: it may hit without). ``occurrence``: the fact is something that happens (or
    whether it is, under its arguments); before the first step it is nobody's doing, and no other
    kind of event makes it untrue."""

    name: str
    version: int
    component: str
    hears: tuple[str, ...]
    args: type
    read: Read
    index_args: Callable[[Args], Keys | None]
    index_event: Callable[[Event], Keys]
    occurrence: bool | Callable[[Args], bool]
    doc: str
    hears_of: Callable[[Args], tuple[str, ...]] | None = None
    """For a rule whose arguments say what it hears, instead of ``hears``."""
    single: Callable[[Args], bool] = never
    """Whether, under its arguments, all that it finds is one and the same thing: then it can't be
    counted."""
    alone: bool = False
    """Whether it looks at the event at hand alone: not at the world, nor at what other kinds of
    events make untrue."""
    index_parts: Callable[[Args], Keys | None] = no_index

    def may_hit(self, args: Args, event: Event) -> bool:
        """Whether an index leads from the event to a condition with ``args``: by a key, or by all
        of its parts in one key."""
        wanted, parts = self.index_args(args), self.index_parts(args)
        if wanted is None and parts is None:
            return True
        keys = self.index_event(event)
        if wanted is not None:
            return not set(wanted).isdisjoint(keys)
        return any(not key or all(part in key for part in parts or ()) for key in keys)

    def occurs(self, args: Args) -> bool:
        """Whether, under ``args``, the fact is something that happens."""
        return self.occurrence(args) if callable(self.occurrence) else self.occurrence

    def heard_kinds(self, args: Args) -> tuple[str, ...]:
        """The kinds that the rule hears under ``args``."""
        return self.hears if self.hears_of is None else self.hears_of(args)


@dataclass(frozen=True, slots=True)
class Composite:
    """A rule over other conditions. ``latches``: its best is remembered (false for none_of).
    ``present``: its level by its parts' present levels; None where its own standing says it.
    ``ticks``: time alone can make it true. ``absent``: whether, under its arguments, it rests on
    something *not* having happened. ``binds``: the value that each part is to be remembered with,
    as a path into its event (`same`). ``effect``: what its parts' being true does to it, under its
    arguments."""

    name: str
    version: int
    args: type
    combine: Combine
    initial: float
    latches: bool
    doc: str
    present: Callable[[Sequence[float]], float] | None = None
    ticks: bool = False
    absent: Callable[[Args], bool] = never
    binds: Callable[[Args, int], str] | None = None
    effect: Callable[[Args], Effect] = supports


def no_keys(event: Event) -> Keys:
    """The index keys of an event for such rules: none are needed."""
    return ()


def rule(
    *,
    component: str,
    hears: tuple[str, ...] = (),
    args: type[OwnArgs],
    version: int = 1,
    hears_of: Callable[[OwnArgs], tuple[str, ...]] | None = None,
    index_args: Callable[[OwnArgs], Keys | None] = no_index,
    index_event: Callable[[Event], Keys] = no_keys,
    occurrence: bool | Callable[[OwnArgs], bool] = False,
    single: Callable[[OwnArgs], bool] = never,
    alone: bool = False,
    index_parts: Callable[[OwnArgs], Keys | None] = no_index,
) -> Callable[[OwnRead[OwnArgs]], Rule]:
    """Declare a leaf rule; the function's name is the rule's, its docstring the page of docs."""

    def declare(read: OwnRead[OwnArgs]) -> Rule:
        name, doc = read.__name__, read.__doc__ or ""
        found = (
            name,
            version,
            component,
            hears,
            args,
            read,
            index_args,
            index_event,
            occurrence,
            doc,
            hears_of,
        )
        return Rule(*found, single, alone, index_parts)

    return declare


def composite(
    *,
    args: type[OwnArgs],
    version: int = 1,
    initial: float = 0.0,
    latches: bool = True,
    present: Callable[[Sequence[float]], float] | None = None,
    ticks: bool = False,
    absent: Callable[[OwnArgs], bool] = never,
    binds: Callable[[OwnArgs, int], str] | None = None,
    effect: Callable[[OwnArgs], Effect] = supports,
) -> Callable[[OwnCombine[OwnArgs]], Composite]:
    """Declare a composite; see `Composite` for what its parts say."""

    def declare(combine: OwnCombine[OwnArgs]) -> Composite:
        name, doc = combine.__name__, combine.__doc__ or ""
        return Composite(
            name,
            version,
            args,
            combine,
            initial,
            latches,
            doc,
            present,
            ticks,
            absent,
            binds,
            effect,
        )

    return declare


_FOREIGN: dict[str, tuple[Rule, str]] = {}
"""Rules of others, with the distribution and version that each comes from."""


def add_foreign(found: Mapping[str, tuple[Rule, str]]) -> None:
    """Take in rules of others, by name, that detectors/sdk/plugins.py has checked; those of before
    are let go."""
    _FOREIGN.clear()
    _FOREIGN.update(found)
    rules.cache_clear()


def foreign(name: str) -> str | None:
    """The distribution and version that the rule comes from, as ``name==version``; None for one of
    our own."""
    return _FOREIGN[name][1] if name in _FOREIGN else None


class Rules(Mapping[str, Rule | Composite]):
    """Every rule by name, sorted: each module of ``detectors.rules`` declares one of its own name;
    then others'. A module is imported when its rule is asked for: a task has few, and a command
    that scores one is to start at once."""

    def __init__(self, others: Mapping[str, Rule]) -> None:
        package = importlib.import_module("detectors.rules")
        self._names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
        self._found: dict[str, Rule | Composite] = {}
        self._others = dict(sorted(others.items()))

    def __getitem__(self, name: str) -> Rule | Composite:
        if name in self._others:
            return self._others[name]
        found = self._found.get(name)
        if found is None:
            found = self._found[name] = self._load(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter((*self._names, *self._others))

    def __len__(self) -> int:
        return len(self._names) + len(self._others)

    def __contains__(self, name: object) -> bool:
        return name in self._others or name in self._names

    def _load(self, name: str) -> Rule | Composite:
        if name not in self._names:
            raise KeyError(name)
        file = f"detectors/rules/{name}.py"
        declared = getattr(importlib.import_module(f"detectors.rules.{name}"), name, None)
        if not isinstance(declared, Rule | Composite) or declared.name != name:
            got = type(declared).__name__ if declared is not None else "none of that name"
            raise TypeError(f"{file}: expected a function {name} under @rule, got {got}")
        unknown = [] if isinstance(declared, Composite) else sorted({*declared.hears} - {*KINDS})
        if unknown:
            raise TypeError(f"{file}: hears: expected kinds of docs/events.md, got {unknown[0]}")
        return declared


@cache
def rules() -> Rules:
    """Return the table of all rules, ours and those of plug-ins."""
    return Rules({name: rule for name, (rule, _) in _FOREIGN.items()})
