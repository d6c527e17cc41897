"""Kinds of the filesystem. Settled content only; ``path`` is relative to ``root``, a watched
directory's label.

A name that is not UTF-8 is reported with its odd bytes as ``\\xe9``. ``mime`` is by content,
``mode`` as in ``0644``, ``link`` where a symbolic link points, as written there: nothing is
followed, so a link has no ``sha256``.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from detectors.model.kinds.harness import Moment
from detectors.model.kinds.kind import KindTable, Masked
from detectors.model.types import Json

FILES = KindTable("files")
READER = KindTable("reader")


class AtPath(TypedDict):
    """Where a file or folder is; `name` is the path's last part."""

    root: str
    path: str
    name: str


class FileContent(AtPath):
    """A file as it was looked at."""

    size: int
    sha256: str | None
    mode: NotRequired[str]
    mime: NotRequired[str]
    link: NotRequired[str]
    links: NotRequired[int]
    unread_reason: NotRequired[Literal["large", "slow", "denied", "busy"]]


MovedFrom = TypedDict("MovedFrom", {"from": str})
"""The path before."""


@FILES.kind("file.present")
class FilePresent(FileContent):
    """The file was there when the source attached. `links`: how many names the same file has, where
    it is more than one; `unread_reason`: why there is no `sha256` (`large`, `slow`, `denied`, or
    `busy`: it was being written at the close); of a symbolic link, `link` says where it points."""

    baseline: bool


@FILES.kind("file.created")
class FileCreated(FileContent):
    """A new file, its content settled; `via`: it came by `write`, `rename` or `download`."""

    via: str


@FILES.kind("file.modified")
class FileModified(FileContent):
    """New content, settled."""

    via: str


@FILES.kind("file.moved")
class FileMoved(FileContent, MovedFrom):
    """The file changed its path within the root."""


@FILES.kind("file.mode_changed")
class FileModeChanged(AtPath):
    """Its permissions are now these, as in `0644`."""

    mode: str


@FILES.kind("file.deleted")
class FileDeleted(AtPath):
    """The file is gone; with `baseline`: it went during a gap of the source, at an unknown time."""

    baseline: NotRequired[bool]


@FILES.kind("file.vanished")
class FileVanished(AtPath):
    """A file came and went before anybody could look at it: what it held is not known. No
    download's or editor's own scaffolding."""


@FILES.kind("file.unsettled")
class FileUnsettled(AtPath):
    """At the close a program still had this file open under a temporary name, and its content is
    not what was reported of it: a download in progress, an editor's swap file, or what is hidden
    under such a name. What it holds is not known."""

    size: int


@FILES.kind("folder.created")
class FolderCreated(AtPath):
    """A new folder; `unseen`: its own times say that a file or folder came and went in it before
    the daemon could look."""

    unseen: NotRequired[bool]


@FILES.kind("folder.moved")
class FolderMoved(AtPath, MovedFrom):
    """A folder changed its path; what is in it is reported file by file."""


@FILES.kind("folder.deleted")
class FolderDeleted(AtPath):
    """The folder is gone; `unseen`: it was created while its root was watched, and no file was seen
    in it, so that a file that came and went before the daemon could look is not known."""

    baseline: NotRequired[bool]
    unseen: NotRequired[bool]


ReadAs = TypedDict("ReadAs", {"as": str})
"""What a file was asked to be read as: `auto` or a format."""


@READER.kind("file.read")
class FileRead(AtPath, ReadAs, Masked):
    """The content of a file that a rule reads, as the daemon's reader found it
    (docs/readers.md). `as`: what was asked for, `auto` or a format; `format`: what it was read as.
    `status`: read; gone; damaged: it is none; large, heavy: over a bound; slow, denied,
    unavailable, failed, unsettled: it is not known, `reason` says why. `facts` by format, secrets
    masked; with `cut` the ends of texts and lists are left out."""

    status: str
    when: Moment
    step: NotRequired[int]
    format: NotRequired[str]
    size: NotRequired[int]
    facts: NotRequired[Json]
    cut: NotRequired[bool]
    query: NotRequired[str]
    reason: NotRequired[str]
    ms: NotRequired[int]
    baseline: NotRequired[bool]
