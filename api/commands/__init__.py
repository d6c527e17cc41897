"""The subcommands of `milestoned`, one a file; `api.cli` holds the table."""
