"""The source "reader": what stands in the files that a rule of the task reads."""
