"""Access control: tokens, scopes, rates."""
