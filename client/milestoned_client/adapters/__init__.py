"""What RL trainers import: each module speaks one trainer's language, and imports that trainer and
no other.

A setting is a keyword argument, or else the environment's `MILESTONED_…` (see `settings`).
"""
