"""From raw DevTools messages to events, a fold a domain; the normaliser sends each message to its
fold."""
