"""An export into a folder appears whole, or leaves nothing behind."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

INCOMPLETE = "_milestoned_incomplete"
"""Where files are until all of them are there: a folder, or a prefix of an object store. What a
killed export left there the next one takes away."""
CARD = "README.md"


@contextmanager
def staged_in(out: Path) -> Iterator[Path]:
    """Give a folder whose files are in ``out`` once the block ends, each replacing an earlier one
    of its name; if the block raises, ``out`` is as it was."""
    is_new = not out.exists()
    staging = out / INCOMPLETE
    try:
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True)
        yield staging
        for path in files_of(staging):
            path.replace(out / path.relative_to(staging))
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        if is_new:
            with suppress(OSError):  # it is not empty: the export is there
                out.rmdir()


def content_version(folder: Path) -> str:
    """Return a version, 0.0.N, that the content of an export's files decides.

    Hugging Face's `datasets` keeps what it loaded by a dataset's folder name, configuration and
    version: without it another export in a folder of that name gives the first one's rows.
    """
    whole = hashlib.sha256()
    for path in files_of(folder):
        with path.open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return f"0.0.{int.from_bytes(whole.digest()[:6])}"


def files_of(folder: Path) -> list[Path]:
    """Return the files of an export in the order in which they appear: the card last."""
    files = (path for path in folder.iterdir() if path.is_file())
    return sorted(files, key=lambda path: (path.name == CARD, path.name))
