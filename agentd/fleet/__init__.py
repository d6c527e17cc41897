"""`agentd join`: a daemon that a fleet's service gives its episodes, one after the other."""
