"""What daemon and service share and detectors may not have: I/O and a command line."""
