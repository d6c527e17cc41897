"""What people say of trajectories and steps: who is asked what, how far they agree, their words as
a file (pure)."""
