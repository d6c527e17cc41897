"""Screenshots for the judge, from a folder as the daemon keeps them: `<sha256>.<format>`."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from api.stages.judge.facts import Fact
from common.regular_file import read_regular
from detectors.model.types import Json

MAX_PICTURES = 3
"""The last so many pictures are shown."""
_MIME = {"png": "image/png", "jpeg": "image/jpeg", "jpg": "image/jpeg", "webp": "image/webp"}
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")


def picture_parts(
    facts: Sequence[Fact], names: Mapping[str, str], folder: Path
) -> list[dict[str, Json]]:
    """Return message parts of the last pictures among ``facts``; ``names`` are the lines' ids by
    key.

    A picture whose content is not what the log says is left out: its line says so by having no
    picture.
    """
    parts: list[dict[str, Json]] = []
    shown = [fact for fact in facts if fact.picture and not fact.flags]
    for fact in shown[-MAX_PICTURES:]:
        address = _read_as_url(folder, str(fact.picture))
        if address is not None:
            parts.append({"type": "text", "text": f"The picture of line {names[fact.key]}:"})
            parts.append({"type": "image_url", "image_url": {"url": address}})
    return parts


def _read_as_url(folder: Path, sha256: str) -> str | None:
    """Return a picture as a `data:` address; None where it is not there, or another."""
    # The name comes from the log: only a digest can be one, so no path leads out of the folder.
    if not _SHA256.match(sha256):
        return None
    for suffix, mime in _MIME.items():
        path = folder / f"{sha256}.{suffix}"
        if path.is_file():
            data = read_regular(path)
            if hashlib.sha256(data).hexdigest() != sha256:
                return None
            return f"data:{mime};base64,{base64.b64encode(data).decode()}"
    return None
