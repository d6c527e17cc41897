"""The append-only log in the database: segments of events, in order, and how they are read back."""
