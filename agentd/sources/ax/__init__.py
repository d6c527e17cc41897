"""The source "ax": what desktop programs show on the accessibility bus, heard by a child on the
system's Python."""

from agentd.sources.ax.source import AxSource

__all__ = ["AxSource"]
