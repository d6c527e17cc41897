"""The judge: a language model behind an HTTP endpoint, asked a checklist; code computes the verdict
(docs/judge.md)."""
