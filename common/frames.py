"""zstd frames of segments, and the dictionary that they are compressed with.

A segment of a live step is short and like the ones of other episodes, so that most of its bytes
stand in a dictionary that daemon and service both have. A frame's head names its dictionary, as
RFC 8878 has it; a frame that names none needs none. Digests and chains are of the text, whatever it
is compressed with. A dictionary stays in the package for as long as a log may need it
(docs/decisions/0037-one-dictionary.md).
"""

from __future__ import annotations

import threading
from functools import cache, lru_cache
from pathlib import Path

import zstandard

DICTIONARIES = Path(__file__).with_name("dictionaries")
"""Files ``NUMBER.zdict``, made by `python -m benchmarks.dictionary`."""
NUMBER = 40001
"""The dictionary that new frames are compressed with. Numbers of two bytes from 32,768 on are
anybody's (RFC 8878, 3.1.1.1.3)."""
LEVEL = 12
"""Of zstd, with a dictionary: the twentieth that level 15 saves costs three times the time."""
PLAIN_LEVEL = 15
"""Of zstd, without one: the last that pays, a fifth less than level 3. The parameters are those for
128 KiB, which most segments are within, so that a long one takes no more memory."""
RATIO = 500
"""How many times its frame a text may be: the service takes the double for a bomb."""
WINDOW_BYTES = 1 << 27
"""The most memory that a stored frame may need to be unpacked."""
MAX_DECOMPRESSORS = 8
"""Kept by a thread, some 100 KiB each."""
_PIECE = 2_048
"""Bytes in a block of a frame where all would pack too well; a block takes at least four bytes."""


class UnknownDictionaryError(ValueError):
    """A frame names a dictionary that this build has not."""

    def __init__(self, number: int) -> None:
        known = ", ".join(str(each) for each in known_numbers())
        super().__init__(
            f"the frame is compressed with dictionary {number}; this build has {known}: upgrade it"
        )
        self.number = number


def known_numbers() -> list[int]:
    """Return the numbers of the dictionaries that this build has."""
    return sorted(int(path.stem) for path in DICTIONARIES.glob("*.zdict"))


@cache
def dictionary(number: int) -> zstandard.ZstdCompressionDict:
    """Return the dictionary of this ``number``, ready to compress and to decompress.

    Raises `UnknownDictionaryError`.
    """
    if number not in known_numbers():
        raise UnknownDictionaryError(number)
    return prepare_dictionary((DICTIONARIES / f"{number}.zdict").read_bytes())


def prepare_dictionary(content: bytes) -> zstandard.ZstdCompressionDict:
    """Return the dictionary with this ``content``, ready to compress at `LEVEL`."""
    loaded = zstandard.ZstdCompressionDict(content)
    loaded.precompute_compress(level=LEVEL)
    return loaded


def dictionary_number(frame: bytes) -> int:
    """Return the number of the dictionary that ``frame`` names, 0 where it names none.

    Raises `zstandard.ZstdError` for what is no frame.
    """
    return int(zstandard.get_frame_parameters(frame).dict_id)


def decompressor(frame: bytes, max_window_size: int) -> zstandard.ZstdDecompressor:
    """Make the decompressor that ``frame`` needs, with a bound on its memory.

    Raises `UnknownDictionaryError`, and `zstandard.ZstdError` for what is no frame.
    """
    return _make_decompressor(dictionary_number(frame), max_window_size)


def _make_decompressor(number: int, max_window_size: int) -> zstandard.ZstdDecompressor:
    known = None if number == 0 else dictionary(number)
    return zstandard.ZstdDecompressor(dict_data=known, max_window_size=max_window_size)


class _Decompressors(threading.local):
    """The decompressors of one thread, by dictionary and bound: to make one takes longer than to
    unpack a live step's frame."""

    def __init__(self) -> None:
        self.find = lru_cache(MAX_DECOMPRESSORS)(_make_decompressor)


def kept_decompressor(frame: bytes, max_window_size: int) -> zstandard.ZstdDecompressor:
    """Return a decompressor as `decompressor` makes it, which this thread keeps: it may be used for
    one whole frame at a time, and for no stream. Raises as `decompressor`."""
    return _DECOMPRESSORS.find(dictionary_number(frame), max_window_size)


def unpack(frame: bytes) -> bytes:
    """Return the text of a frame that the log holds: its size was checked before it was stored.

    Raises `zstandard.ZstdError`, or `UnknownDictionaryError`.
    """
    return kept_decompressor(frame, WINDOW_BYTES).decompress(frame)


_DECOMPRESSORS = _Decompressors()


class Packer:
    """Compresses texts of segments; ``dictionary``: None for a frame that any zstd reads alone."""

    def __init__(self, dictionary: zstandard.ZstdCompressionDict | None = None) -> None:
        if dictionary is None:
            parameters = zstandard.ZstdCompressionParameters.from_level(
                PLAIN_LEVEL, source_size=1 << 17
            )
            self._compressor = zstandard.ZstdCompressor(compression_params=parameters)
        else:
            self._compressor = zstandard.ZstdCompressor(level=LEVEL, dict_data=dictionary)

    def pack(self, text: bytes) -> bytes:
        """Compress ``text`` as one frame, that the service does not take for a bomb.

        Where it would pack to less than a `RATIO` th, it is packed in small blocks.
        """
        frame = self._compressor.compress(text)
        if len(text) <= RATIO * len(frame):
            return frame
        stream = self._compressor.compressobj(size=len(text))
        pieces: list[bytes] = []
        for start in range(0, len(text), _PIECE):
            pieces.append(stream.compress(text[start : start + _PIECE]))
            pieces.append(stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))
        pieces.append(stream.flush())
        return b"".join(pieces)


def live_packer() -> Packer:
    """Make the packer of what a daemon ships: frames with today's dictionary."""
    return Packer(dictionary(NUMBER))
