"""Who may do what: tokens, scopes, rates."""
