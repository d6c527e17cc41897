"""Tasks under attack: what each adversary is, and that each can fail."""
