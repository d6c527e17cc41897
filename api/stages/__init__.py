"""What answers where rules are silent: a learned reward model, a judge. Neither knows a database or
a web framework."""
