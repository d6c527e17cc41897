"""Takes segments from daemons: admitted, detected in, and written in one transaction with their
rewards."""
