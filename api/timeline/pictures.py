"""Screenshots that a daemon put into the log, found by their digest."""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple

from api.core.errors import NotFoundError
from api.episodes.rows import EpisodeRow
from api.log.reader import Follower
from api.timeline.outlines import Outlines

MEDIA_TYPES = {"webp": "image/webp", "png": "image/png"}


class Picture(NamedTuple):
    """A picture and its media type."""

    content: bytes
    media_type: str


async def load_picture(
    row: EpisodeRow, sha256: str, outlines: Outlines, follower: Follower
) -> Picture:
    """Return the screenshot of that digest out of the episode's log; raises `NotFoundError`."""
    seq = (await outlines.load(row.id, row.through)).pictures.get(sha256)
    found = [] if seq is None else await follower.between(row.id, seq, seq)
    media_type = MEDIA_TYPES.get(str(found[0].data.get("format"))) if found else None
    if media_type is None:
        raise NotFoundError(
            f"screenshot: expected the sha256 of one in the log of {row.id}, got {sha256[:80]};"
            " pictures are in the log where the daemon runs with --visual and --screen"
        )
    try:
        content = base64.b64decode(str(found[0].data.get("base64")), validate=True)
    except binascii.Error:
        raise NotFoundError(
            f"screenshot: event {seq} of {row.id} holds none that can be read"
        ) from None
    return Picture(content, media_type)
