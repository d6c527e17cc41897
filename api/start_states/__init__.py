"""What stood when episodes began: tabs, files, probes, windows; and which began otherwise."""
