"""Sources of events, a folder each; agentd/core/source.py says what one is, the supervisor has the
table of them."""
