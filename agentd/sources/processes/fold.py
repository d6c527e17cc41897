"""Which of what was observed of processes is news, and whose: pure, no clock and no /proc."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from agentd.sources.processes.look import ProcessFacts
from detectors.model.kinds.desktop import ProcessEnded, ProcessStarted

MAX_ARGUMENTS = 64
MAX_ARGUMENT_LENGTH = 500
MAX_LINE_LENGTH = 4_000
"""What of a command line is reported: arguments, characters of each, and of all together."""
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
_CHROMIUM_TYPES = (
    "zygote",
    "renderer",
    "gpu-process",
    "utility",
    "crashpad-handler",
    "broker",
    "ppapi",
    "ppapi-broker",
    "nacl-loader",
    "nacl-broker",
)
_CHROMIUMS = frozenset(f"--type={type_}" for type_ in _CHROMIUM_TYPES)
_FIREFOX = ("firefox", "GeckoMain")
"""How names of Firefox's main process begin; each of its helpers is renamed to what it is for."""

Mask = Callable[[Sequence[str]], list[str]]


class ProcessObservation(NamedTuple):
    """Something that happened: an event's kind and its data."""

    kind: str
    data: ProcessStarted | ProcessEnded


class _Known(NamedTuple):
    facts: ProcessFacts
    inside: bool
    """Whether it belongs to whom the source watches; where that is a process, its children do."""
    ours: bool
    """Whether it is the daemon or of its making."""
    helper: bool
    told: bool


class ProcessFold:
    """The processes that are known to run.

    ``whose``: "all", a user's name, or the id of a process, which is watched with all that comes
    from it; ``daemon``: the id of the daemon, which with its children is never reported.
    """

    def __init__(self, whose: str, daemon: int, mask: Mask) -> None:
        self._whose = whose
        self._daemon = daemon
        self._mask = mask
        self._known: dict[int, _Known] = {}
        self._parents: dict[int, int] = {}

    @property
    def pids(self) -> frozenset[int]:
        """The ids of all processes that are known to run."""
        return frozenset(self._known)

    def facts_of(self, pid: int) -> ProcessFacts | None:
        """Return what was observed last of a process."""
        known = self._known.get(pid)
        return known.facts if known else None

    def is_reported(self, pid: int) -> bool:
        """Return whether the process's start was reported."""
        return pid in self._known and self._known[pid].told

    def forked(self, pid: int, parent: int) -> None:
        """Follow a split: the same program twice, which is no news until one of them becomes
        another."""
        self._parents[pid] = parent
        if parent in self._known:
            known = self._known[parent]
            facts = known.facts._replace(pid=pid, parent=parent)
            self._known[pid] = known._replace(facts=facts, told=False, ours=self._ours(pid, parent))

    def ran(
        self, pid: int, facts: ProcessFacts | None, *, baseline: bool = False
    ) -> list[ProcessObservation]:
        """Follow that a program runs in ``pid``; ``facts`` None: it ended before the look."""
        if facts is None:
            facts = ProcessFacts(pid, self._parents.get(pid, 0), 0.0, "")
        parent = self._parents.get(pid, facts.parent)
        above = self._known.get(parent)
        before = self._known.get(pid)
        ours = self._ours(pid, parent)
        inside = self._inside(facts, above, before)
        helper = _is_helper_below(facts, above)
        told = inside and not ours and not helper
        self._known[pid] = _Known(facts, inside, ours, helper, told)
        if not told:
            return self._end(before)
        data = self._data(facts, parent)
        if baseline:
            data["baseline"] = True
        return [ProcessObservation("process.started", data)]

    def split(self, facts: ProcessFacts) -> None:
        """Follow a split as `forked`, by a look at the process that runs its parent's program."""
        self.forked(facts.pid, facts.parent)
        if facts.pid in self._known:
            self._known[facts.pid] = self._known[facts.pid]._replace(facts=facts)

    def ended(self, pid: int) -> list[ProcessObservation]:
        """Follow that a process is gone."""
        self._parents.pop(pid, None)
        return self._end(self._known.pop(pid, None))

    def _end(self, known: _Known | None) -> list[ProcessObservation]:
        """Report the end of a process whose start was told."""
        if known is None or not known.told:
            return []
        data: ProcessEnded = {"pid": known.facts.pid}
        if known.facts.name:
            data["name"] = known.facts.name
        return [ProcessObservation("process.ended", data)]

    def _ours(self, pid: int, parent: int) -> bool:
        """Whether a process is the daemon, or was started by it, however long ago."""
        if self._daemon in (pid, parent):
            return True
        above = self._known.get(parent)
        return above is not None and above.ours

    def _inside(self, facts: ProcessFacts, above: _Known | None, before: _Known | None) -> bool:
        """Return whether a process belongs to whom the source watches.

        ``above``: its parent, ``before``: what was known of it, if anything was.
        """
        if self._whose == "all":
            return True
        is_inside_above = above is not None and above.inside
        if self._whose.isdecimal():
            # One that was left by its parent stays what it was.
            was_inside = before is not None and before.inside
            return facts.pid == int(self._whose) or is_inside_above or was_inside
        if facts.user is None:
            return is_inside_above
        return facts.user == self._whose

    def _data(self, facts: ProcessFacts, parent: int) -> ProcessStarted:
        """Describe a process: its numbers, name, program, user, and its arguments without
        secrets."""
        data: ProcessStarted = {"pid": facts.pid}
        if parent:
            data["parent"] = parent
        if facts.name:
            data["name"] = facts.name
        if facts.arguments is not None:
            given = [argument[:_MASKED_FROM] for argument in facts.arguments]
            masked = self._mask(given)
            if masked != given:
                data["masked"] = ["arguments"]
            data["arguments"], cut = bound_arguments(masked)
            if cut:
                data["cut"] = True
        if facts.program:
            data["program"] = facts.program
        if facts.user:
            data["user"] = facts.user
        return data


