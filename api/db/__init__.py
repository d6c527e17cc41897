"""The database: connections, the one writer of SQLite, the schema's version."""
