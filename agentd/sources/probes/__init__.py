"""The source "probe": facts that no event shows, read at the start, at the ends of steps and at the
close.

source   when they are asked, within which budget, and what is told
answer   what an answer may be: bounded and masked
get, file, command, script   one way of asking each; they change nothing, as far as that can be had
"""

from agentd.sources.probes.source import ProbesSource

__all__ = ["ProbesSource"]
