"""What archives hold, by their lists alone: nothing is unpacked to the disk, and no more than the
bounds allow is read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from typing import BinaryIO, cast

from agentd.readers.bounds import UNPACKED, DamagedError, HeavyError
from agentd.readers.request import Facts, ReadRequest, without_empty

MAX_ENTRIES = 1_000
"""Entries that are reported."""
MAX_ENTRIES_SEEN = 100_000
"""Entries of an archive that is listed at all."""


def read_zip(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{entries: [{name, size, folder?, link?, encrypted?}], count, bytes}``.

    Of a link only that it is one: where it goes stands in its content.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, zipfile.LargeZipFile, ValueError, NotImplementedError) as error:
        raise DamagedError(f"no zip archive: {error}") from None
    return _listed([_zip_entry(member) for member in members])


def _zip_entry(member: zipfile.ZipInfo) -> Facts:
    """Describe one entry of a zip: name, size in bytes, and whether it is a folder, a link, or
    encrypted."""
    entry: Facts = {"name": member.filename.rstrip("/"), "size": member.file_size}
    what = {
        "folder": member.is_dir(),
        "link": stat.S_ISLNK(member.external_attr >> 16),
        "encrypted": bool(member.flag_bits & 1),
    }
    return entry | without_empty(what)


def read_tar(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{entries: [{name, size, folder?, link?, special?}], count, bytes}``.

    Compressed by gzip, bzip2, xz or not. ``link``: where it goes; ``special``: a pipe or a device.
    """
    entries: list[Facts] = []
    try:
        with tarfile.open(fileobj=_Bounded(_unpacked(file)), mode="r|") as archive:
            for member in archive:
                if len(entries) >= MAX_ENTRIES_SEEN:
                    raise HeavyError(f"more than {MAX_ENTRIES_SEEN} entries")
                entries.append(_tar_entry(member))
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError, ValueError) as error:
        raise DamagedError(f"no tar archive: {error}") from None
    return _listed(entries)


def _tar_entry(member: tarfile.TarInfo) -> Facts:
    """Describe one entry of a tar: name, size in bytes, and whether it is a folder, a link (to
    what), or no file at all."""
    entry: Facts = {"name": member.name.rstrip("/"), "size": member.size}
    if member.isdir():
        entry["folder"] = True
    elif member.issym() or member.islnk():
        entry["link"] = member.linkname
    elif not member.isreg():
        entry["special"] = True
    return entry


def bounded_zip(file: BinaryIO) -> None:
    """Make sure that an office file unpacks to no more than `UNPACKED` bytes, and rewind it.

    Raises `HeavyError` or `DamagedError`.
    """
    size = read_zip(file, {})["bytes"]
    file.seek(0)
    if size > UNPACKED:
        raise HeavyError(f"it unpacks to {size} bytes")


def _listed(entries: list[Facts]) -> Facts:
    """Return the entries, their count and their bytes together. Raises `HeavyError` for too
    many."""
    if len(entries) > MAX_ENTRIES_SEEN:
        raise HeavyError(f"{len(entries)} entries")
    return {
        "entries": entries[: MAX_ENTRIES + 1],
        "count": len(entries),
        "bytes": sum(entry["size"] for entry in entries),
    }


def _unpacked(file: BinaryIO) -> BinaryIO:
    """Return the unpacked stream of ``file`` by its first bytes; ``file`` if it is not packed."""
    head = file.read(6)
    file.seek(0)
    if head.startswith(b"\x1f\x8b"):
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if head.startswith(b"BZh"):
        return cast(BinaryIO, bz2.BZ2File(file))
    if head == b"\xfd7zXZ\0":
        return cast(BinaryIO, lzma.LZMAFile(file))
    return file


class _Bounded(io.RawIOBase):
    """A stream that ends in `HeavyError` once too much has come out of it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._left = UNPACKED

    def read(self, size: int = -1) -> bytes:
        """Read at most a MiB at once. Raises `HeavyError` when more comes out than `UNPACKED`."""
        data = self._stream.read(min(size, 1 << 20) if size >= 0 else 1 << 20)
        self._left -= len(data)
        if self._left < 0:
            raise HeavyError(f"it unpacks to more than {UNPACKED} bytes")
        return data
