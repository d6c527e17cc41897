"""What steps are worth: the ledger of milestones and rewards, and the explanations of each."""
