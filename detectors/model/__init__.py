"""The types that the daemon, the service and replay share: events, steps, milestones, rewards,
errors, the codec."""
