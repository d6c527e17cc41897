"""What a harness says through the service, waiting for its daemon to journal it."""
