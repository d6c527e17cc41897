"""The floor: pure functions from an event log to milestones and rewards. No clock, no I/O, no
randomness."""
