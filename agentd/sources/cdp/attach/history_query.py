"""The question for a page's history, asked after each of its moves, and no oftener than is good for
a busy page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agentd.sources.cdp.transport.connection import OnReply, Params, Reply

REST_S = 0.05
"""Between two questions for the same page, in seconds; `hurry` does not wait for it."""
TRIES = 5
"""More, of a page that is being exchanged for one of another site: it refuses until it is there."""
EXCHANGED = "Not attached to an active page"
ANSWER = "Page.getNavigationHistory"


class HistoryQuestion:
    """One page's. ``ask`` sends it, ``feed`` takes what is to be folded, ``watch`` is told of
    replies under way."""

    def __init__(
        self,
        ask: Callable[[OnReply], Reply],
        feed: Callable[[str, Params], None],
        watch: Callable[[Reply], None],
    ) -> None:
        self._ask = ask
        self._feed = feed
        self._watch = watch
        self._moves = 0
        self._asked = 0
        self._tries = TRIES
        self._again = False
        self._rests: asyncio.TimerHandle | None = None
        self._ask_now()

    def moved(self) -> None:
        """The page went somewhere, so that its history is another."""
        self._moves += 1
        self._tries = TRIES
        if self._rests is None:
            self._ask_now()

    def hurry(self) -> None:
        """Ask now if there is anything to ask; a refusal is then an answer."""
        self._tries = 0
        if self._rests is not None:
            self._rests.cancel()
            self._rested()

    def _rested(self) -> None:
        """Ask again if the page moved, or was exchanged, since the last question."""
        self._rests = None
        if self._again or self._moves > self._asked:
            self._ask_now()

    def _ask_now(self) -> None:
        """Ask for the tab's history, and note as of which move the answer is."""
        self._again = False
        self._asked = asked = self._moves
        self._rests = asyncio.get_running_loop().call_later(REST_S, self._rested)

        def on_reply(result: Params) -> None:
            self._feed(ANSWER, {**result, "as_of": asked})

        def on_end(reply: Reply) -> None:
            """Ask again, a few times, where the page was exchanged meanwhile; else fold that there
            is no answer."""
            if reply.cancelled() or reply.exception() is None:
                return
            if self._tries and EXCHANGED in str(reply.exception()):
                self._tries -= 1
                self._again = True
                if self._rests is None:
                    self._rests = asyncio.get_running_loop().call_later(REST_S, self._rested)
            else:
                self._feed(ANSWER, {"as_of": asked})

        reply = self._ask(on_reply)
        self._watch(reply)
        reply.add_done_callback(on_end)
