"""What the daemon sends to the service and asks of it, over HTTP."""
