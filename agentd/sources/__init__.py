"""Sources of events, a folder each; agentd/core/source.py says what one is, the supervisor has the
table of them, docs/how-to/add-a-source.md the steps to a new one."""
