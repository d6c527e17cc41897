"""Episodes as rows: opened, labelled, searched, deleted."""
