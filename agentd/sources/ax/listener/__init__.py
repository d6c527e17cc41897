"""The child process, on the system's Python: imports the standard library, pyatspi and gi, and
nothing of ours."""
