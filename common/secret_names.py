"""Which names mean a secret: of form fields, query parameters, JSON keys, headers, options of a
command.

A name is read as its words: ``userAccessToken``, ``user_access_token``, ``user[access-token]`` are
the same one. The lists here are the documentation: nothing else is taken for a secret by its name.
"""

from __future__ import annotations

import functools
import re

ANYWHERE = ("password", "passwd", "pwd", "passphrase", "passcode")
"""A name that has one of these in it, as in ``new_password2``."""

AT_THE_END = (
    "token", "secret", "apikey", "secretkey", "accesskey", "privatekey", "signingkey",
    "encryptionkey", "onetimecode", "onetimepassword", "verificationcode", "mfacode", "2facode",
    "otpcode", "recoverycode", "cardnumber", "cardno", "creditcard", "ccnumber", "ccnum", "cccsc",
    "securitycode", "cardcode", "sessionid", "sessid", "authorization", "credential",
    "xamzsignature", "xgoogsignature",
)  # fmt: skip
"""A name that ends with one of these, its words joined: ``X-Api-Key``, ``csrfmiddlewaretoken``."""

WHOLE_WORD = ("otp", "totp", "cvc", "cvc2", "cvv", "cvv2", "csc", "jwt", "sid", "bearer")
"""A name that is one of these or whose last word is, as in ``card[cvc]``."""

WHOLE_NAME = ("pw", "pass")
"""A name that is one of these and nothing more: a boarding pass is none."""

NOT = ("pagetoken", "nexttoken", "continuationtoken", "synctoken", "resumetoken")
"""What ends so is a place in a list, no secret."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")
MAX_NAME_LENGTH = 200
"""Characters of a name, from its end, that are looked at."""


def words(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case; digits belong to the word before them."""
    parts: list[str] = []
    for word in _WORD.findall(name[-MAX_NAME_LENGTH:]):
        if word.isdigit() and parts:
            parts[-1] += word
        else:
            parts.append(word.lower())
    return tuple(parts)


def is_telling(name: str) -> bool:
    """Return whether a name by itself says that its value is a secret."""
    return _is_telling(name[-MAX_NAME_LENGTH:])


@functools.lru_cache(maxsize=4096)
def _is_telling(name: str) -> bool:
    parts = words(name)
    if not parts:
        return False
    joined = "".join(parts)
    bare = joined.rstrip("0123456789")
    if bare.endswith(NOT):
        return False
    if any(word in joined for word in ANYWHERE) or bare.endswith(AT_THE_END):
        return True
    return parts[-1] in WHOLE_WORD or joined in WHOLE_NAME
