"""Serves an application on a free port, which it writes into a file once it listens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import uvicorn


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, file: Path) -> None:
        super().__init__(config)
        self._file = file

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        new = self._file.with_suffix(".new")
        new.write_text(str(self.servers[0].sockets[0].getsockname()[1]))
        new.replace(self._file)


def listen(app: Any, file: Path) -> None:
    """Serve until it is told to stop."""
    _Server(uvicorn.Config(app, port=0, log_level="warning", loop="uvloop"), file).run()
