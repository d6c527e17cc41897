"""A small shop on loopback: the site that the demo's agent works through, and our tests with it.

Run it alone: ``python -m examples.shop --port 8000``.
"""
