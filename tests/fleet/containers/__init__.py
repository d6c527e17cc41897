"""The fleet of docker-compose.yml on a container engine: brought up, worked with, broken.

``make test-fleet``. :mod:`engine` starts an engine where none is given, :mod:`images` builds what
compose names, :mod:`cluster` brings the fleet up, :mod:`trainers` works with it, :mod:`faults`
breaks it, and :mod:`laws` says whether all that was paid holds.
"""
