"""Which fields of a document hold secrets, read from its HTML: live, the page itself would have
said so."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_INPUT = re.compile(r"<(?:input|textarea)\b", re.IGNORECASE)
_SECRET_FILL = re.compile(
    r"(^|\s)(current-password|new-password|one-time-code|cc-number|cc-csc)(\s|$)"
)
MAX_CHARACTERS = 4 << 20
"""Characters of a document that are looked at."""


def secret_names(html: str) -> set[str]:
    """The names and ids of the document's password fields and the like."""
    html = html[:MAX_CHARACTERS]
    if _INPUT.search(html) is None:
        return set()
    reader = _Fields()
    reader.feed(html)
    return reader.names


class _Fields(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the names of a field that is secret."""
        if tag not in ("input", "textarea"):
            return
        found = {name: value or "" for name, value in attrs}
        is_password = found.get("type", "").lower() == "password"
        filled = found.get("autocomplete", "")
        if is_password or _SECRET_FILL.search(filled):
            own = {found.get("name", ""), found.get("id", "")}
            self.names |= own - {""}
