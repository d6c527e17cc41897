"""Ends of the wire in the shapes that trainers speak already."""
