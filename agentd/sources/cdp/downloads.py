"""Downloads, as the browser begins them; the file itself is the files source's business."""

from __future__ import annotations

from collections.abc import Iterator

from agentd.sources.cdp.masking import mask_url
from agentd.sources.cdp.state import Browser, Params, Seen, SessionState


def told(browser: Browser, session: SessionState, method: str, params: Params) -> Iterator[Seen]:
    """Fold one message about a download."""
    if method == "Page.downloadWillBegin":
        yield Seen(
            "download.began",
            {
                "tab": session.tab,
                "frame": params["frameId"],
                "url": mask_url(params["url"], browser.secrets),
                "name": params["suggestedFilename"],
                "download": params["guid"],
            },
        )
