"""What a rule's author imports: how a rule is declared, its arguments, and what it may know of the
past."""
