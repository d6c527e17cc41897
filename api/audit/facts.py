"""What reports need to know of one closed episode, read from its log once: counts, masks,
tampering, the edge's word.

Pure. Only lines that can matter are parsed: the log's JSON is canonical, so a kind is found by its
bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from api.episodes.label_index import FINDINGS, Finding
from detectors.model.codec import canonical
from detectors.model.rewards import PARTLY, RewardJson, VerdictJson
from detectors.model.wire_versions import current_kind, former_kinds

_KINDS = ("step.began", "agent.tool_called", "agent.tool_returned", "reward.estimated", "gap.began")
ODD_SCHEMES = (
    "file",
    "chrome",
    "view-source",
    "data",
    "devtools",
    "chrome-extension",
    "filesystem",
)
"""Schemes of addresses that show files, the browser's insides or made-up pages (docs/audit.md)."""
_HARMLESS = ("chrome://newtab", "chrome://new-tab-page", "chrome://crash")
_NEEDLES = tuple(
    f'"{name}"'.encode() for kind in _KINDS for name in (kind, *former_kinds(kind))
) + tuple(f'"url":"{s}:'.encode() for s in ODD_SCHEMES)
_SECRET = re.compile(
    r"task|rule|gold|answer|expected|reward|milestone|journal|plan\.json|\.token|secret|\.key|\.sqlite|\.db\b|\.mrec|agentd",
    re.IGNORECASE,
)
"""Parts of addresses under which rules, gold data and files of service and daemon are kept."""
_BLIND = re.compile(r"(?:^|; )(?:(\S+) (?:saw nothing from|at) )?event (\d{1,19}): ")
_SYNTAX = (
    "syntax",
    "pars",
    "json",
    "schema",
    "unknown tool",
    "no such tool",
    "unexpected argument",
    "missing argument",
)
_MAX_ITEMS = 50
_MAX_CHARACTERS = 200


@dataclass(slots=True)
class Facts:
    """Counts of one episode. ``masks``: cause → [steps, of these with a gap that began after the
    first step], where a step of several causes is counted with each; ``masked_while_acting``: such
    steps, each counted once; both with the steps of which only a penalty is paid, which are not
    ``masked``; ``milestones``: id → [times, Σ value, Σ worth]; ``tamper``: [seq, step, address,
    whether it names a secret]."""

    steps: int = 0
    masked: int = 0
    calls: int = 0
    syntax_errors: int = 0
    execution_errors: int = 0
    repeated_calls: int = 0
    judged: int = 0
    cost: float = 0.0
    masks: dict[str, list[int]] = field(default_factory=dict)
    masked_while_acting: int = 0
    milestones: dict[str, list[float]] = field(default_factory=dict)
    tamper: list[list[object]] = field(default_factory=list)
    edge: list[list[object]] = field(default_factory=list)
    gaps: int = 0

    def findings(self) -> list[Finding]:
        """What lists of episodes can be narrowed by."""
        found = {"masked": self.masked, "gap": self.gaps, "tamper": self.tamper}
        return [finding for finding in FINDINGS if found[finding]]

    def row(self) -> dict[str, object]:
        """As `episode_facts` has it, without the episode's id."""
        flat = {name: getattr(self, name) for name in COUNTS}
        return {**flat, "body": self.body()}

    def body(self) -> bytes:
        """The canonical JSON of what is no count."""
        return canonical({name: getattr(self, name) for name in PARTS})


COUNTS = (
    "steps",
    "masked",
    "calls",
    "syntax_errors",
    "execution_errors",
    "repeated_calls",
    "judged",
    "cost",
)
PARTS = ("masks", "masked_while_acting", "milestones", "tamper", "edge")


