"""A short session whose outcome must be the same whether it is watched or not: dialogs, leaving, a
download, focus."""

from __future__ import annotations

import json

from tests.conformance.scene import Hands

ASKING = ("alert", "confirm", "prompt")


async def outcome(hands: Hands, site: str) -> str:
    """What the page and the harness are left with, as JSON."""
    await hands.begin("dialogs")
    await hands.call("Page.navigate", {"url": f"{site}/dialogs"})
    await hands.until("document.readyState === 'complete' && location.pathname === '/dialogs'")
    for count, kind in enumerate(ASKING, 1):
        await hands.click(f"#{kind}")
        await hands.until(f"window.said.length === {count}")
    said = await hands.value("window.said")
    await hands.end()

    await hands.begin("save")
    await hands.click("#save")
    downloads = await hands.downloads()
    await hands.end()

    await hands.begin("leave")
    await hands.click("#name")
    await hands.call("Input.insertText", {"text": "unsaved"})
    await hands.click("#leave")
    await hands.until("location.pathname === '/left' && document.readyState === 'complete'")
    left = await hands.value(
        "({path: location.pathname, history: history.length, title: document.title, focus:"
        " document.activeElement.id, focused: document.hasFocus(), page:"
        " document.documentElement.outerHTML, globals: Object.getOwnPropertyNames(window).length,"
        " visible: document.visibilityState})"
    )
    await hands.end()
    return json.dumps({"said": said, "left": left, "downloads": downloads}, sort_keys=True)
