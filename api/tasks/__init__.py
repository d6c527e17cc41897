"""Task files and registered tasks: read, checked, described by a JSON Schema, stored."""
