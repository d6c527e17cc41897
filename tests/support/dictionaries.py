"""Frames of a build with another dictionary."""

from __future__ import annotations

from functools import cache

from common.frames import NUMBER, Packer, dictionary, prepare_dictionary

OTHER = 40999


@cache
def _other() -> Packer:
    content = bytearray(dictionary(NUMBER).as_bytes())
    content[4:8] = OTHER.to_bytes(4, "little")
    return Packer(prepare_dictionary(bytes(content)))


def other_build(text: bytes) -> bytes:
    """Compress ``text`` with a dictionary that this build has not."""
    return _other().pack(text)
