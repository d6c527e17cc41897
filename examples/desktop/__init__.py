"""The six families of desktop work, a task file each; see docs/tasks.md."""
