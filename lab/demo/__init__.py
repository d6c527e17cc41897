"""What `milestoned demo` and `milestoned watch` are made of: processes, a live table, a byte-wise
check."""
