"""The command `milestoned`: a module a subcommand."""
