"""The recording as it is made: one order, one clock that never goes back, steps, and gaps for what
can't be seen.

No clock of this machine and no randomness: the same file gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from agentd.core.wire_limits import printable
from agentd.journal.recorder import OF_SOURCES
from agentd.masking import Masker
from agentd.sources.cdp.state.masking import cover
from detectors.model.codec import encode_event
from detectors.model.json_value import JsonObject, JsonValue
from detectors.model.kinds import KINDS, SOURCES, catalogue_fields
from lab.convert.page_state import Telling

MAX_AT = 1 << 62
"""The latest time that an event may have, in nanoseconds: 146 years."""
_OWN = ("journal", "steps")


class Tape:
    """``lines`` are the events so far; ``step`` is the one that runs, or the last one (-1 before
    the first); ``shown``: cookies whose values are no secrets, as the operator says."""

    def __init__(self, shown: Collection[str] = ()) -> None:
        self.lines: list[bytes] = []
        self.step = -1
        self.at = 0
        self.secrets: Masker | None = None
        """Masks the texts of pages; None: they come masked."""
        self.shown = frozenset(shown)
        self.is_truncated = False
        """Whether what is recorded was cut off, so that its last state is no end of a task."""
        self._ended = True
        self._blind: set[str] = set()

    def tell(self, at: float, kind: str, data: Mapping[str, object]) -> None:
        """Add an event that happened ``at`` nanoseconds after the beginning, or when the last one
        did if that is later: what is told later stands later."""
        self.at = max(self.at, min(int(at), MAX_AT))
        source = "journal" if kind in OF_SOURCES else KINDS[kind].source
        if source == "cdp" and self.secrets is not None:
            masked = dict(data)
            cover(kind, masked, self.secrets)
            data = masked
        number = len(self.lines) + 1
        try:
            line = encode_event(number, source, kind, self.at, data)
        except TypeError:  # half a surrogate pair, or a number that no 64 bits hold
            line = encode_event(number, source, kind, self.at, printable(data))
        self.lines.append(line)

    def open(self, about: JsonObject) -> None:
        """The first event; ``about`` says of which file the recording was made."""
        opened = {"task": "recording", "digest": "", "converted": about, **catalogue_fields()}
        self.tell(0, "episode.opened", opened)

    def blind(self, shown: Collection[str], vouched: Collection[str], where: str) -> None:
        """A gap for every source, noun and kind that ``where`` can't show: rules that need it give
        null, not 0."""
        for source in sorted(set(SOURCES) - set(_OWN)):
            kinds = [name for name, kind in KINDS.items() if kind.source == source]
            hidden = [
                name for name in kinds if name not in shown and not _is_vouched(name, vouched)
            ]
            about: dict[str, JsonValue] = {"source": source, "reason": f"not in {where}"}
            if len(hidden) == len(kinds):
                self._blind.add(source)
                self.tell(0, "gap.began", about)
                continue
            for part in _parts(source, kinds, hidden):
                self._blind.add(part)
                self.tell(0, "gap.began", {**about, "part": part})

    def interrupt(self, at: float, part: str, reason: str) -> None:
        """A gap in a ``part`` of the browser's, as long as the moment: the running step is blind
        for it.

        Nothing, where the whole file is blind for that part.
        """
        if not {"cdp", part} & self._blind:
            self.tell(at, "gap.began", {"source": "cdp", "part": part, "reason": reason})
            self.tell(at, "gap.ended", {"source": "cdp", "part": part})

    def begin(self, at: float, action: JsonValue = None) -> None:
        """Begin the next step; the one before is sealed if it ended."""
        self._seal(at)
        self.step += 1
        self._ended = False
        about: dict[str, JsonValue] = {"step": self.step}
        if action is not None:
            about["action"] = action
        self.tell(at, "step.began", about)

    def end(self, at: float) -> None:
        """The running step's action is done; what comes until the next one is its effect."""
        if not self._ended:
            self._ended = True
            self.tell(at, "step.ended", {"step": self.step})

    def play(self, tellings: Iterable[Telling]) -> None:
        """Record what an importer tells, in its order: steps, unobserved moments, and events."""
        for at, kind, data in tellings:
            match kind:
                case "step.began":
                    self.begin(at, data)
                case "step.ended":
                    self.end(at)
                case "unseen":
                    self.interrupt(at, str(data["part"]), str(data["reason"]))
                case _:
                    self.tell(at, kind, data)

    def close(self, at: float, reason: str) -> None:
        """Nothing follows: ends the step that runs; the close seals it."""
        self.end(at)
        closed: dict[str, JsonValue] = {"reason": reason}
        if self.is_truncated:
            closed["truncated"] = True
        self.tell(at, "episode.closed", closed)

    def _seal(self, at: float) -> None:
        """Seal the running step, if it ended, as a daemon does when the next one begins."""
        if self.step >= 0 and self._ended:
            self.tell(at, "step.sealed", {"step": self.step, "reason": "next"})


def _is_vouched(kind: str, vouched: Collection[str]) -> bool:
    return kind in vouched or kind.partition(".")[0] in vouched


def _parts(source: str, kinds: list[str], hidden: list[str]) -> list[str]:
    """``hidden`` in as few names as can be: of the browser's, a noun stands for all of its
    kinds."""
    if source != "cdp":
        return hidden
    shown = set(kinds).difference(hidden)
    shown_nouns = {kind.partition(".")[0] for kind in shown}
    parts: dict[str, None] = {}
    for kind in hidden:
        noun = kind.partition(".")[0]
        part = kind if noun in shown_nouns else noun
        parts[part] = None
    return list(parts)
