"""One file a rule; each declares one rule of the file's name. See docs/rules.md for what each pays
on."""