class FactReader:
    """Takes an episode's segment texts in order, then its rewards."""

    def __init__(self) -> None:
        self.facts = Facts()
        self._first_step = 0
        self._step = -1
        self._calls: dict[str, bytes] = {}
        self._done: set[bytes] = set()
        self._edge: dict[int, float | None] = {}

    def read(self, text: bytes) -> None:
        """Read the text of one segment, and what the facts need of it."""
        for _, line in sorted(set(_lines(text))):
            seq, _, source, old_kind, data = orjson.loads(line)
            kind = current_kind(old_kind)
            if source == "steps":
                self._harness(seq, kind, data)
            elif kind == "gap.began":
                self.facts.gaps += 1
            elif kind == "reward.estimated":
                self._hint(data.get("step"), data.get("reward"))
            else:
                self._address(seq, kind, data)

    def _harness(self, seq: int, kind: str, data: Mapping[str, Any]) -> None:
        """Count a step, or a call of a tool: repeated ones, wrong ones, failed ones."""
        facts = self.facts
        if kind == "step.began":
            self._first_step = self._first_step or seq
            self._step = data["step"]
            facts.steps += 1
        elif kind == "agent.tool_called":
            facts.calls += 1
            made = canonical([data.get("tool"), data.get("arguments")])
            facts.repeated_calls += made in self._done
            self._calls[str(data.get("call"))] = made
        elif kind == "agent.tool_returned":
            made = self._calls.pop(str(data.get("call")), b"")
            if data.get("ok"):
                self._done.add(made)
            elif is_syntax_error(data.get("error")):
                facts.syntax_errors += 1
            else:
                facts.execution_errors += 1

    def _hint(self, step: object, reward: object) -> None:
        """Note what the daemon estimated for a step; anything that is no number is none."""
        # Whoever has the episode's token may have written anything.
        if type(step) is int:
            self._edge[step] = reward if isinstance(reward, int | float) else None

    def _address(self, seq: int, kind: str, data: Mapping[str, object]) -> None:
        """Note an address that asks the browser for something odd, up to so many."""
        url = str(data.get("url", ""))
        if (
            kind in ("page.navigated", "tab.opened")
            and is_odd(url)
            and len(self.facts.tamper) < _MAX_ITEMS
        ):
            self.facts.tamper.append([seq, self._step, url[:_MAX_CHARACTERS], names_a_secret(url)])

    def finish(self, rewards: Iterable[RewardJson]) -> Facts:
        """The facts, with what the sealed rewards say."""
        facts = self.facts
        for reward in rewards:
            facts.masked += reward["mask"]
            reason = reward["reason"] or ""
            if reward["mask"] or reason.startswith(PARTLY):
                self._masked(reason.removeprefix(PARTLY))
            for one in reward["milestones"]:
                known = facts.milestones.setdefault(one["id"], [0, 0.0, 0.0])
                known[:] = [
                    known[0] + 1,
                    known[1] + one["value"],
                    known[2] + (0.0 if reward["mask"] else one["worth"]),
                ]
            self._verdicts(reward["verdicts"])
            if reward["step"] in self._edge:
                said = self._edge[reward["step"]]
                paid = of_rules(reward)
                facts.edge.append([reward["step"], said, paid, said == paid])
        return facts

    def _masked(self, reason: str) -> None:
        """Count the causes of a step that was masked, or would have been but for a penalty that was
        seen."""
        facts, while_acting = self.facts, False
        for cause, seq in dict(causes(reason)).items():
            later = seq > self._first_step > 0
            of = facts.masks.setdefault(cause, [0, 0])
            of[:] = [of[0] + 1, of[1] + later]
            while_acting = while_acting or later
        facts.masked_while_acting += while_acting

    def _verdicts(self, verdicts: Sequence[VerdictJson]) -> None:
        """Count whether a judge was asked, and what all verdicts cost."""
        self.facts.judged += any(v["stage"] == "judge" for v in verdicts)
        self.facts.cost += sum(v["cost"] for v in verdicts)


def _lines(text: bytes) -> Iterable[tuple[int, bytes]]:
    """Lines with one of the needles, each with its place."""
    for needle in _NEEDLES:
        at = text.find(needle)
        while at >= 0:
            start, end = text.rfind(b"\n", 0, at) + 1, text.find(b"\n", at)
            if start:
                yield start, text[start:end]
            at = text.find(needle, end)


def of_rules(reward: RewardJson) -> float | None:
    """The rules' own word on a step: what the edge's hint is held against, which knows nothing that
    is beyond them."""
    found: float | None = next(
        (v["score"] for v in reward["verdicts"] if v["stage"] == "rule"), reward["reward"]
    )
    return found


def is_odd(url: str) -> bool:
    """Whether an address is of a scheme by which an agent could look behind the scenes."""
    return url.partition(":")[0].lower() in ODD_SCHEMES and not url.startswith(_HARMLESS)


def names_a_secret(url: str) -> bool:
    """Whether an odd address names what could be rules, gold data or the daemon's own files."""
    return _SECRET.search(url) is not None


def is_syntax_error(error: object) -> bool:
    """Whether a tool could not even make sense of the call; any other failure is one of
    execution."""
    text = str(error or "")[:_MAX_CHARACTERS].casefold()
    return any(word in text for word in _SYNTAX)


def causes(reason: str | None) -> list[tuple[str, int]]:
    """The causes of a masked step and the events at which they began, of the reason that the reward
    gives."""
    reason = reason or "no reason"
    found = list(_BLIND.finditer(reason))
    if not found:
        return [(_same(reason), 0)]
    ends = [*(match.start() for match in found[1:]), len(reason)]
    return [
        (f"{match[1] or 'rules'}: {_same(reason[match.end() : end])}", int(match[2]))
        for match, end in zip(found, ends, strict=True)
    ]


def _same(why: str) -> str:
    return re.sub(r"\d+", "N", why)[:_MAX_CHARACTERS]
