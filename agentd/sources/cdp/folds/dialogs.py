"""Dialogs: shown, and answered by somebody. We only look: no answer is ever sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentd.sources.cdp.state.gaps import DIALOGS, gap
from agentd.sources.cdp.state.protocol import DialogClosed, DialogOpening
from agentd.sources.cdp.state.state import BrowserState, CdpObservation, Handler, SessionState

MAX_CHARACTERS = 4000


def handle_opened(
    browser: BrowserState, session: SessionState, params: DialogOpening
) -> Iterator[CdpObservation]:
    """A dialog opens; while it is open the session's commands would not be answered."""
    message = params["message"][:MAX_CHARACTERS]
    session.dialog = {"tab": session.tab, "type": params["type"], "message": message}
    url = browser.secrets.mask_url(params["url"])
    yield CdpObservation("dialog.opened", session.dialog | {"url": url})


def handle_closed(
    browser: BrowserState, session: SessionState, params: DialogClosed
) -> Iterator[CdpObservation]:
    """Report that a dialog was answered, by whomever."""
    if session.dialog is None and browser.live and browser.settled:
        yield from gap(
            DIALOGS, "a dialog was open before anybody listened; what it said is not known"
        )
    dialog = session.dialog or {"tab": session.tab, "type": "", "message": ""}
    session.dialog = None
    answer = {"accepted": params["result"], "input": params.get("userInput", "")[:MAX_CHARACTERS]}
    yield CdpObservation("dialog.closed", dialog | answer)


HANDLERS: Mapping[str, Handler] = {
    "Page.javascriptDialogOpening": handle_opened,
    "Page.javascriptDialogClosed": handle_closed,
}
