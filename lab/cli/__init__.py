"""The subcommands of `milestoned` that live in the lab."""
