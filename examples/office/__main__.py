"""``python -m examples.office``: serve the office's pages until it is told to stop."""

from __future__ import annotations

import sys

from ..shop.__main__ import serve
from ..shop.access_log import AccessLog
from .app import create_office

if __name__ == "__main__":
    serve("office", lambda given: AccessLog(create_office(), given.access_log), sys.argv[1:])
