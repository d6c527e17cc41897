"""What `agentd mcp` runs: the gateway for the server that its settings name."""

from __future__ import annotations

import structlog

from agentd.core.settings import McpSettings
from agentd.masking.masker import Masker
from agentd.mcp.brackets import CallBrackets
from agentd.mcp.control import DaemonPort
from agentd.mcp.stdio import run_stdio
from agentd.mcp.streamable import run_http

log = structlog.get_logger(__name__)


async def run_gateway(settings: McpSettings) -> int:
    """Run until the server's command ends, or before an address until TERM or INT, and return the
    exit status. Raises `UsageError`."""
    port = DaemonPort(settings.state)
    brackets = CallBrackets(port, Masker(settings.mask))
    why = port.find_obstacle()
    if why is not None:
        log.warning("Tool calls are no steps yet.", why=why)
    try:
        if settings.url is not None:
            await run_http(settings.url, settings.listen, brackets)
            return 0
        return await run_stdio(settings.target, brackets)
    finally:
        await port.close()
