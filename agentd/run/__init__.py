"""`agentd run` and `agentd record`: one episode, with a service and without."""
