"""RL trainers' own code from their packages, unmodified, against a running service."""
