"""WebArena-Verified's own evaluators beside our tasks, over HARs made of its own templates."""
