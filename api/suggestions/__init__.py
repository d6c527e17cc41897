"""For a task's author: the conditions that an event meets, ready for a task file; each one tried by
the engine."""
