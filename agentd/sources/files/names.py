"""Which file names are scaffolding: what browsers and editors write under before they rename it to its own name."""

from __future__ import annotations

import re
from typing import Literal

_DOWNLOAD = re.compile(
    r".+\.(crdownload|part|partial|opdownload)$|^\.(com\.google\.Chrome|org\.chromium\.Chromium)\..+"
)
_WRITE = re.compile(r".+\.(tmp|temp|swp|swx|swpx|bak~)$|.+~$|^\.(goutputstream-|~lock\.).*|^~\$.+|^#.+#$|^\.#.+|^4913$")
PARTIAL = (".part", ".crdownload", ".partial", ".opdownload")
"""What stands behind a final name while a browser holds that name with an empty file."""


def scaffold(path: str) -> Literal["download", "rename"] | None:
    """How a file renamed from this temporary name came about; None: the name is one of its own."""
    name = path.rpartition("/")[2]
    if _DOWNLOAD.match(name):
        return "download"
    return "rename" if _WRITE.match(name) else None