def _is_helper_below(facts: ProcessFacts, above: _Known | None) -> bool:
    """Return whether it is a helper of the process ``above``, its parent."""
    if above is None:
        return is_helper(facts, None)
    is_browser = above.told or above.helper
    parent = above.facts if is_browser else None
    if is_helper(facts, parent, below=above.helper):
        return True
    is_nameless = not facts.name
    return is_nameless and above.helper


def is_helper(facts: ProcessFacts, parent: ProcessFacts | None, *, below: bool = False) -> bool:
    """Return whether it is a browser's renderer, zygote, crash handler or the like, whose main
    process is reported alone.

    ``parent``: one that was reported, or is a helper itself (``below``).
    """
    if _is_called_helper(facts):
        return True
    return parent is not None and _has_helper_arguments(facts, parent, below=below)


def _has_helper_arguments(facts: ProcessFacts, parent: ProcessFacts, *, below: bool) -> bool:
    """Return whether a process is its parent's helper by its arguments.

    They alone make no helper: ``git config --type=bool``. So both must be one program; where nobody
    may read which programs the two are, only arguments that no other program has count.
    """
    arguments = facts.arguments or ()
    is_sandbox = _is_called_helper(parent)  # a program of its own that becomes the browser's zygote
    are_known = facts.program and parent.program
    if are_known and not is_sandbox:
        is_same = facts.program == parent.program
        return is_same and _has_helper_type(arguments)
    is_namesake = facts.name == parent.name
    if arguments[:1] == ("-contentproc",):
        return below or is_namesake or parent.name.startswith(_FIREFOX)
    is_of_browser = is_sandbox or is_namesake
    return is_of_browser and not _CHROMIUMS.isdisjoint(arguments)


def _has_helper_type(arguments: Sequence[str]) -> bool:
    """Return whether an argument says which kind of helper a process is."""
    return any(argument.startswith(_HELPER_ARGUMENTS) for argument in arguments)


def _is_called_helper(facts: ProcessFacts) -> bool:
    """Whether a process is called as those are that only help a program."""
    return facts.name.startswith(_HELPER_NAMES) or "crashpad" in facts.name


def bound_arguments(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """Return as much of the arguments as is reported, and whether that is less than all."""
    kept: list[str] = []
    left = MAX_LINE_LENGTH
    for argument in arguments[:MAX_ARGUMENTS]:
        if left <= 0:
            break
        kept.append(argument[: min(MAX_ARGUMENT_LENGTH, left)])
        left -= len(kept[-1])
    return kept, kept != list(arguments)
