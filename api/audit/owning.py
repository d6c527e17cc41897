"""One database is signed with one key: who starts with another is refused before anything is signed that can't be
verified."""

from __future__ import annotations

from api.audit.note import NoteError, PublicKey, opened
from api.signing import Signer, SigningKeyError
from api.store.audits import Audits


async def claim(audits: Audits, signer: Signer, *, anew: bool = False) -> None:
    """Make ``signer``'s key the database's, where it has none yet or ``anew``. Raises `SigningKeyError` for another."""
    own = PublicKey(signer.name, signer.public)
    async with audits.signing() as work:
        kept = work.tree.key
        if kept == own.text():
            return
        if kept is None and not anew:
            # Older builds did not note whose it is; their newest note shows it.
            note = await work.newest_note()
            kept = None if note is None or _opens(note, own) else "another"
        if kept is not None and not anew:
            raise SigningKeyError(
                f"signing key: got {own.text()}, but the database is signed with {kept}; wanted the same for all: "
                "MILESTONED_SIGNING_KEY, or signing.key of the first service's data folder. Where that is lost, "
                "`milestoned db adopt-key` goes on with this one"
            )
        await work.grown(key=own.text())


def _opens(note: str, key: PublicKey) -> bool:
    try:
        opened(note, key)
    except NoteError:
        return False
    return True
