"""What archives hold, by their lists alone: nothing is unpacked to the disk, nothing larger than
its bound is read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from typing import Any, BinaryIO, cast

from agentd.readers.bounds import UNPACKED, DamagedError, HeavyError

MAX_ENTRIES = 1_000
"""Entries that are told."""
MAX_ENTRIES_SEEN = 100_000
"""Entries of an archive that is listed at all."""


def read_zip(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{entries: [{name, size, folder?, link?, encrypted?}], count, bytes}``; of a link only that
    it is one."""
    try:
        with zipfile.ZipFile(file) as archive:
            found = archive.infolist()
    except (zipfile.BadZipFile, zipfile.LargeZipFile, ValueError, NotImplementedError) as error:
        raise DamagedError(f"no zip archive: {error}") from None
    entries = [
        {"name": one.filename.rstrip("/"), "size": one.file_size}
        | ({"folder": True} if one.is_dir() else {})
        | ({"link": True} if stat.S_ISLNK(one.external_attr >> 16) else {})
        | ({"encrypted": True} if one.flag_bits & 1 else {})
        for one in found
    ]
    return _listed(entries)


def read_tar(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{entries: [{name, size, folder?, link?, special?}], count, bytes}``; compressed by gzip,
    bzip2, xz or not. ``special``: a pipe or a device."""
    entries: list[dict[str, Any]] = []
    try:
        with tarfile.open(fileobj=_Bounded(_unpacked(file)), mode="r|") as archive:
            for one in archive:
                if len(entries) >= MAX_ENTRIES_SEEN:
                    raise HeavyError(f"more than {MAX_ENTRIES_SEEN} entries")
                more: dict[str, Any] = {"folder": True} if one.isdir() else {}
                more |= {"link": one.linkname} if one.issym() or one.islnk() else {}
                more |= {} if more or one.isreg() else {"special": True}
                entries.append({"name": one.name.rstrip("/"), "size": one.size, **more})
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError, ValueError) as error:
        raise DamagedError(f"no tar archive: {error}") from None
    return _listed(entries)


def bounded_zip(file: BinaryIO) -> None:
    """Make sure that an office file unpacks to no more than `UNPACKED`. Raises `HeavyError` or
    `DamagedError`."""
    listed = read_zip(file, {})
    file.seek(0)
    if listed["bytes"] > UNPACKED:
        raise HeavyError(f"it unpacks to {listed['bytes']} bytes")


def _listed(entries: list[dict[str, Any]]) -> dict[str, Any]:
    if len(entries) > MAX_ENTRIES_SEEN:
        raise HeavyError(f"{len(entries)} entries")
    return {
        "entries": entries[: MAX_ENTRIES + 1],
        "count": len(entries),
        "bytes": sum(one["size"] for one in entries),
    }


def _unpacked(file: BinaryIO) -> BinaryIO:
    head = file.read(6)
    file.seek(0)
    if head.startswith(b"\x1f\x8b"):
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if head.startswith(b"BZh"):
        return cast(BinaryIO, bz2.BZ2File(file))
    return cast(BinaryIO, lzma.LZMAFile(file)) if head == b"\xfd7zXZ\0" else file


class _Bounded(io.RawIOBase):
    """A stream that ends in `HeavyError` once too much has come out of it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._left = UNPACKED

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(min(size, 1 << 20) if size >= 0 else 1 << 20)
        self._left -= len(data)
        if self._left < 0:
            raise HeavyError(f"it unpacks to more than {UNPACKED} bytes")
        return data
