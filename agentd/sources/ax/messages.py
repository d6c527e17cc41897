"""The raw messages: JSON lines from the child (agentd/sources/ax/listener), or converted from a
capture.

Any message may have ``at``, when it came, in ms of a clock of its own; only presses need it.

An object's ``id`` is any text that is its own; in the child's it is its bus name and path. Its last
part, behind the last slash, becomes the widget's ``id`` in events. A ``bus`` stands for one
program.

``t`` of a message, its fields, and what it says:

node ``id bus role name parent index states``
    An object, reported before anything about it, its parent first. ``parent`` is an id, "" for a
    program's own object (role ``application``, its name the program's).
app ``bus id toolkit version pid``
    A program, once; its own object is ``id``.
windows ``bus windows``
    The windows that the program has now, all of them: ``[{id, name, states}]``.
walked ``id nodes tries``
    A window was looked into for the ``tries``th time, ``nodes`` objects are in it.
read ``id states text? cut? value?``
    What an object holds now, as asked for (`DesktopFold.take_due`) or found in a new window; or
    ``id dead: true``: it is gone; or ``id late: true``: its program does not answer now.
event ``type id d1 d2 any``
    An AT-SPI event, its type as in ``object:state-changed:checked``; ``any``: a text, ``{id}`` of
    an object, or null.
moved ``id index``
    The object's place among its siblings.
hid ``id``
    A menu that was known is not shown any more.
press ``what at n id``
    ``key`` with ``at``: one that activates (Return, space), at a time in ms. ``down`` with ``at``
    and ``n``: the pointer's first button for the ``n``th time. ``under`` with ``n`` and ``id``:
    what was under it then, null: not known. ``up`` with ``n``: in the same place; ``dragged``:
    elsewhere.
drop ``id``
    The object is gone, and nothing more is reported of it.
forget
    All objects are described anew where they matter; windows stay.
busy ``bus on``
    The program does not answer questions; repeated every second.
gone ``bus``
    The program is gone.
notice ``app title body``
    A desktop notification was shown.
trouble ``of why``
    Something that the child should hear it can't.
ready
    What came before was so already; what follows is news.
fence ``n``
    The answer to that fence.
hit ``n id``
    What is at the place that was asked for, null: nothing known.
unread
    Said by `Child` of a line that it can't read.
lost ``why``
    The child hears nothing any more, and ends.

Lines to the child, ``c``: ``read ids``; ``fence n ids`` (read them, then answer, after all events
that came before); ``children`` (tell of children added and removed too); ``hit n pid x y wx wy``
(what is at that place of the screen, and of the window of the process ``pid``).
"""

from __future__ import annotations

from typing import Any

Message = dict[str, Any]

__all__ = ["Message"]
