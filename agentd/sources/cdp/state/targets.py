"""Which of the browser's targets are pages that a person could look at."""

from __future__ import annotations

from collections.abc import Mapping

_OURS_NOT = ("devtools://", "chrome-extension://", "chrome-untrusted://")


def is_page(info: Mapping[str, object]) -> bool:
    """Whether a target is a page that stands in a tab, or will when somebody goes there."""
    if info.get("type") != "page" or info.get("subtype") not in (None, "", "prerender"):
        return False
    return not str(info.get("url", "")).startswith(_OURS_NOT)
