"""The small stores beside log and ledger: tasks, episodes, commands, tokens, answers given before."""
