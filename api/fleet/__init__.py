"""The fleet: which sandboxes are alive, who works on what, and how an episode ends whose sandbox is
lost."""
