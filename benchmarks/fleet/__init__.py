"""A fleet on one machine: many sandboxes' real journals against two replicas on Postgres, and the cost of more."""
