"""The daemon's senses; see base.py for what one is. The table of them stands in agentd/session/supervisor.py."""
