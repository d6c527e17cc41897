"""Every kind of event that can stand in a log: its source, its fields, what it says.

`noun.participle`, as in ``page.navigated``. A kind is declared by the `TypedDict` of its data, in a
module beside this one whose `KindTable` names the source and is listed in `KINDS`.
``baseline: true`` on any event means: this was so already when the source attached; nobody did it
now, so it earns nothing. Common fields of the browser's kinds: ``tab`` (CDP target id of the tab),
``frame`` (CDP frame id).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from detectors.model.kinds.browser import BROWSER
from detectors.model.kinds.desktop import CLIPBOARD, DESKTOP, PROCESSES, SCREEN
from detectors.model.kinds.files import FILES, READER
from detectors.model.kinds.harness import JOURNAL, PROBES, STEPS
from detectors.model.kinds.kind import EventKind
from detectors.model.kinds.looks import LOOKS
from detectors.model.kinds.network import NETWORK
from detectors.model.kinds.page import PAGE

KINDS: dict[str, EventKind] = {
    **JOURNAL,
    **STEPS,
    **BROWSER,
    **NETWORK,
    **PAGE,
    **FILES,
    **DESKTOP,
    **PROCESSES,
    **CLIPBOARD,
    **SCREEN,
    **PROBES,
    **READER,
    **LOOKS,
}

CATALOGUE = max(kind.since for kind in KINDS.values())
"""The version of this table. A daemon whose table is older never reports the kinds that were
declared since; ``catalogue`` of `episode.opened` says which it had (1 if it is missing)."""

SOURCES: tuple[str, ...] = tuple(dict.fromkeys(kind.source for kind in KINDS.values()))
"""Every source by name; a gap in a source blinds exactly the rules that hear one of its kinds."""

UNHEARD = frozenset(("journal", "steps", "visual"))
"""Sources that no rule may choose to hear: what others did, and what it looked like, is no fact
about the agent."""


def reported_kinds(plan: Mapping[str, Any]) -> frozenset[str]:
    """The kinds that the daemon's sources report under ``plan``: all that need not be asked for,
    and of the others those that a rule hears (``hears``) or the daemon's operator named (``also``).
    """
    asked = {*(plan.get("hears") or ()), *(plan.get("also") or ())}
    return frozenset(name for name, kind in KINDS.items() if not kind.asked or name in asked)


def asked_kinds(plan: Mapping[str, Any]) -> list[str]:
    """Of `reported_kinds` those that are reported only because the plan asks for them, sorted."""
    return sorted(name for name in reported_kinds(plan) if KINDS[name].asked)


def catalogue_fields() -> dict[str, int]:
    """What `episode.opened` says of the table of kinds: nothing while it is the first."""
    return {} if CATALOGUE == 1 else {"catalogue": CATALOGUE}


__all__ = [
    "CATALOGUE",
    "KINDS",
    "SOURCES",
    "UNHEARD",
    "EventKind",
    "asked_kinds",
    "catalogue_fields",
    "reported_kinds",
]
