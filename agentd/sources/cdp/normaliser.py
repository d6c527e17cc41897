"""One raw message in, observations out: the folds together, without I/O, so recordings can be run through them.

Replies that carry facts come in as messages named after their command (`Page.getFrameTree`,
`Page.createIsolatedWorld`, `Network.getRequestPostData`, `Network.getResponseBody`).
"""

from __future__ import annotations

from collections.abc import Iterator

from agentd.sources.cdp import dialogs, downloads, navigation, page_events, tabs
from agentd.sources.cdp.asks import Asks
from agentd.sources.cdp.masking import Secrets, cover
from agentd.sources.cdp.network import Network
from agentd.sources.cdp.state import WORKERS, Browser, Params, Seen, SessionState


class Normaliser:
    """The state of one attachment to one browser."""

    def __init__(self, binding: str, salt: str, asks: Asks) -> None:
        self.browser = Browser(Secrets(salt, more=asks.mask))
        self.network = Network(asks)
        self._binding = binding

    def feed(self, session: str, method: str, params: Params) -> Iterator[Seen]:
        """Fold one message of one session ("" is the browser's own, or the only page's)."""
        for seen in self._fold(session, method, params):
            cover(seen.kind, seen.data, self.browser.secrets)
            yield seen

    def _fold(self, session: str, method: str, params: Params) -> Iterator[Seen]:
        domain = method.partition(".")[0]
        if domain == "Target":
            yield from self._target(session, method, params)
            return
        state = self.browser.known(session)
        if domain == "Network":
            yield from self.network.told(self.browser, state, method, params)
        elif method in ("Runtime.bindingCalled", "Page.createIsolatedWorld"):
            yield from page_events.told(self.browser, state, self._binding, method, params)
        elif domain == "Page":
            for seen in navigation.told(self.browser, state, method, params):
                yield seen
                yield from self._left(seen)
            page_events.forget(self.browser, state, method, params)
            yield from dialogs.told(self.browser, state, method, params)
            yield from downloads.told(self.browser, state, method, params)

    def _target(self, session: str, method: str, params: Params) -> Iterator[Seen]:
        if method == "Target.attachedToTarget":
            self._attached(session, params["sessionId"], params["targetInfo"])
        elif method == "Target.detachedFromTarget":
            state = self.browser.sessions.pop(params["sessionId"], None)
            if state is not None:
                yield from self.network.gone(state)
            if state is not None and not state.is_page and not state.via:
                yield from navigation.gone(self.browser, state.root)
        else:
            yield from tabs.told(self.browser, method, params)

    def _left(self, seen: Seen) -> Iterator[Seen]:
        if seen.kind == "frame.detached" or (seen.kind == "page.navigated" and not seen.data["same_document"]):
            yield from self.network.left(seen.data["frame"], seen.data.get("loader", ""))

    def _attached(self, parent: str, session: str, info: Params) -> None:
        kind, target = info["type"], info["targetId"]
        if kind in WORKERS:
            above = self.browser.known(parent) if parent else SessionState("", "", False)
            frame = info.get("parentFrameId") or above.root
            self.browser.sessions[session] = SessionState(above.tab, frame, False, target, kind)
            return
        tab = target if kind == "page" else self.browser.known(parent).tab
        self.browser.sessions[session] = SessionState(tab, target, kind == "page", target)
