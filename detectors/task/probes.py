"""The ``probes`` of a task: facts that no event shows, which the daemon reads at the ends of steps
(docs/probes.md).

probes:
  - {id: cart, get: /api/cart}
  - {id: theme, script: {url: "/*", expression: document.body.dataset.theme}, when: [step]}
  - {id: notes, file: {root: home, path: notes.json, as: json}, when: [close], budget_ms: 2000}
  - {id: fonts, command: {argv: [fc-list]}, when: [close]}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from detectors.matchers import FactsMatch, UrlMatch
from detectors.model.errors import SpecError
from detectors.model.types import Condition, MilestoneSpec, ProbeSpec
from detectors.sdk.arguments import Path
from detectors.sdk.cel_reads import reads_of_cel
from detectors.sdk.condition_reads import reads_of_facts

KINDS: Mapping[str, Mapping[str, bool]] = {
    "script": {"url": True, "expression": True},
    "get": {"url": True},
    "file": {"root": True, "path": True, "as": False},
    "command": {"argv": True, "as": False},
}
"""The keys of each kind, and whether each must be given."""
WHEN = ("start", "step", "close")
MAX_PROBES = 32
MAX_BUDGET_MS = 5000
MAX_CHARACTERS = 10_000
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}")
_KEYS = frozenset(("id", "when", "budget_ms", *KINDS))

Note = Callable[[Path, Any, str], None]
"""Called with a problem: its path, the value, what was expected."""


def probes_from_json(specs: Any, origin: str | None, note: Note) -> tuple[ProbeSpec, ...]:
    """The probes that a task declares; problems go to ``note``."""
    if not isinstance(specs, list) or len(specs) > MAX_PROBES:
        note(("probes",), specs, f"a list of at most {MAX_PROBES} probes")
        return ()
    found = [
        probe
        for n, spec in enumerate(specs)
        if (probe := _probe(spec, ("probes", n), origin, note)) is not None
    ]
    ids = [probe.id for probe in found]
    for n, name in enumerate(ids):
        if name in ids[:n]:
            note(("probes", n, "id"), name, "an id that no other probe of the task has")
    return tuple(found)


def check_references(
    milestones: Iterable[MilestoneSpec], probes: Iterable[ProbeSpec], note: Note
) -> None:
    """Every rule about a probe must be about one that the task declares."""
    ids = [probe.id for probe in probes]
    for n, milestone in enumerate(milestones):
        for key in ("when", "revoke_on", "only_if"):
            for rule, name in _named(getattr(milestone, key)):
                if name not in ids and (name is not None or not ids):
                    wanted = f"a probe of the task; there are {', '.join(ids) or 'none'}"
                    note(("milestones", n, key, rule, "probe"), name, wanted)


def probe_to_json(probe: ProbeSpec) -> dict[str, Any]:
    """A probe as `probes_from_json` reads it, its defaults written out."""
    return {
        "id": probe.id,
        probe.kind: dict(probe.args),
        "when": list(probe.when),
        "budget_ms": probe.budget_ms,
    }


def probe_plan(probe: ProbeSpec) -> dict[str, Any]:
    """What the daemon is told of a probe."""
    return {
        "id": probe.id,
        "kind": probe.kind,
        "when": list(probe.when),
        "budget_ms": probe.budget_ms,
        **probe.args,
    }


def _named(condition: Condition | None) -> Iterable[tuple[str, str | None]]:
    if condition is None:
        return
    if condition.rule in ("probe_answers", "probe_kept"):
        yield condition.rule, str(condition.args.get("probe"))
    elif str(condition.args.get("kind")).startswith("probe."):
        yield from ((condition.rule, name) for name in _read_probes(condition.args))
    for part in condition.of:
        yield from _named(part)


def _read_probes(args: Mapping[str, Any]) -> tuple[str | None, ...]:
    """The probes that a condition about any event names; (None,) where it names none, so that it is
    about all."""
    if "expression" in args:
        reads = reads_of_cel(args["kind"], args["expression"])
    else:
        reads = reads_of_facts(FactsMatch.parse(args["where"], ()) if args.get("where") else None)
    return reads.wanted.get(("probe",), (None,))


def _probe(spec: Any, path: Path, origin: str | None, note: Note) -> ProbeSpec | None:
    kinds = [kind for kind in KINDS if isinstance(spec, Mapping) and kind in spec]
    if len(kinds) != 1 or "id" not in spec:
        note(path, spec, f"an object with id and one of {', '.join(KINDS)}")
        return None
    _note_unknown(spec, _KEYS, ", ".join(sorted(_KEYS)), path, note)
    kind, id = kinds[0], spec["id"]
    if not isinstance(id, str) or _ID.fullmatch(id) is None:
        note((*path, "id"), id, "letters, digits, - _ and ., at most 64")
    moments = _moments(spec.get("when", list(WHEN)), (*path, "when"), note)
    budget = spec.get("budget_ms", 500)
    if type(budget) is not int or not 1 <= budget <= MAX_BUDGET_MS:
        expected = f"milliseconds, a whole number from 1 to {MAX_BUDGET_MS}"
        note((*path, "budget_ms"), budget, expected)
    args = _args(kind, spec[kind], (*path, kind), origin, note)
    return ProbeSpec(id, kind, args, moments, budget)  # type: ignore[arg-type]


def _note_unknown(
    spec: Mapping[Any, Any], known: Collection[str], listed: str, path: Path, note: Note
) -> None:
    """Note every key that is none of the ``known``; ``listed``: these as the message has them."""
    for key in spec:
        if key not in known:
            note((*path, str(key)), spec[key], f"no such key; there are {listed}")


def _moments(when: Any, path: Path, note: Note) -> tuple[str, ...]:
    """When a probe is asked: always at the start too, as without that answer nobody could tell what
    was so already."""
    if not isinstance(when, list) or not when or any(moment not in WHEN for moment in when):
        note(path, when, f"a list of {', '.join(WHEN)}")
        when = []
    return tuple(moment for moment in WHEN if moment in ("start", *when))


def _args(kind: str, given: Any, path: Path, origin: str | None, note: Note) -> dict[str, Any]:
    """The arguments of a probe, as they are written, once each was checked."""
    if kind == "get" and isinstance(given, str):
        given = {"url": given}
    keys = KINDS[kind]
    if not isinstance(given, Mapping):
        note(path, given, f"an object with {', '.join(keys)}")
        return {}
    _note_unknown(given, keys, ", ".join(keys), path, note)
    args = dict(given)
    if "as" in keys:
        args.setdefault("as", "text")
    for key, is_required in keys.items():
        if key in args:
            expected = _expected(kind, key, args[key], (*path, key), origin)
            if expected is not None:
                note((*path, key), args[key], expected)
        elif is_required:
            note((*path, key), None, "this key; it must be given")
    return args


def _expected(kind: str, key: str, value: Any, path: Path, origin: str | None) -> str | None:
    """What was expected instead of ``value``; None if it is right."""
    if key == "as":
        return None if value in ("text", "json") else "text or json"
    if key == "argv":
        return None if _is_command(value) else "a program and its arguments, a list of texts"
    if kind == "script" and key == "url":
        return _expected_page(value, path, origin)
    if not _is_short_text(value):
        return f"a text of at most {MAX_CHARACTERS} characters"
    if kind == "get" and not _is_address(value, origin):
        return (
            "an address that begins with http:// or https://, or a path that begins with / and an"
            " origin in the task"
        )
    if key == "path" and not _is_relative(value):
        return "a path relative to the watched folder, without .."
    return None


def _is_short_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and len(value) <= MAX_CHARACTERS


def _is_relative(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/")


def _is_command(value: Any) -> bool:
    if not isinstance(value, list) or not value:
        return False
    if not all(isinstance(part, str) for part in value):
        return False
    return bool(value[0]) and sum(map(len, value)) <= MAX_CHARACTERS


def _expected_page(value: Any, path: Path, origin: str | None) -> str | None:
    try:
        UrlMatch.parse(value, path, origin)
    except SpecError as error:
        return error.wanted
    return None


def _is_address(value: str, origin: str | None) -> bool:
    """Whether it is a whole address, or a path where the task names an origin."""
    if value.startswith(("http://", "https://")):
        return True
    return origin is not None and value.startswith("/")
