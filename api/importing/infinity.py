"""WebArena-Infinity's tasks, as data."""
