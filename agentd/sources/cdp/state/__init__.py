"""What the browser source keeps between two messages: sessions, frames, secrets, what the task asks
for."""
