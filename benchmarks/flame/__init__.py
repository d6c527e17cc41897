"""Flame graphs of a benchmark: where its processes spend their processor time."""
