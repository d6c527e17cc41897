"""Screenshots for the judge, from a folder as the daemon keeps them: `<sha256>.<format>`."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from api.core.regular_file import read_regular
from api.stages.judge.facts import Fact

MAX_PICTURES = 3
"""The last so many pictures are shown."""
_MIME = {"png": "image/png", "jpeg": "image/jpeg", "jpg": "image/jpeg", "webp": "image/webp"}
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


def parts_of(facts: Sequence[Fact], names: Mapping[str, str], folder: Path) -> list[dict[str, Any]]:
    """Message parts of the last pictures among ``facts``; ``names`` are the lines' ids by key.

    A picture whose content is not what the log says is left out: its line says so by having no
    picture.
    """
    parts: list[dict[str, Any]] = []
    for fact in [fact for fact in facts if fact.picture and not fact.flags][-MAX_PICTURES:]:
        found = _read(folder, str(fact.picture))
        if found is not None:
            mime, data = found
            address = f"data:{mime};base64,{base64.b64encode(data).decode()}"
            parts.append({"type": "text", "text": f"The picture of line {names[fact.key]}:"})
            parts.append({"type": "image_url", "image_url": {"url": address}})
    return parts


def _read(folder: Path, sha256: str) -> tuple[str, bytes] | None:
    # The name comes from the log: only a digest can be one, so no path leads out of the folder.
    if not _SHA256.match(sha256):
        return None
    for suffix, mime in _MIME.items():
        path = folder / f"{sha256}.{suffix}"
        if path.is_file():
            data = read_regular(path)
            return (mime, data) if hashlib.sha256(data).hexdigest() == sha256 else None
    return None
