"""The command `agentd`: options, and what each of its commands starts."""
