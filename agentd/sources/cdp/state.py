"""What the folds share: where each session belongs, and which frames and tabs are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentd.sources.cdp.masking import Secrets

Params = Mapping[str, Any]

WORKERS = ("worker", "shared_worker", "service_worker")
"""The types of targets that are workers."""


class Seen(NamedTuple):
    """An observation before the sink stamps its time."""

    kind: str
    data: dict[str, Any]


@dataclass(slots=True)
class Frame:
    """A frame as last committed; ``loader`` names its document, ``loaded`` the one whose load was told."""

    tab: str
    parent: str | None = None
    url: str = ""
    loader: str = ""
    loaded: str = ""


@dataclass(slots=True)
class SessionState:
    """One attached target. ``contexts``: script context → frame; ``held``: payloads of a context not known yet.

    ``via``: worker, shared_worker or service_worker, else ""; a worker's ``root`` is the frame that made it, and one
    that several tabs share has neither tab nor frame.
    """

    tab: str
    root: str
    is_page: bool
    target: str = ""
    via: str = ""
    contexts: dict[int, str] = field(default_factory=dict)
    held: dict[int, list[str]] = field(default_factory=dict)
    dialog: dict[str, Any] | None = None


@dataclass(slots=True)
class Browser:
    """The state of the folds. ``settled`` turns true when all that stood at attachment has been told."""

    secrets: Secrets = field(default_factory=Secrets)
    settled: bool = False
    tabs: dict[str, dict[str, str]] = field(default_factory=dict)
    sessions: dict[str, SessionState] = field(default_factory=dict)
    frames: dict[str, Frame] = field(default_factory=dict)

    def known(self, session: str) -> SessionState:
        """The session's state; a log without sessions (one page only) is taken as one unnamed tab."""
        state = self.sessions.get(session)
        if state is None:
            state = self.sessions[session] = SessionState(tab=session, root=session, is_page=True)
        return state

    def below(self, frame: str) -> list[str]:
        """All frames under ``frame``, deepest last."""
        found = [frame]
        for one in found:
            found.extend(child for child, about in self.frames.items() if about.parent == one)
        return found[1:]
