"""Who looks at an episode while it runs, and what is sent to them."""
