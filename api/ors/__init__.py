"""The Open Reward Standard: registered tasks as its environments, episodes as its sessions."""
