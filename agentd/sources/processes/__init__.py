"""Programs started and ended in the sandbox.

source     joins the parts in a thread of their own
connector  the kernel's word on every exec and exit, where it may be had
look       what /proc tells of a process, as far as it may be read
fold       pure: which of that is news, and which is a browser's helper that nobody wants to hear of
"""

from agentd.sources.processes.source import ProcessesSource

__all__ = ["ProcessesSource"]
