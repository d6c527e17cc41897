"""Documents that take another's place without a navigation.

What a `javascript:` URL evaluates to becomes a document of its own: with script contexts of its
own, so that whoever listened in the one before hears nothing, and under the loader of the one
before, so that no commit is reported. The lifecycle tells: a loader begins (`init`) a second time.
So it does where a document is written anew (`document.open`), whose contexts stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentd.sources.cdp.state.state import remember

MAX_FRAMES = 4_096


class Replacements:
    """The loader that each frame began last, of as many frames as a browser may have, and per
    session the frame whose document it has just said to be written anew."""

    def __init__(self) -> None:
        self._loaders: dict[str, str] = {}
        self._reopened: dict[str, str] = {}

    def commit(self, frame: str, loader: str) -> None:
        """Note the document that a frame has."""
        remember(self._loaders, frame, loader, MAX_FRAMES)

    def is_replaced(
        self, session: str, method: str, params: Mapping[str, Any], known: str = ""
    ) -> bool:
        """Whether a message says that another document stands in its frame, under the loader of the
        one before; ``known``: that loader, where it is known otherwise. To be asked of each message
        of a session: that a document is written anew is told by two, one right after the other."""
        reopened = self._reopened.pop(session, "")
        if method == "Page.documentOpened":
            self._reopened[session] = params["frame"]["id"]
        elif method == "Page.frameDetached":
            self._loaders.pop(params["frameId"], None)
        if method != "Page.lifecycleEvent" or params.get("name") != "init":
            return False
        frame, loader = params["frameId"], params.get("loaderId", "")
        if not loader or loader not in (known, self._loaders.get(frame)):
            self.commit(frame, loader)
            return False
        return bool(frame != reopened)
