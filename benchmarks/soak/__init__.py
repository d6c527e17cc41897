"""The soak: a busy page and LibreOffice for as long as it is told, with the daemon beside them.

scene   the desktop, the browser on its busy page, LibreOffice with somebody at the keyboard
daemon  the daemon as a process: its memory, its recording, or the service's two fields
counts  what the page did beside what the recording says
main    the two parts, the table, the figures as JSON
"""

from benchmarks.soak.main import main, steps

__all__ = ["main", "steps"]
