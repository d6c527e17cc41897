"""The database: connections, the schema's version, and how many writers share one commit."""
