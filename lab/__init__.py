"""Offline work on tasks and recordings; the one place that may import daemon and service alike."""
