"""Kinds of the filesystem. Settled content only; ``path`` is relative to ``root``, a watched directory's label."""

from __future__ import annotations

from detectors.kinds.kind import Kind, kind

FILES: dict[str, Kind] = {
    "file.present": kind(
        "files", "root path name size sha256 mime? link? baseline", "The file was there at the start."
    ),
    "file.created": kind(
        "files",
        "root path name size sha256 mime? link? via?",
        "A new file, its content settled. `link`: where a symbolic link points, which is never followed.",
    ),
    "file.modified": kind("files", "root path name size sha256 mime? link? via?", "New content, settled."),
    "file.moved": kind("files", "root path name size sha256 mime? link? from", "The file changed its path."),
    "file.permitted": kind("files", "root path name mode", "Its permissions are now these, as in `0644`."),
    "file.deleted": kind("files", "root path name", "The file is gone."),
    "folder.created": kind("files", "root path name", "A new folder."),
    "folder.moved": kind("files", "root path name from", "A folder changed its path; its files are told one by one."),
    "folder.deleted": kind("files", "root path name", "The folder is gone."),
}
