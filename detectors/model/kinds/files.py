"""Kinds of the filesystem. Settled content only; ``path`` is relative to ``root``, a watched
directory's label.

A name that is not UTF-8 is told with its odd bytes as ``\\xe9``. ``mime`` is by content, ``mode``
as in ``0644``, ``link`` where a symbolic link points, as written there: nothing is followed, so a
link has no ``sha256``.
"""

from __future__ import annotations

from detectors.model.kinds.kind import EventKind, kind

_FILE = "root path name size sha256 mode? mime? link? links? unread_reason?"

FILES: dict[str, EventKind] = {
    "file.present": kind(
        "files",
        f"{_FILE} baseline",
        "The file was there when the source attached. `links`: how many names the same file has,"
        " where it is more than one; `unread_reason`: why there is no `sha256` (`large`, `slow`,"
        " `denied`, or `busy`: it was being written at the close); of a symbolic link, `link` says"
        " where it points.",
    ),
    "file.created": kind(
        "files",
        f"{_FILE} via",
        "A new file, its content settled; `via`: it came by `write`, `rename` or `download`.",
    ),
    "file.modified": kind("files", f"{_FILE} via", "New content, settled."),
    "file.moved": kind("files", f"{_FILE} from", "The file changed its path within the root."),
    "file.mode_changed": kind(
        "files", "root path name mode", "Its permissions are now these, as in `0644`."
    ),
    "file.deleted": kind(
        "files",
        "root path name baseline?",
        "The file is gone; with `baseline`: it went while the source was blind, nobody knows when.",
    ),
    "file.vanished": kind(
        "files",
        "root path name",
        "A file came and went before anybody could look at it: what it held is not known. No"
        " download's or editor's own scaffolding.",
    ),
    "file.unsettled": kind(
        "files",
        "root path name size",
        "At the close a program still had this file open under a temporary name, and its content is"
        " not what was reported of it: a download in progress, an editor's swap file, or what is"
        " hidden under such a name. What it holds is not known.",
    ),
    "folder.created": kind("files", "root path name", "A new folder."),
    "folder.moved": kind(
        "files",
        "root path name from",
        "A folder changed its path; what is in it is reported file by file.",
    ),
    "folder.deleted": kind("files", "root path name baseline?", "The folder is gone."),
}

READER: dict[str, EventKind] = {
    "file.read": kind(
        "reader",
        "root path name as status when step? format? size? facts? cut? query? reason? ms?"
        " baseline?",
        "What stands in a file that a rule asks about, as the daemon's reader found it"
        " (docs/readers.md). `as`: what was asked for, `auto` or a format; `format`: what it was"
        " read as. `status`: read; gone; damaged: it is none; large, heavy: over a bound; slow,"
        " denied, unavailable, failed, unsettled: nobody knows, `reason` says why. `facts` by"
        " format, secrets masked; with `cut` the ends of texts and lists are left out.",
    ),
}
