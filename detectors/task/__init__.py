"""The task language: what a task file says, checked and compiled into a ruleset with a digest."""
