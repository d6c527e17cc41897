"""From events to sealed rewards: conditions, credit, gaps, and what is resolved beyond the
rules."""
