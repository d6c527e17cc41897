"""Prints, per page, the books and the rewards."""
