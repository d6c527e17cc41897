"""The key of a set of milestones: by it episodes that reached the same are found without a look at
their milestones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def reached_key(milestones: Iterable[str]) -> str:
    """Return 16 hexadecimal digits that the ids of ``milestones`` decide, in any order."""
    text = "\n".join(sorted(set(milestones)))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
