"""The source "files": one attachment after another, and what outlives each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from pathlib import Path

from agentd.core.patience import DEFAULT_PATIENCE, Patience
from agentd.core.source import Sink, SourceLostError
from agentd.sources.files.attachment import RootAttachment
from agentd.sources.files.memory import Memory
from agentd.sources.files.troubles import Troubles
from agentd.sources.files.walk import in_words


class FilesSource:
    """Watches ``roots``: label → directory (real paths, none inside another). ``own``: what the
    daemon itself writes, of which nothing is said. ``patience`` multiplies how long a seal waits
    for files."""

    name = "files"

    def __init__(
        self,
        roots: Mapping[str, Path],
        own: Iterable[Path] = (),
        patience: Patience = DEFAULT_PATIENCE,
    ) -> None:
        self._patience = patience
        self._roots = roots
        self._own = tuple(own)
        self._memory = Memory()
        self._troubles = Troubles()
        self._attached: RootAttachment | None = None

    def recall(self, events: Iterable[tuple[int, str, Mapping[str, object]]]) -> None:
        """Take in, before the first `run`, what this source reported before a restart."""
        reported = [(kind, data) for _, kind, data in events]
        for kind, data in reported:
            self._memory.note(kind, data)
        self._troubles.recall(reported)

    async def run(self, sink: Sink, ready: Callable[[], None]) -> None:
        """Report the baseline, then what happens; raises `SourceLostError` when a root is gone."""

        def report(kind: str, data: Mapping[str, object]) -> None:
            self._memory.note(kind, data)
            sink(kind, data)

        def report_removed(root: str, there: Set[str], unknown: Set[str]) -> None:
            """Report what went while nobody watched."""
            for kind, data in list(self._memory.removal_events(root, there, unknown)):
                report(kind, data)

        self._troubles.clear()
        try:
            attached = RootAttachment(
                self._roots,
                self._own,
                report,
                self._troubles,
                self._memory.has,
                report_removed,
                self._patience,
            )
        except OSError as error:
            raise SourceLostError(in_words(error)) from None
        try:
            await attached.begin()
            self._attached = attached
            ready()
            await attached.lost
        except OSError as error:
            raise SourceLostError(in_words(error)) from None
        finally:
            self._attached = None
            attached.end()

    async def fence(self, timeout_s: float) -> None:
        """Return once all that was written and closed before is reported, at most after
        ``timeout_s`` seconds."""
        if self._attached is not None:
            await self._attached.fence(timeout_s)

    async def before_seal(self, step: int | None, *, closing: bool) -> None:
        """Wait for files that were made or left open and are not at rest yet; at the close they are
        reported as they are.

        What could not be reported then is a `events.dropped`: no step is sealed as if nothing had
        happened.
        """
        if self._attached is not None:
            await self._attached.wait_settled(closing=closing)

    def after_seal(self, step: int) -> None:
        """Do nothing: files are read before the seal."""
