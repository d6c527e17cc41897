"""One database is signed with one key: who has another signs nothing that could not be verified."""

from __future__ import annotations

from dataclasses import dataclass

from api.audit.note import NoteError, PublicKey, open_note, parse_key
from api.audit.store import Audits
from api.core.signing import Signer, SigningKeyError


@dataclass(slots=True)
class Owner:
    """Whose ``key`` the database is signed with. ``foreign``: why this process, which has another,
    signs nothing."""

    key: PublicKey
    foreign: str | None = None

    async def settle(self, audits: Audits, signer: Signer) -> None:
        """Find out, and make the key the database's where it has none yet."""
        self.key, self.foreign = PublicKey(signer.name, signer.public), None
        try:
            await claim(audits, signer)
        except SigningKeyError as error:
            self.foreign = str(error)
            if (kept := await audits.key()) is not None:
                self.key = parse_key(kept)


async def claim(audits: Audits, signer: Signer, *, anew: bool = False) -> None:
    """Make ``signer``'s key the database's, where it has none yet or ``anew``. Raises
    `SigningKeyError` for another."""
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
                f"signing key: got {own.text()}, but the database is signed with {kept}; wanted the"
                " same for all: MILESTONED_SIGNING_KEY, or signing.key of the first service's data"
                " folder. Where that is lost, `milestoned db adopt-key` goes on with this one"
            )
        await work.grown(key=own.text())


def _opens(note: str, key: PublicKey) -> bool:
    """Whether a note is signed by this key."""
    try:
        open_note(note, key)
    except NoteError:
        return False
    return True
