"""What of an episode's start is unlike that of the task's other episodes: pure counts of facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypedDict

from api.start_states.facts import PARTS, Part, PartState, StartState
from detectors.engine.expected_start import describe_unexpected

MIN_OTHERS = 5
"""Other episodes below which nothing is compared."""
RARE, USUAL = 0.1, 0.9
"""Shares of the others: a fact of at most the first is rare, one of at least the second usual."""
MAX_VARIED = 0.5
"""Share of the others that may have rare facts of a part; with more, the part differs anyway."""
MAX_FINDINGS = 50
MAX_TEXT = 120
_NOUNS: dict[Part, str] = {
    "tabs": "a tab at",
    "files": "the file",
    "probes": "an answer of the probe",
    "windows": "the window",
}
Difference = Literal["extra", "missing", "changed", "other"]


class Others(NamedTuple):
    """A start that ``episodes`` others have in common."""

    state: StartState
    episodes: int


class FindingJson(TypedDict):
    """One difference: ``agree`` of ``others`` episodes began otherwise, both None where the task
    itself expects another start. ``name`` is None where a part has too many facts to name one."""

    part: Part
    difference: Difference
    name: str | None
    agree: int | None
    others: int | None
    text: str


def compare(own: StartState, others: Sequence[Others]) -> list[FindingJson]:
    """What is unusual of ``own``, at most `MAX_FINDINGS`; nothing where there are fewer than
    `MIN_OTHERS`."""
    found: list[FindingJson] = []
    for part in PARTS:
        if part not in own:
            continue
        observed = [(other.state[part], other.episodes) for other in others if part in other.state]
        total = sum(many for _, many in observed)
        if total >= MIN_OTHERS:
            found += _compare_part(part, own[part], observed, total)
    return found[:MAX_FINDINGS]


class _FactCounts(NamedTuple):
    """In how many episodes a fact stood at the start: by its name, and by name and value."""

    holders: Mapping[str, int]
    values: Mapping[tuple[str, str], int]


def _compare_part(
    part: Part, own: PartState, others: Sequence[tuple[PartState, int]], total: int
) -> Iterator[FindingJson]:
    """Yield what is rare in a start that others do not have, and what is usual that it lacks."""
    named = [(state["facts"], many) for state, many in others if state["facts"] is not None]
    if own["facts"] is None or sum(many for _, many in named) < total:
        yield from _compare_digests(part, own, others, total)
        return
    counts = _count_facts(named)
    rare = {name for name, many in counts.holders.items() if many <= RARE * total}
    varied = sum(many for facts, many in named if not rare.isdisjoint(facts))
    is_steady = varied <= MAX_VARIED * total
    for name, value in sorted(own["facts"].items()):
        yield from _compare_fact(part, name, value, counts, total, is_steady=is_steady)
    for name, held in sorted(counts.holders.items()):
        if held >= USUAL * total and name not in own["facts"]:
            yield _finding(part, "missing", name, held, total)


def _count_facts(named: Iterable[tuple[Mapping[str, str], int]]) -> _FactCounts:
    """Count how many starts have each fact, and each value of it."""
    holders: dict[str, int] = {}
    values: dict[tuple[str, str], int] = {}
    for facts, many in named:
        for name, value in facts.items():
            holders[name] = holders.get(name, 0) + many
            values[name, value] = values.get((name, value), 0) + many
    return _FactCounts(holders, values)


def _compare_fact(
    part: Part, name: str, value: str, counts: _FactCounts, total: int, *, is_steady: bool
) -> Iterator[FindingJson]:
    """Compare a fact of the episode's own. ``is_steady``: the others differ little in this part."""
    held = counts.holders.get(name, 0)
    if held <= RARE * total and is_steady:
        yield _finding(part, "extra", name, total - held, total)
    elif held >= USUAL * total and (name, value) not in counts.values:
        usual = max(many for (fact, _), many in counts.values.items() if fact == name)
        if usual >= USUAL * total:
            yield _finding(part, "changed", name, usual, total)


def _compare_digests(
    part: Part, own: PartState, others: Sequence[tuple[PartState, int]], total: int
) -> Iterator[FindingJson]:
    """Compare parts that have too many facts to name them."""
    counts: dict[str, int] = {}
    for state, many in others:
        counts[state["digest"]] = counts.get(state["digest"], 0) + many
    usual, many = max(counts.items(), key=lambda item: item[1])
    if many >= USUAL * total and usual != own["digest"]:
        yield _finding(part, "other", None, many, total)


def _finding(
    part: Part, difference: Difference, name: str | None, agree: int, others: int
) -> FindingJson:
    what = f"{_NOUNS[part]} {name if name is None else _clip(name)}"
    text = {
        "extra": f"this episode began with {what}; {agree} of {others} others did not",
        "missing": f"this episode began without {what}; {agree} of {others} others had it",
        "changed": f"this episode began with {what}, but unlike {agree} of {others} others",
        "other": f"this episode's {part} at the start are not those of {agree} of {others} others",
    }[difference]
    return {
        "part": part,
        "difference": difference,
        "name": name,
        "agree": agree,
        "others": others,
        "text": text,
    }


def expected_finding(
    part: Literal["tabs", "files"], difference: Literal["extra", "missing"], name: str
) -> FindingJson:
    """Return the difference from a start that the task declares."""
    return {
        "part": part,
        "difference": difference,
        "name": name,
        "agree": None,
        "others": None,
        "text": describe_unexpected(part, difference, _clip(name)),
    }


def _clip(name: str) -> str:
    return name if len(name) <= MAX_TEXT else f"{name[:MAX_TEXT]}…"
