"""Recordings: read, verified, and scored without a service."""
