"""What of a recording takes how much: bytes by kind of event, and of a step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import orjson

from detectors.model.types import Event


@dataclass(slots=True)
class RecordingSizes:
    """Bytes of the events' data as JSON, by kind; ``packed``: of the file, which is compressed."""

    packed: int
    events: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    steps: int = 0

    @classmethod
    def measure(cls, events: Iterable[Event], packed: int) -> RecordingSizes:
        """Measure the events of a recording whose file has ``packed`` bytes."""
        found = cls(packed)
        for event in events:
            found.events[event.kind] = found.events.get(event.kind, 0) + 1
            size = len(orjson.dumps(event.data))
            found.sizes[event.kind] = found.sizes.get(event.kind, 0) + size
            found.steps += event.kind == "step.began"
        return found

    def lines(self) -> list[str]:
        """Return the table, the largest kind first, then what all come to."""
        total = sum(self.sizes.values())
        lines = [f"{'kind':<28}{'events':>8}{'bytes':>12}{'share':>8}"]
        for kind, size in sorted(self.sizes.items(), key=lambda item: (-item[1], item[0])):
            share = size / total if total else 0.0
            lines.append(f"{kind[:27]:<28}{self.events[kind]:>8}{size:>12,}{share:>8.1%}")
        lines.append(f"{'all':<28}{sum(self.events.values()):>8}{total:>12,}{1:>8.1%}")
        lines.append(f"file: {self.packed:,} bytes, compressed")
        if self.steps:
            each, packed = total // self.steps, self.packed // self.steps
            lines.append(f"a step: {each:,} bytes, {packed:,} in the file, of {self.steps} steps")
        return lines
