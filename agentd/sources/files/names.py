"""Names of files: which are scaffolding, and how one that is not UTF-8 is written in an event.

Scaffolding is what browsers and editors write under before they rename it to its own name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Literal

_DOWNLOAD = re.compile(
    r".+\.(crdownload|part|partial|opdownload)$|^\.(com\.google\.Chrome|org\.chromium\.Chromium)\..+"
)
_WRITE = re.compile(
    r".+\.(tmp|temp|crswap|swp|swx|swpx|bak~)$|.+~$|^\.(goutputstream-|~lock\.).*|^~\$.+|^#.+#$|^\.#.+|^4913$"
)
_LOCK = re.compile(r"^\.~lock\.(?P<whole>.+)#$|^~\$(?P<end>.+)|^\.#(?P<link>.+)")
LOCK_BYTES = 512
"""No office program's lock, which says who has a document open, is larger than this."""
LEFT_OUT = 2
"""Letters that an office program leaves out at the beginning of a long name."""
PARTIAL = (".part", ".crdownload", ".partial", ".opdownload", ".crswap")
"""What stands behind a final name while a browser holds that name with an empty file: `.crswap` is
what a page writes that saves by the File System Access API."""


def scaffold(path: str) -> Literal["download", "rename"] | None:
    """Return how a file renamed from this temporary name came about; None: it is no temporary
    name."""
    name = path.rpartition("/")[2]
    if _DOWNLOAD.match(name):
        return "download"
    return "rename" if _WRITE.match(name) else None


def mark_beside(
    path: str, size: int, ending: Callable[[str], Iterable[str]], stands: Callable[[str], bool]
) -> bool:
    """Return whether a file is what an office program keeps beside one that it has open, which
    ``stands`` in its folder.

    ``ending`` gives the names in the folder that are this text after their first `LEFT_OUT`
    letters. The name alone proves nothing: whoever wants to hide a file can give it that. An
    editor's swap file is none: an editor holds it open and takes it away, and whoever leaves one
    there leaves what it holds.
    """
    match = _LOCK.match(path.rpartition("/")[2])
    if match is None or size > LOCK_BYTES:
        return False
    end = match["end"]
    whole = match["whole"] or match["link"] or end
    if stands(whole):
        return True
    if end is None:
        return False
    # Two letters are left out, or one: then the name's second letter is the first of ``end``.
    alike = (name for cut in (end, end[1:]) for name in ending(cut))
    return any(name.endswith(end) and stands(name) for name in alike)


def printable_path(path: str) -> str:
    """Return ``path`` as events have it: odd bytes as ``\\xe9``, so that two odd names differ."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return path
