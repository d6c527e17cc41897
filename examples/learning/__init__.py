"""An agent learns to buy a lamp in Chromium, once from the goal alone and once from milestones
(docs/learning.md)."""
