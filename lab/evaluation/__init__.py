"""How good a cascade is on trajectories that people labelled: `milestoned cascade eval`
(docs/cascade.md)."""
