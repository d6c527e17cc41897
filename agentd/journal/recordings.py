"""Writes recording files: whole or not at all, and over another one only where that is asked for.

Event lines become segments as the journal cuts them, segments become zstd frames, one after
another, and a last frame holds a checksum of them all.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from agentd.core.errors import AgentdError, UsageError
from agentd.journal.journal import fit
from common.frames import Packer
from common.output_file import why_not_writable
from detectors.model.codec import GENESIS, checksum_frame, join_segment, sha256


def must_be_free(out: Path, *, force: bool) -> None:
    """Raise `UsageError` where ``out`` can't be written: its directory is missing, or it is there
    already and ``force`` is not given."""
    problem = why_not_writable(out, force=force)
    if problem is not None:
        raise UsageError(f"--out {problem}")


def segments(episode: str, lines: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the texts of the segments that event lines 1, 2, 3 … of ``episode`` make."""
    done = 0
    head = GENESIS
    while done < len(lines):
        count = fit(lines, done)
        text = join_segment(episode, done + 1, lines[done : done + count], head)
        yield text
        done += count
        head = sha256(text)


def write_recording(texts: Iterable[bytes], out: Path, *, force: bool) -> None:
    """Write segments' texts to ``out``. Raises `UsageError` if it is there by now, `AgentdError` if
    it can't be."""
    packer = Packer()
    digest = hashlib.sha256()
    fresh = out.with_name(f"{out.name}.{os.getpid()}.new")
    try:
        with fresh.open("wb") as file:
            for text in texts:
                frame = packer.pack(text)
                digest.update(frame)
                file.write(frame)
            file.write(checksum_frame(digest.digest()))
            file.flush()
            os.fsync(file.fileno())
        must_be_free(out, force=force)
        fresh.replace(out)
    except OSError as error:
        raise AgentdError(f"--out {out}: cannot be written: {error.strerror}") from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            fresh.unlink()
