"""A file that is to be converted: unpacked with a bound, and read as far as all formats read it
alike.

A `SourceFile` holds either one JSON value, or a list of values from JSON lines, or a zip's entries.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson

from common.regular_file import NotRegularError, read_regular
from detectors.model.codec import sha256
from detectors.model.json_value import JsonObject, JsonValue, list_or_empty
from lab.convert.errors import ConvertError, format_value

MAX_BYTES = 1 << 30
"""What a file may unpack to, in bytes."""
_CHUNK = 1 << 20
_FREE = 1 << 25
_MAX_RATIO = 50
"""What packed bytes may unpack to beyond the first `_FREE`: a page's JSON comes to ten or twenty
times its gzip."""

WANTED = (
    "wanted a HAR, a Playwright trace zip, a log of raw CDP messages, an rrweb stream, an AT-SPI"
    " capture, a flow or an ATIF trajectory"
)


def _most(packed: int) -> int:
    """What so many packed bytes may unpack to."""
    return min(MAX_BYTES, max(_FREE, _MAX_RATIO * packed))


class SourceFile:
    """``path`` opened. ``sha256`` and ``bytes`` are those of the file as it lies there.

    ``value``: the JSON value, or the list of a JSON-lines file's values (then ``lines`` is true);
    None for a zip. Raises `ConvertError`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        raw = self._read()
        self.sha256, self.bytes = sha256(raw), len(raw)
        self.zip: Zip | None = None
        self.value: JsonValue = None
        self.lines = False
        if raw[:2] == b"\x1f\x8b":
            raw = self._gunzip(raw)
        if not raw.strip():
            raise self.wrong("", "the file is empty", WANTED)
        if raw[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
            self.zip = Zip(path, raw)
        else:
            self._parse(raw)

    def wrong(self, where: str, what: str, wanted: str) -> ConvertError:
        """An error about ``where`` (a path into the file, or "") in this file."""
        return ConvertError(f"{self.path}: {where + ': ' if where else ''}{what}; {wanted}")

    @contextlib.contextmanager
    def part(self, where: str) -> Iterator[None]:
        """While ``where`` is read: what is not as the format has it is an error about that
        place."""
        try:
            yield
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            OSError,
            RecursionError,
            TypeError,
            ValueError,
        ) as error:
            what = f"{type(error).__name__}: {error}"
            raise self.wrong(where, what[:200], "wanted what the format has there") from None

    def _read(self) -> bytes:
        """Read the file. Raises `ConvertError` for what is no regular file, is too large, or can't
        be read."""
        try:
            return read_regular(self.path, MAX_BYTES)
        except NotRegularError as error:
            raise self.wrong(
                "", str(error), "wanted a regular file that is not too large"
            ) from None
        except OSError as error:
            raise ConvertError(
                f"{self.path}: {error.strerror}; wanted a file that can be read"
            ) from None

    def _gunzip(self, raw: bytes) -> bytes:
        """Unpack gzip, up to a bound that grows with the packed size. Raises `ConvertError`."""
        out = bytearray()
        try:
            packed = io.BytesIO(raw)
            with gzip.open(packed) as file:
                while chunk := file.read(_CHUNK):
                    out += chunk
                    if len(out) > _most(packed.tell()):
                        what = f"unpacks {packed.tell()} bytes to more than {_most(packed.tell())}"
                        raise self.wrong("", what, "wanted a smaller one")
        except EOFError:
            raise self.wrong(
                f"byte {len(raw)}", "the gzip stream is cut short", "wanted a whole one"
            ) from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise self.wrong("", f"is no sound gzip: {error}", "wanted a whole one") from None
        return bytes(out)

    def _parse(self, raw: bytes) -> None:
        """Parse JSON, or else JSON lines. Raises `ConvertError` that names line and column."""
        text = raw.removeprefix(b"\xef\xbb\xbf")
        try:
            self.value = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            if not self._parse_lines(text):
                raise self.wrong(
                    f"line {error.lineno} column {error.colno}", f"no JSON: {error.msg}", WANTED
                ) from None

    def _parse_lines(self, text: bytes) -> bool:
        """Whether the text is JSON lines; a first line that is JSON says that it is meant to be."""
        values: list[JsonValue] = []
        for number, line in enumerate(text.split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                values.append(orjson.loads(line))
            except orjson.JSONDecodeError as error:
                if not values or not isinstance(values[0], dict | list):
                    return False
                where = f"line {number} column {error.colno}"
                raise self.wrong(
                    where, f"no JSON: {error.msg}", "wanted one JSON value a line"
                ) from None
        self.value, self.lines = values, True
        return True

    @property
    def items(self) -> Sequence[JsonValue]:
        """The values of a JSON array or of JSON lines, of which there may be one; empty for
        anything else."""
        if isinstance(self.value, dict):
            return [self.value]
        return list_or_empty(self.value)


class Zip:
    """The entries of a zip, read with one bound over all of them together."""

    def __init__(self, path: Path, raw: bytes) -> None:
        self._path = path
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(raw))
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise ConvertError(f"{path}: is no sound zip: {error}; wanted a whole one") from None
        self.names = self._zip.namelist()
        self._left = MAX_BYTES

    def read(self, name: str) -> bytes | None:
        """The entry's content, None where there is none. Raises `ConvertError`."""
        try:
            about = self._zip.getinfo(name)
            if about.file_size > min(self._left, _most(about.compress_size)):
                what = f"unpacks {about.compress_size} bytes to {about.file_size}"
                raise ConvertError(
                    f"{self._path}: {name}: {what}; wanted at most {MAX_BYTES} in all, and fewer"
                    " from these"
                )
            with self._zip.open(name) as file:
                content = file.read(self._left + 1)
        except KeyError:
            return None
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            NotImplementedError,
            RuntimeError,
        ) as error:
            raise ConvertError(
                f"{self._path}: {name}: cannot be unpacked: {error}; wanted a whole zip"
            ) from None
        self._left -= len(content)
        if self._left < 0:
            raise ConvertError(
                f"{self._path}: unpacks to more than {MAX_BYTES} bytes; wanted a smaller one"
            )
        return content

    def rows(self, name: str) -> list[JsonObject]:
        """The entry's JSON lines, each an object. Raises `ConvertError`."""
        rows: list[JsonObject] = []
        for number, line in enumerate((self.read(name) or b"").split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                where = f"{self._path}: {name}: line {number} column {error.colno}"
                raise ConvertError(
                    f"{where}: no JSON: {error.msg}; wanted one object a line"
                ) from None
            if not isinstance(row, dict):
                raise ConvertError(
                    f"{self._path}: {name}: line {number}: {format_value(row)}; wanted an object"
                )
            rows.append(row)
        return rows
