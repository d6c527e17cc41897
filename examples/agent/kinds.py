"""The kinds of reward that are compared."""

KINDS = ("sparse", "milestones", "potential")
