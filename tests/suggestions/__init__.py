"""Conditions that events meet, as they are shown to a task's author."""
