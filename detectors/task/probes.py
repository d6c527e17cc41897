"""The ``probes`` of a task: facts that no event shows, which the daemon reads at the ends of steps
(docs/probes.md).

probes:
  - {id: cart, get: /api/cart}
  - {id: theme, script: {url: "/*", expression: document.body.dataset.theme}, when: [step]}
  - {id: notes, file: {root: home, path: notes.json, as: json}, when: [close], budget_ms: 2000}
  - {id: fonts, command: {argv: [fc-list]}, when: [close]}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from detectors.matchers import FactsMatch
from detectors.model.types import Condition, Json
from detectors.model.validation import TaskReader
from detectors.sdk.cel_reads import reads_of_cel
from detectors.sdk.condition_reads import reads_of_facts
from detectors.task.language import PROBE, ProbeSpec, Task


def check_probes(reader: TaskReader, task: Task) -> None:
    """Note ids that two probes have, and rules about a probe that the task does not declare."""
    ids = [probe.id for probe in task.probes]
    listed = ", ".join(filter(None, ids)) or "none"
    for n, name in enumerate(ids):
        if name and name in ids[:n]:
            expected = "an id that no other probe of the task has"
            reader.note(("probes", n, "id"), name, expected)
    for n, milestone in enumerate(task.milestones):
        for key in ("when", "revoke_on", "only_if"):
            for rule, named in _named(getattr(milestone, key)):
                if named not in ids and (named is not None or not ids):
                    expected = f"a probe of the task; there are {listed}"
                    reader.note(("milestones", n, key, rule, "probe"), named, expected)


def probe_plan(probe: ProbeSpec) -> dict[str, Json]:
    """What the daemon is told of a probe."""
    spec = PROBE.write(probe)
    return {
        "id": probe.id,
        "kind": probe.kind,
        "when": spec["when"],
        "budget_ms": probe.budget_ms,
        **spec[probe.kind],
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


def _read_probes(args: Mapping[str, Json]) -> tuple[str | None, ...]:
    """The probes that a condition about any event names; (None,) where it names none, so that it is
    about all."""
    if "expression" in args:
        reads = reads_of_cel(args["kind"], args["expression"])
    else:
        reads = reads_of_facts(FactsMatch.parse(args["where"], ()) if args.get("where") else None)
    return reads.wanted.get(("probe",), (None,))
