"""Names of files: which are scaffolding, and how one that is not UTF-8 is spoken of.

Scaffolding is what browsers and editors write under before they rename it to its own name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

_DOWNLOAD = re.compile(
    r".+\.(crdownload|part|partial|opdownload)$|^\.(com\.google\.Chrome|org\.chromium\.Chromium)\..+"
)
_WRITE = re.compile(r".+\.(tmp|temp|swp|swx|swpx|bak~)$|.+~$|^\.(goutputstream-|~lock\.).*|^~\$.+|^#.+#$|^\.#.+|^4913$")
_LOCK = re.compile(r"^\.~lock\.(?P<whole>.+)#$|^~\$(?P<end>.+)|^\.#(?P<link>.+)")
_SWAP = re.compile(r"^\.(?P<whole>.+)\.(swp|swx|swpx)$")
LOCK_BYTES = 512
"""No office program's lock, which says who has a document open, is larger than this."""
SWAP_BYTES = 64 << 10
"""No new swap file of an editor is larger than this."""
_LEFT_OUT = 2
"""Letters that an office program leaves out at the beginning of a long name."""
PARTIAL = (".part", ".crdownload", ".partial", ".opdownload")
"""What stands behind a final name while a browser holds that name with an empty file."""


def scaffold(path: str) -> Literal["download", "rename"] | None:
    """How a file renamed from this temporary name came about; None: the name is one of its own."""
    name = path.rpartition("/")[2]
    if _DOWNLOAD.match(name):
        return "download"
    return "rename" if _WRITE.match(name) else None


def mark_beside(path: str, size: int, mime: str | None, names: Iterable[str]) -> bool:
    """Whether it is what an editor keeps beside one of ``names`` that it has open: who has it open, what is not saved
    yet. The name alone says nothing: whoever wants to hide a file can give it that."""
    name = path.rpartition("/")[2]
    if size <= LOCK_BYTES and (found := _LOCK.match(name)) is not None:
        whole = found["whole"] or found["link"]
        return any(_is_marked(one, whole, found["end"]) for one in names)
    found = _SWAP.match(name)
    is_text = mime is not None and mime.startswith("text/")
    return found is not None and size <= SWAP_BYTES and not is_text and found["whole"] in names


def _is_marked(name: str, whole: str | None, end: str | None) -> bool:
    return name == whole or (end is not None and name.endswith(end) and len(name) - len(end) <= _LEFT_OUT)


def spoken(path: str) -> str:
    """``path`` as an event tells it: odd bytes as ``\\xe9``, so that two odd names stay two names."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return path
