"""What the network itself says of a request: that its headers went out, and which status came back,
hop by hop.

These messages (`Network.requestWillBeSentExtraInfo`, `Network.responseReceivedExtraInfo`) are the
network service's. They come earlier or later than those of the page that asked, and not at all for
what the network never had.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class RequestHops:
    """One request's. ``sent`` counts the hops whose headers went out, ``answers`` has status and
    location that each hop was answered with, None for one that the network did not answer.
    ``length``: of the body that went out, in bytes."""

    sent: int = 0
    length: int | None = None
    answers: list[tuple[int, str] | None] = field(default_factory=list)

    def redirect(self, hop: int, *, due: bool) -> None:
        """Close hop number ``hop``, which was a redirect. ``due``: the network tells of it, if not
        yet."""
        # A challenge was answered by a password: the same hop went out twice.
        del self.answers[hop + 1 :]
        if not due:
            self.sent = max(self.sent, hop + 1)
            self.answers += [None] * (hop + 1 - len(self.answers))

    def is_sent(self, hop: int) -> bool:
        """Whether the headers of hop number ``hop`` went out to the server."""
        return self.sent > hop

    def status(self, hop: int) -> int | None:
        """The status that the server gave to hop number ``hop``, as far as it is known."""
        last = self.answers[-1] if len(self.answers) > hop else None
        return None if last is None else last[0]
