"""Facts as the lines that one request carries: a nonce in every id, datamarked, head and tail kept,
the cut named."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

import orjson

from api.stages.judge.facts import POINTS_TO, SUBMITTED, Fact, flag_facts
from detectors.model.types import Json

LINE_OVERHEAD = 60
"""Characters of a line beside its fact's data, about."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The facts that fit; ``cut`` facts between ``head`` and ``tail`` did not."""

    head: tuple[Fact, ...]
    tail: tuple[Fact, ...] = ()
    cut: int = 0

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Return the facts that are shown, in order."""
        return self.head + self.tail

    @property
    def canonical(self) -> list[Json]:
        """Return what is equal for equal evidence, whatever the nonce."""
        return [
            [fact.canonical for fact in self.head],
            self.cut,
            [fact.canonical for fact in self.tail],
        ]

    def only(self, keys: Iterable[str]) -> Evidence:
        """Return the evidence of the facts with these keys alone."""
        chosen = set(keys)
        return Evidence(tuple(fact for fact in self.facts if fact.key in chosen))


def fit_evidence(facts: Sequence[Fact], most: int) -> Evidence:
    """Flag as many ``facts`` as ``most`` characters hold: a third of them from the head, the rest
    from the tail."""
    sizes = [len(orjson.dumps(fact.data)) + LINE_OVERHEAD for fact in facts]
    if sum(sizes) <= most:
        return Evidence(tuple(flag_facts(facts)))
    head = _count_fitting(sizes, most // 3)
    tail = _count_fitting(sizes[head:][::-1], most - sum(sizes[:head]))
    # Flagged once it is cut: what is left out costs nothing, and what the cut brings together is
    # read together.
    shown = flag_facts([*facts[:head], *facts[len(facts) - tail :]])
    return Evidence(tuple(shown[:head]), tuple(shown[head:]), len(facts) - head - tail)


def _count_fitting(sizes: Sequence[int], most: int) -> int:
    """How many of the first sizes are together at most ``most``."""
    return sum(total <= most for total in accumulate(sizes))


@dataclass(slots=True)
class Lines:
    """The lines of one request, and which fact each id names. More are added as tools find more."""

    mark: str
    nonce: str = field(default_factory=lambda: secrets.token_hex(4))
    facts: dict[str, Fact] = field(default_factory=dict)

    def line(self, fact: Fact) -> str:
        """Return a fact as a line; a flagged one says that its words are withheld."""
        name = f"{fact.key}-{self.nonce}"
        known = self.facts.get(name)
        if known is not None and known.flags:
            fact = replace(fact, flags=known.flags)
        self.facts[name] = fact
        line: dict[str, Json] = {"id": name, "kind": fact.kind, "step": fact.step}
        if fact.claim:
            line["claim"] = True
        if fact.flags:
            line["withheld"] = "its words speak to whoever judges: it proves nothing"
        elif fact.kind == SUBMITTED:
            line["v"] = self._pointer(fact)
        else:
            line["v"] = mark_spaces(fact.data, self.mark)
        return orjson.dumps(line).decode()

    def _pointer(self, fact: Fact) -> Json:
        """Return submitted evidence with the ids of the lines that it points to, as far as they are
        shown."""
        named = [f"{key}-{self.nonce}" for key in fact.data[POINTS_TO]]
        shown = [name for name in named if name in self.facts]
        criterion = mark_spaces(fact.data["criterion"], self.mark)
        return {"criterion": criterion, POINTS_TO: shown, "not_shown": len(named) - len(shown)}

    def keys_of(self, names: Iterable[str]) -> list[str]:
        """Return the keys of the facts on these lines; of a name that is no line's, the name."""
        return [self.facts[name].key if name in self.facts else name for name in names]

    def block(self, evidence: Evidence) -> str:
        """Return all lines of ``evidence``, and between head and tail how many are cut."""
        lines = [self.line(fact) for fact in evidence.head]
        if evidence.cut:
            lines.append(orjson.dumps({"cut": f"{evidence.cut} lines are left out here"}).decode())
        lines += [self.line(fact) for fact in evidence.tail]
        return "\n".join(lines)


def mark_spaces(value: Json, mark: str) -> Json:
    """Return ``value`` with ``mark`` for every space in its texts, so that data looks like data
    (arXiv 2403.14720)."""
    if not mark:
        return value
    if isinstance(value, str):
        return value.replace(" ", mark)
    if isinstance(value, Mapping):
        return {
            str(key).replace(" ", mark): mark_spaces(inner, mark) for key, inner in value.items()
        }
    if isinstance(value, list):
        return [mark_spaces(inner, mark) for inner in value]
    return value
