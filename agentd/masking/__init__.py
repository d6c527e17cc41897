"""Secrets are masked before the journal, whichever source saw them: passwords, tokens, cookies,
card numbers. Which names mean one: common/secret_names.py.

cards    card numbers in running text
tokens   tokens and keys that show by their shape
masker   `Masker`: all of it over texts, addresses, headers, JSON, command lines
bodies   request and response bodies, frames: urlencoded, JSON, multipart, HTML
"""

from agentd.masking.masker import MASK, Masker

__all__ = ["MASK", "Masker"]
