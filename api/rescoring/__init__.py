"""Episodes scored again: under changed rules, beside what they were worth before, over a whole
corpus."""
