"""Speed, measured as ratios in one run against a stated reference; see docs/performance.md."""
