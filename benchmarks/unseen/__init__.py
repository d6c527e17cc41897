"""Programs, commands and pages that no model of the package was trained on or measured on, for one look
at it."""
