"""Secrets that show by their own shape, wherever they stand: tokens of well-known makers, signed tokens, keys."""

from __future__ import annotations

import re

_SHAPES = re.compile(
    r"""
    (?P<keep>\b(?:Bearer|Basic|Digest|Negotiate)\s+)(?=[\w.~+/=-]*[0-9+/=_-])[\w.~+/-]{16,}={0,2}
    | \beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*             # a JSON web token
    | -----BEGIN[ A-Z]*PRIVATE[ ]KEY-----.*?(?:-----END[ A-Z]*PRIVATE[ ]KEY-----|\Z)
    | \b(?:gh[pousr]_\w{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}|xox[abeoprs]-[\w-]{10,}|sk-[\w-]{20,}
        |[sr]k_(?:live|test)_\w{16,}|(?:AKIA|ASIA)[A-Z0-9]{16}\b|AIza[\w-]{35}|npm_\w{36}|pypi-[\w-]{50,}|hf_\w{30,})
    """,
    re.VERBOSE | re.DOTALL,
)
_LONG = re.compile(r"\S{15}")


def mask_tokens(text: str, mask: str) -> str:
    """``text`` with tokens and keys that show by their shape replaced by ``mask``."""
    if len(text) < 15 or (_LONG.search(text) is None and "PRIVATE KEY" not in text):
        return text
    return _SHAPES.sub(lambda found: (found["keep"] or "") + mask, text)
