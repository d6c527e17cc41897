"""The kinds of reward that are compared."""

KINDS = ("sparse", "milestones", "potential")
FIGURES = "figures.json"
"""The file, beside the model that all runs begin with, of how that does demonstrations."""
