"""The source "files": what appears, changes and goes in the watched directories, settled content
only."""

from agentd.sources.files.source import FilesSource

__all__ = ["FilesSource"]
