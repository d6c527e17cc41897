"""Pure: which of what was seen of processes is news, and whose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from agentd.sources.processes.look import ProcessFacts

MAX_ARGUMENTS, MAX_ARGUMENT_LENGTH, MAX_LINE_LENGTH = 64, 500, 4_000
"""What of a command line is told: so many arguments, each so many characters, and so many together."""
_MASKED_FROM = 20_000

_HELPER_NAMES = (
    "crashpad",
    "WebKitNetwork",
    "WebKitWebPro",
    "WebKitGPUProc",
    "QtWebEngineProc",
    "nacl_helper",
    "chrome-sandbox",
)
_HELPER_ARGUMENTS = ("--type=", "-contentproc")
_CHROMIUMS = frozenset(
    f"--type={what}" for what in ("zygote", "renderer", "gpu-process", "utility", "crashpad-handler", "broker",
    "ppapi", "ppapi-broker", "nacl-loader", "nacl-broker")
)  # fmt: skip
_FIREFOX = ("firefox", "GeckoMain")
"""What Firefox's processes are called: the main one renames itself, and each of its helpers to what it is for."""

Mask = Callable[[Sequence[str]], list[str]]


class ProcessObservation(NamedTuple):
    """One observation."""

    kind: str
    data: dict[str, Any]


class _Known(NamedTuple):
    facts: ProcessFacts
    inside: bool
    """Whether it belongs to whom the source watches; its children do too where a process was named."""
    ours: bool
    """Whether it is the daemon or of its making."""
    helper: bool
    told: bool


class ProcessFold:
    """``whose``: "all", a user's name, or the id of a process, which is watched with all that comes
    from it. ``daemon``: the id of the daemon, which with its children is never told of."""

    def __init__(self, whose: str, daemon: int, mask: Mask) -> None:
        self._whose = whose
        self._daemon = daemon
        self._mask = mask
        self._known: dict[int, _Known] = {}
        self._parents: dict[int, int] = {}

    @property
    def pids(self) -> frozenset[int]:
        """All that are known to run."""
        return frozenset(self._known)

    def facts_of(self, pid: int) -> ProcessFacts | None:
        """What was seen last of a process."""
        known = self._known.get(pid)
        return known.facts if known else None

    def is_reported(self, pid: int) -> bool:
        """Whether its start was told."""
        return pid in self._known and self._known[pid].told

    def forked(self, pid: int, parent: int) -> None:
        """A process split: the same program twice, which is no news until one of them becomes
        another."""
        self._parents[pid] = parent
        if parent in self._known:
            known = self._known[parent]
            facts = known.facts._replace(pid=pid, parent=parent)
            self._known[pid] = known._replace(facts=facts, told=False, ours=self._ours(pid, parent))

    def ran(
        self, pid: int, facts: ProcessFacts | None, *, baseline: bool = False
    ) -> list[ProcessObservation]:
        """A program runs in ``pid``; ``facts`` None: it ended before it could be looked at."""
        if facts is None:
            facts = ProcessFacts(pid, self._parents.get(pid, 0), 0.0, "")
        parent = self._parents.get(pid, facts.parent)
        above, before = self._known.get(parent), self._known.get(pid)
        ours = self._ours(pid, parent)
        inside = self._inside(facts, above, before)
        browser = above.facts if above is not None and (above.told or above.helper) else None
        below = above is not None and above.helper
        helper = is_helper(facts, browser, below=below) or (not facts.name and below)
        told = inside and not ours and not helper
        self._known[pid] = _Known(facts, inside, ours, helper, told)
        if not told:
            return self._end(before)
        return [
            ProcessObservation(
                "process.started",
                self._data(facts, parent) | ({"baseline": True} if baseline else {}),
            )
        ]

    def split(self, facts: ProcessFacts) -> None:
        """A process came to be seen that runs its parent's program: a split, as `forked`."""
        self.forked(facts.pid, facts.parent)
        if facts.pid in self._known:
            self._known[facts.pid] = self._known[facts.pid]._replace(facts=facts)

    def ended(self, pid: int) -> list[ProcessObservation]:
        """A process is gone."""
        self._parents.pop(pid, None)
        return self._end(self._known.pop(pid, None))

    def _end(self, known: _Known | None) -> list[ProcessObservation]:
        if known is None or not known.told:
            return []
        name = {"name": known.facts.name} if known.facts.name else {}
        return [ProcessObservation("process.ended", {"pid": known.facts.pid, **name})]

    def _ours(self, pid: int, parent: int) -> bool:
        above = self._known.get(parent)
        return pid == self._daemon or parent == self._daemon or (above is not None and above.ours)

    def _inside(self, facts: ProcessFacts, above: _Known | None, before: _Known | None) -> bool:
        if self._whose == "all":
            return True
        if self._whose.isdecimal():
            # One that was left by its parent stays what it was.
            return facts.pid == int(self._whose) or any(
                known is not None and known.inside for known in (above, before)
            )
        return facts.user == self._whose or (
            facts.user is None and above is not None and above.inside
        )

    def _data(self, facts: ProcessFacts, parent: int) -> dict[str, Any]:
        data: dict[str, Any] = {"pid": facts.pid}
        if parent:
            data["parent"] = parent
        if facts.name:
            data["name"] = facts.name
        if facts.arguments is not None:
            arguments, cut = bounded(self._mask([one[:_MASKED_FROM] for one in facts.arguments]))
            data["arguments"] = arguments
            if cut:
                data["cut"] = True
        if facts.program:
            data["program"] = facts.program
        if facts.user:
            data["user"] = facts.user
        return data


def is_helper(facts: ProcessFacts, parent: ProcessFacts | None, *, below: bool = False) -> bool:
    """Whether it is a browser's renderer, zygote, crash handler or the like, whose main process
    speaks for it.

    ``parent``: which was told, or is a helper itself (``below``). Its words alone make no helper:
    ``git config --type=bool``; where nobody may read which programs the two are, only words that no
    other program has.
    """
    if _is_called_helper(facts):
        return True
    arguments = facts.arguments or ()
    if parent is None:
        return False
    sandbox = _is_called_helper(parent)  # a program of its own that becomes the browser's zygote
    if facts.program and parent.program and not sandbox:
        return facts.program == parent.program and any(
            one.startswith(_HELPER_ARGUMENTS) for one in arguments
        )
    if arguments[:1] == ("-contentproc",):
        return below or facts.name == parent.name or parent.name.startswith(_FIREFOX)
    return (sandbox or facts.name == parent.name) and not _CHROMIUMS.isdisjoint(arguments)


def _is_called_helper(facts: ProcessFacts) -> bool:
    return facts.name.startswith(_HELPER_NAMES) or "crashpad" in facts.name


def bounded(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """As much of the arguments as is told, and whether that is less than all."""
    kept: list[str] = []
    left = MAX_LINE_LENGTH
    for argument in arguments[:MAX_ARGUMENTS]:
        if left <= 0:
            break
        kept.append(argument[: min(MAX_ARGUMENT_LENGTH, left)])
        left -= len(kept[-1])
    return kept, kept != list(arguments)
