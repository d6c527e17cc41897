"""The raw messages: JSON lines from the child (agentd/sources/ax/listener), or translated from
somebody's capture.

Any message may have ``at``, when it came, in ms of a clock of its own; only presses need it.

An object's ``id`` is any text that is its own; in the child's it is its bus name and path. Its last
part, behind the last slash, becomes the widget's ``id`` in events. A ``bus`` stands for one
program.

=========
==================================================================================================
``t``      what it says =========
==================================================================================================
node       ``id bus role name parent index states``: an object, told before anything about it, its
parent first.
           ``parent`` is an id, "" for a program's own object (role ``application``, its name the
           program's).
app        ``bus id toolkit version pid``: a program, once; its own object is ``id`` windows
``bus windows``: those that the program has now, all of them: ``[{id, name, states}]`` walked
``id nodes tries``: a window was looked into for the ``tries``th time, ``nodes`` objects are in it
read       ``id states text? cut? value?``: what an object holds now; or ``id dead: true``; or ``id
late: true``: its
           program does not answer now. Asked for (`Fold.take_due`),
           or of a window that was looked into
event      ``type id d1 d2 any``: an AT-SPI event, its type as in ``object:state-changed:checked``;
``any``: a text,
           ``{id}`` of an object, or null
moved      ``id index``: the object's place among its siblings hid        ``id``: a menu that was
known is not shown any more press      ``what at``: ``key`` (one that activates: Return, space) at a
time in ms; ``what at n``: ``down`` of the
           pointer's first button, the ``n``th time; ``what n id``: ``under``, what was under it
           then, null: not known; ``what n``: ``up`` in the same place, or ``dragged`` elsewhere
drop       ``id``: the object is gone, and nothing more is said of it forget     all objects are
told anew where they matter; windows stay busy       ``bus on``: the program does not answer
questions; told again every second gone       ``bus``: the program is gone notice     ``app title
body``: a desktop notification was shown trouble    ``of why``: something that the child should hear
it can't ready      what came before was so already; what follows is news fence      ``n``: the
answer to that fence hit        ``n id``: what is at the place that was asked for, null: nothing
known unread     said by `Child` of a line that it can't read lost       ``why``: the child hears
nothing any more, and ends =========
==================================================================================================

Lines to the child, ``c``: ``read ids``; ``fence n ids`` (read them, then answer, after all events
that came before); ``children`` (tell of children added and removed too); ``hit n pid x y wx wy``
(what is at that place of the screen, and of the window of the process ``pid``).
"""

from __future__ import annotations

from typing import Any

Message = dict[str, Any]

__all__ = ["Message"]
