"""Dialogs: shown, and answered by somebody. We only look: no answer is ever sent."""

from __future__ import annotations

from collections.abc import Iterator

from agentd.sources.cdp.state.gaps import DIALOGS, gap
from agentd.sources.cdp.state.state import BrowserState, CdpObservation, Params, SessionState

MAX_CHARACTERS = 4000


def fold(
    browser: BrowserState, session: SessionState, method: str, params: Params
) -> Iterator[CdpObservation]:
    """Fold one message about a dialog; while one is open the session's commands would not be
    answered."""
    if method == "Page.javascriptDialogOpening":
        about = {
            "tab": session.tab,
            "type": params["type"],
            "message": params["message"][:MAX_CHARACTERS],
        }
        session.dialog = about
        yield CdpObservation(
            "dialog.opened", about | {"url": browser.secrets.mask_url(params["url"])}
        )
    elif method == "Page.javascriptDialogClosed":
        if session.dialog is None and browser.live and browser.settled:
            yield from gap(
                DIALOGS, "a dialog was open before anybody listened; what it said is not known"
            )
        about = session.dialog or {"tab": session.tab, "type": "", "message": ""}
        session.dialog = None
        given = params.get("userInput", "")[:MAX_CHARACTERS]
        yield CdpObservation(
            "dialog.closed", about | {"accepted": params["result"], "input": given}
        )
