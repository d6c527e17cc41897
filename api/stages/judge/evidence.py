"""Facts as the lines that one request carries: a nonce in every id, datamarked, head and tail kept,
the cut named."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from api.stages.judge.facts import Fact, flagged


@dataclass(frozen=True, slots=True)
class Evidence:
    """What fits. ``cut`` facts between ``head`` and ``tail`` did not."""

    head: tuple[Fact, ...]
    tail: tuple[Fact, ...] = ()
    cut: int = 0

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What is shown, in order."""
        return self.head + self.tail

    @property
    def canonical(self) -> list[Any]:
        """The same for the same evidence, whatever the nonce."""
        return [
            [fact.canonical for fact in self.head],
            self.cut,
            [fact.canonical for fact in self.tail],
        ]

    def only(self, keys: Iterable[str]) -> Evidence:
        """The facts with these keys alone."""
        wanted = set(keys)
        return Evidence(tuple(fact for fact in self.facts if fact.key in wanted))


def fitted(facts: Sequence[Fact], most: int) -> Evidence:
    """As many ``facts`` as ``most`` characters hold, flagged: a third of them from the head, the
    rest from the tail."""
    sizes = [len(orjson.dumps(fact.data)) + 60 for fact in facts]
    if sum(sizes) <= most:
        return Evidence(tuple(flagged(facts)))
    head = _fill(sizes, most // 3)
    tail = _fill(sizes[head:][::-1], most - sum(sizes[:head]))
    # Flagged once it is cut: what is left out costs nothing, and what the cut brings together is
    # read together.
    shown = flagged([*facts[:head], *facts[len(facts) - tail :]])
    return Evidence(tuple(shown[:head]), tuple(shown[head:]), len(facts) - head - tail)


def _fill(sizes: Sequence[int], most: int) -> int:
    used = count = 0
    for size in sizes:
        used += size
        if used > most:
            break
        count += 1
    return count


@dataclass(slots=True)
class Lines:
    """The lines of one request, and which fact each id names. More are added as tools find more."""

    mark: str
    nonce: str = field(default_factory=lambda: secrets.token_hex(4))
    facts: dict[str, Fact] = field(default_factory=dict)

    def line(self, fact: Fact) -> str:
        """One line; of a flagged fact not its words, but that they are withheld."""
        name = f"{fact.key}-{self.nonce}"
        if (known := self.facts.get(name)) is not None and known.flags:
            fact = replace(fact, flags=known.flags)
        self.facts[name] = fact
        line: dict[str, Any] = {"id": name, "kind": fact.kind, "step": fact.step}
        if fact.claim:
            line["claim"] = True
        if fact.flags:
            line["withheld"] = "its words speak to whoever judges: it proves nothing"
        else:
            line["v"] = marked(fact.data, self.mark)
        return orjson.dumps(line).decode()

    def block(self, evidence: Evidence) -> str:
        """All lines of ``evidence``."""
        lines = [self.line(fact) for fact in evidence.head]
        if evidence.cut:
            lines.append(orjson.dumps({"cut": f"{evidence.cut} lines are left out here"}).decode())
        lines += [self.line(fact) for fact in evidence.tail]
        return "\n".join(lines)


def marked(value: Any, mark: str) -> Any:
    """``value`` with ``mark`` for every space in its texts, so that data looks like data (arXiv
    2403.14720)."""
    if not mark:
        return value
    if isinstance(value, str):
        return value.replace(" ", mark)
    if isinstance(value, Mapping):
        return {str(key).replace(" ", mark): marked(inner, mark) for key, inner in value.items()}
    if isinstance(value, list):
        return [marked(inner, mark) for inner in value]
    return value
