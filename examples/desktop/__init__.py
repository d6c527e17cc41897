"""Six example tasks of desktop work, a file each; see docs/tasks.md."""
