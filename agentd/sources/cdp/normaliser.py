"""One raw message in, observations out: the folds together, without I/O, so recordings can be run through them.

Replies that carry facts come in as messages named after their command (`Page.getFrameTree`,
`Page.createIsolatedWorld`, `Network.getRequestPostData`).
"""

from __future__ import annotations

from collections.abc import Iterator

from agentd.sources.cdp import dialogs, downloads, navigation, page_events, tabs
from agentd.sources.cdp.network import Network, WantsBody
from agentd.sources.cdp.state import Browser, Params, Seen, SessionState


class Normaliser:
    """The state of one attachment to one browser."""

    def __init__(self, binding: str, salt: str, wants_body: WantsBody) -> None:
        self.browser = Browser()
        self.browser.secrets.salt = salt
        self.network = Network(wants_body)
        self._binding = binding

    def feed(self, session: str, method: str, params: Params) -> Iterator[Seen]:
        """Fold one message of one session ("" is the browser's own, or the only page's)."""
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
            yield from navigation.told(self.browser, state, method, params)
            page_events.forget(self.browser, state, method, params)
            yield from dialogs.told(self.browser, state, method, params)
            yield from downloads.told(self.browser, state, method, params)

    def _target(self, session: str, method: str, params: Params) -> Iterator[Seen]:
        if method == "Target.attachedToTarget":
            self._attached(session, params["sessionId"], params["targetInfo"])
        elif method == "Target.detachedFromTarget":
            state = self.browser.sessions.pop(params["sessionId"], None)
            if state is not None and not state.is_page:
                yield from navigation.gone(self.browser, state.root)
        else:
            yield from tabs.told(self.browser, method, params)

    def _attached(self, parent: str, session: str, info: Params) -> None:
        is_page = info["type"] == "page"
        tab = info["targetId"] if is_page else self.browser.known(parent).tab
        self.browser.sessions[session] = SessionState(tab, info["targetId"], is_page)
