"""The composition root: one running service, its parts put together and its upkeep."""
