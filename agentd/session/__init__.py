"""One episode as the daemon runs it: its sources, its steps and when they are complete, the control
port."""
