"""Rules of others: what a distribution must bring so that its rules are taken, and the check that
it does.

A plug-in is a leaf rule with its tables of yes and of no, named by an entry point of the group
``milestoned.rules`` whose name is the rule's. Nothing here looks for plug-ins: the edges do
(api/tasks/plugins.py, agentd/session/local_scoring.py), and hand in what they found. See
docs/plugins.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from detectors.model.errors import DetectorError, SpecError
from detectors.model.kinds import KINDS, UNHEARD
from detectors.model.types import Event
from detectors.model.wire_versions import current_kind, explain_rename
from detectors.sdk.arguments import parse_args
from detectors.sdk.registry import Rule, add_foreign, foreign, rules
from detectors.sdk.world import FOLDED, World, fold

GROUP = "milestoned.rules"
"""The group of entry points."""
ORIGIN = "http://shop.test"
"""The origin against which a table's paths are read."""
_NAME = re.compile(r"[a-z][a-z0-9_]{2,63}")

Said = tuple[str, Mapping[str, Any]]
"""A kind of event, and its data."""
Case = tuple[Mapping[str, Any], Sequence[Said]]
"""The arguments as a task has them, and what happens."""


class PlugInError(DetectorError):
    """A rule of others is refused; the message names it, its distribution and what was wanted."""


@dataclass(frozen=True, slots=True)
class PlugIn:
    """What an entry point leads to. In each case of ``yes`` the rule must find its fact, in none of
    ``no``."""

    rule: Rule
    yes: Sequence[Case]
    no: Sequence[Case]


class FoundPlugin(NamedTuple):
    """An entry point: its name, the distribution and its version, and what loads the object that it
    names."""

    name: str
    distribution: str
    version: str
    load: Callable[[], object]


def take(found: Iterable[FoundPlugin]) -> list[str]:
    """Check each plug-in and add it to the rules; gives their names. Raises `PlugInError` at the
    first bad one."""
    taken: dict[str, tuple[Rule, str]] = {}
    for one in sorted(found, key=lambda one: (one.name, one.distribution)):
        where = f"the rule {one.name} of {one.distribution} {one.version}"
        if one.name in taken:
            raise PlugInError(
                f"{where}: {taken[one.name][1]} has one of this name too; wanted another name"
            )
        if one.name in rules() and foreign(one.name) is None:
            raise PlugInError(f"{where}: milestoned has a rule of this name; wanted another name")
        taken[one.name] = _checked(one, where).rule, f"{one.distribution}=={one.version}"
    add_foreign(taken)
    return sorted(taken)


def _checked(found: FoundPlugin, where: str) -> PlugIn:
    try:
        loaded = found.load()
    except Exception as error:  # noqa: BLE001 - it is others' code that runs here
        raise PlugInError(
            f"{where}: {_error_text(error)}; wanted an object that can be imported"
        ) from None
    if not isinstance(loaded, PlugIn) or not isinstance(loaded.rule, Rule):
        raise PlugInError(
            f"{where}: {type(loaded).__name__}; wanted a detectors.sdk.plugins.PlugIn of a leaf"
            " rule"
        )
    rule = loaded.rule
    if rule.name != found.name or _NAME.fullmatch(rule.name) is None:
        raise PlugInError(
            f"{where}: it calls itself {rule.name!r}; wanted the entry point's name, in small"
            " letters"
        )
    if not rule.doc.strip():
        raise PlugInError(f"{where}: no docstring; wanted a sentence on what it finds")
    _check_kinds(rule.hears, where)
    for name, table, wanted in (("yes", loaded.yes, True), ("no", loaded.no, False)):
        if not table:
            raise PlugInError(
                f"{where}: an empty table {name!r}; wanted at least one case of yes and one of no"
            )
        for number, case in enumerate(table):
            if _tried(rule, case, f"{where}: {name}[{number}]") != wanted:
                said_so = "finds nothing" if wanted else "finds its fact"
                raise PlugInError(
                    f"{where}: {name}[{number}] {said_so}; wanted a table that it keeps"
                )
    return loaded


def _check_kinds(heard: Sequence[str], where: str) -> None:
    """Raises `PlugInError` for a kind that no rule may hear."""
    if unknown := sorted(set(heard) - KINDS.keys()):
        renamed = explain_rename(unknown[0], current_kind(unknown[0]))
        raise PlugInError(f"{where}: hears {unknown[0]}; wanted kinds of docs/events.md{renamed}")
    if unheard := sorted(kind for kind in heard if KINDS[kind].source in UNHEARD):
        raise PlugInError(
            f"{where}: hears {unheard[0]}; wanted what a source saw: no rule hears that kind"
        )


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _tried(rule: Rule, case: Case, where: str) -> bool:
    """`_finds`, with whatever it raises as a refusal."""
    try:
        args, said = case
        return _finds(rule, args, said, where)
    except PlugInError:
        raise
    except Exception as error:  # noqa: BLE001 - as above, and it would run in the service
        raise PlugInError(
            f"{where} raises {_error_text(error)}; wanted a rule that reads every case"
        ) from None


def _finds(rule: Rule, args: Mapping[str, object], said: Sequence[Said], where: str) -> bool:
    """Whether one of the events is a hit, by the same index that the engine goes by."""
    try:
        parsed = parse_args(rule.args, args, (rule.name,), ORIGIN)
    except SpecError as error:
        raise PlugInError(f"{where}: {error}") from None
    world, heard = World(), rule.heard_kinds(parsed)
    _check_kinds(heard, where)
    for seq, (kind, data) in enumerate(said, 1):
        if kind not in KINDS:
            raise PlugInError(f"{where}: an event {kind!r}; wanted kinds of docs/events.md")
        event = Event("table", seq, KINDS[kind].source, kind, seq, data)
        if kind in FOLDED:
            fold(world, event, 0)
        if (
            kind in heard
            and rule.may_hit(parsed, event)
            and any(reading.level > 0 for reading in rule.read(event, world, parsed))
        ):
            return True
    return False
