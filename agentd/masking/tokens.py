"""Secrets that show by their own shape, wherever they stand: tokens of well-known makers, signed
tokens, keys."""

from __future__ import annotations

import re

_SHAPES = re.compile(
    r"""
    (?P<keep>\b(?:Bearer|Basic|Digest|Negotiate)\s+)(?=[\w.~+/=-]*[0-9+/=_-])[\w.~+/-]{16,}={0,2}
    | -----BEGIN[ A-Z]*PRIVATE[ ]KEY-----.*?(?:-----END[ A-Z]*PRIVATE[ ]KEY-----|\Z)
    | \b(?:gh[pousr]_\w{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}|xox[abeoprs]-[\w-]{10,}
        |sk-[\w-]{20,}|[sr]k_(?:live|test)_\w{16,}|(?:AKIA|ASIA)[A-Z0-9]{16}\b|AIza[\w-]{35}
        |npm_\w{36}|pypi-[\w-]{50,}|hf_\w{30,})
    """,
    re.VERBOSE | re.DOTALL,
)
_LONG = re.compile(r"\S{15}")
# Looked for from the beginning of a run only, and within it part by part: a page may write a run as
# long as it likes.
_DOTTED = re.compile(r"(?<![\w.-])[\w.-]+")
_JWT_PART = re.compile(r"\beyJ[\w-]{8}")


def mask_tokens(text: str, mask: str) -> str:
    """Return ``text`` with ``mask`` for every token and key that shows by its shape; twice for a
    private key, which has several words."""
    if len(text) < 15 or (_LONG.search(text) is None and "PRIVATE KEY" not in text):
        return text
    if ".eyJ" in text:
        text = _DOTTED.sub(lambda run: _mask_jwts(run[0], mask), text)
    return _SHAPES.sub(lambda secret: _mask_token(secret, mask), text)


def _mask_token(secret: re.Match[str], mask: str) -> str:
    if secret[0].startswith("-----BEGIN"):
        return f"{mask} {mask}"
    return (secret["keep"] or "") + mask


def _mask_jwts(run: str, mask: str) -> str:
    """Mask JSON web tokens in a run of dotted parts: two parts of JSON in base64, a signature."""
    kept: list[str] = []
    parts = run.split(".")
    at = 0
    while at < len(parts):
        head = _JWT_PART.search(parts[at]) if at + 2 < len(parts) else None
        if head is not None and _JWT_PART.match(parts[at + 1]):
            kept.append(parts[at][: head.start()] + mask)
            at += 3
        else:
            kept.append(parts[at])
            at += 1
    return ".".join(kept)
