"""Pages, commands and programs of this project's own, on which the package's model is trained."""
