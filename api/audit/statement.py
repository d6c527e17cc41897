"""What is signed of a closed episode: one statement, a leaf of the tree over all episodes, and the
head of its log.

Both are made of stored rows alone, by the same functions when they are signed and when they are
checked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from api.audit.note import Checkpoint
from api.audit.tree import root_of
from detectors.model.codec import canonical, sha256

_AS_IT_IS = (
    "task",
    "version",
    "tenant",
    "opened_by",
    "opened_at",
    "closed_at",
    "seed",
    "through",
    "head",
    "step",
    "success",
    "total",
    "milestones",
)


OPENER = ("id", "label", "scope", "tenant", "created_at")
"""What an explanation shows of the token that opened an episode."""


def log_origin(name: str) -> str:
    """The tree over all closed episodes of the service ``name``."""
    return name


def episode_origin(name: str, episode: str) -> str:
    """The tree over the segments of one episode."""
    return f"{name}/episodes/{episode}"


def episode_of(name: str, origin: str) -> str | None:
    """The episode of which ``origin`` is the tree."""
    before = f"{name}/episodes/"
    return origin.removeprefix(before) if origin.startswith(before) else None


def episode_head(name: str, episode: str, digests: Iterable[str]) -> Checkpoint:
    """The head of an episode's log: its leaves are the digests of its segments, 32 bytes each."""
    return Checkpoint(episode_origin(name, episode), *root_of(map(bytes.fromhex, digests)))


def rewards_digest(bodies: Iterable[bytes]) -> str:
    """sha256 over the sealed rewards' bytes, each ended by a newline."""
    found = hashlib.sha256()
    for body in bodies:
        found.update(body + b"\n")
    return found.hexdigest()


def statement(
    row: Any, task: Any, opener: Any, head: Checkpoint, rewards: str, verdicts: tuple[int, str]
) -> dict[str, Any]:
    """What is said of a closed episode: its row, its task's, the token's that opened it, the root
    of its log, the digest of its rewards, and how long its log of verdicts was with which head.

    ``guided`` is in it only if hints were given before the close: a statement of an episode without
    hints is the same as before hints existed.

    Labels, and what the token is called, are in it as digests only: a statement outlives the
    episode. ``task`` and ``opener`` are None where there is no such row.
    """
    return {
        "episode": row.id,
        **{name: getattr(row, name) for name in _AS_IT_IS},
        "ruleset": row.digest,
        "labels_sha256": sha256(row.labels.encode()),
        "task_sha256": sha256(b"" if task is None else bytes(task.body)),
        "task_digest": None if task is None else task.digest,
        "attainable": None if task is None else task.attainable,
        "opener_sha256": None
        if opener is None
        else sha256(canonical([getattr(opener, name) for name in OPENER])),
        "segments": head.size,
        "root": head.root.hex(),
        "rewards_sha256": rewards,
        "verdicts": verdicts[0],
        "verdicts_head": verdicts[1],
        **({"guided": True} if row.guided else {}),
    }


def encode_statement(said: dict[str, Any]) -> bytes:
    """Encode a statement as the canonical bytes of its leaf."""
    return canonical(said)
