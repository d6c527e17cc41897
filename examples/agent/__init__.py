"""A small language model acts in Chromium by text, and learns from the rewards of a service
(docs/learning.md)."""
