"""The journal on the daemon's disk: events in their one order, until the service has acknowledged
them."""
