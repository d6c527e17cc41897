"""The service: keeps the log, detects in it, and answers trainers over HTTP. Never imports
agentd."""
