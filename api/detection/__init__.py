"""Detection: what a segment brings its episode, worked out in the service's own process or in one beside it."""
