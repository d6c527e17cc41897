"""Lets the scene wait for what the daemon journals."""

from __future__ import annotations

from agentd.inprocess.watch import Handle
from agentd.session.session import Session
from tests.conformance.scene import Hands


def listen(watch: Handle, hands: Hands) -> None:
    """Count for ``hands`` what the daemon in this process journals, from its baseline on."""
    session = watch._daemon.session
    assert session is not None
    count(session, hands)


def count(session: Session, hands: Hands) -> None:
    """The same of a session."""
    for _, kind, data in session.journal.rows("cdp"):
        if not data.get("baseline") or kind == "tab.opened":
            hands.seen[kind] += 1
    session.recorder.listen(lambda source, kind: hands.seen.update([kind]))
