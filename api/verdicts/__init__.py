"""What was decided beyond the rules: questions that wait, answers that are kept, each episode's log
of verdicts."""
