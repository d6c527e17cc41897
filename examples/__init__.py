"""Examples that run: the shop of the demo and of the end-to-end tests."""
