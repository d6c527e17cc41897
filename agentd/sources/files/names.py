"""Names of files: which are scaffolding, and how one that is not UTF-8 is spoken of.

Scaffolding is what browsers and editors write under before they rename it to its own name.
"""

from __future__ import annotations

import re
from typing import Literal

_DOWNLOAD = re.compile(
    r".+\.(crdownload|part|partial|opdownload)$|^\.(com\.google\.Chrome|org\.chromium\.Chromium)\..+"
)
_WRITE = re.compile(r".+\.(tmp|temp|swp|swx|swpx|bak~)$|.+~$|^\.(goutputstream-|~lock\.).*|^~\$.+|^#.+#$|^\.#.+|^4913$")
_MARK = re.compile(r"^\.~lock\..+#$|^~\$.+|^\.#.+|.+\.(swp|swx|swpx)$|^4913$")
MARK_BYTES = 64 << 10
"""No editor's mark is larger than this."""
PARTIAL = (".part", ".crdownload", ".partial", ".opdownload")
"""What stands behind a final name while a browser holds that name with an empty file."""


def scaffold(path: str) -> Literal["download", "rename"] | None:
    """How a file renamed from this temporary name came about; None: the name is one of its own."""
    name = path.rpartition("/")[2]
    if _DOWNLOAD.match(name):
        return "download"
    return "rename" if _WRITE.match(name) else None


def mark(path: str, size: int) -> bool:
    """Whether it is what an editor keeps beside a file that it has open: who has it open, what is not saved yet."""
    return size <= MARK_BYTES and _MARK.match(path.rpartition("/")[2]) is not None


def spoken(path: str) -> str:
    """``path`` as an event tells it: odd bytes as ``\\xe9``, so that two odd names stay two names."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return path
