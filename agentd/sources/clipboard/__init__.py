"""What is copied on an X11 desktop, told without taking it over.

source    joins the parts; decides what is told
display   the X connection: selections, properties, whose a window is
reading   asks the owner of a selection for its text, in bounded time and size
"""

from agentd.sources.clipboard.source import ClipboardSource

__all__ = ["ClipboardSource"]
