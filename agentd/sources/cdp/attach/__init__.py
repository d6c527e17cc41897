"""Targets and sessions: how the browser source gets to see each tab, frame and worker, and asks
it."""
