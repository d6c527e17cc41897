"""The read surface: what a service knows of episodes, as read-only tools of MCP."""
