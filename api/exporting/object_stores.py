"""Exports to object stores: `s3://`, `gs://`, `az://`, `file://` and, for trials, `memory://`.

The files are written to a temporary folder as for a local export, then sent in parts from the disk,
whatever their size, under `_milestoned_incomplete/`, and only then moved to their names. An export
that fails takes away what it sent; one that was killed leaves objects under that prefix alone,
which the next one to the same place takes away. Credentials come from the environment, as each
store's own tools have them, and are in no message.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import ObjectStore, from_url

from api.exporting.staging import INCOMPLETE, files_of
from common.scratch import scratch_folder

SCHEMES = ("s3", "gs", "az", "file", "memory")
MAX_RETRIES = 5
RETRY_TIMEOUT = timedelta(seconds=60)
SECRET_WORDS = ("SECRET", "TOKEN", "KEY", "PASSWORD", "SAS", "CREDENTIAL")
"""Parts of the names of variables whose values no message has."""


class ObjectStoreError(Exception):
    """An object store refused, or cannot be what was asked for; the message is for the user."""


@contextmanager
def staged_for(url: str) -> Iterator[Path]:
    """Give a temporary folder whose files are at ``url`` once the block ends, and nothing of them
    if it raises. Raises `ObjectStoreError`."""
    store = open_store(url)
    with scratch_folder("milestoned-export-") as folder:
        yield folder
        upload(store, folder)


def open_store(url: str) -> ObjectStore:
    """Return the store of a URL, its path as prefix. Raises `ObjectStoreError`."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        expected = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise ObjectStoreError(f"--out: got {parts.scheme}://; expected a folder or {expected}")
    if parts.username is not None or parts.query:
        raise ObjectStoreError(
            "--out: got a URL with credentials or a query; expected them in the environment, such"
            " as AWS_ACCESS_KEY_ID"
        )
    if parts.scheme == "file":
        Path(parts.path).mkdir(parents=True, exist_ok=True)
    try:
        if parts.scheme in ("file", "memory"):
            return from_url(url)
        retries = {"max_retries": MAX_RETRIES, "retry_timeout": RETRY_TIMEOUT}
        return from_url(url, retry_config=retries)  # type: ignore[call-overload, no-any-return]
    except (BaseError, ValueError) as error:
        raise _refused(error) from None


def upload(store: ObjectStore, folder: Path) -> None:
    """Send all files below ``folder``; they appear one after the other once all are there.

    The card, README.md, appears last. Raises `ObjectStoreError`; then nothing new is left, unless
    the store failed while they were moved to their names.
    """
    files = files_of(folder)
    names = [path.name for path in files]
    try:
        remove_incomplete(store)
        try:
            for name, path in zip(names, files, strict=True):
                obstore.put(store, f"{INCOMPLETE}/{name}", path)
            _publish(store, names)
        except BaseException:
            remove_incomplete(store)
            raise
    except (BaseError, OSError) as error:
        raise _refused(error) from None


def remove_incomplete(store: ObjectStore) -> None:
    """Take away what an export left that did not come to its end."""
    for objects in obstore.list(store, INCOMPLETE):
        obstore.delete(store, [one["path"] for one in objects])


def _publish(store: ObjectStore, names: Sequence[str]) -> None:
    for name in names:
        obstore.rename(store, f"{INCOMPLETE}/{name}", name)


def _refused(error: Exception) -> ObjectStoreError:
    """Return the first line of what a store said, without the values of secret variables."""
    return ObjectStoreError(f"--out: {without_secrets(str(error).partition(chr(10))[0])}")


def without_secrets(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return ``text`` with the values of variables that are named as secrets left out."""
    for name, value in environment.items():
        if len(value) >= 4 and any(word in name.upper() for word in SECRET_WORDS):
            text = text.replace(value, "[masked]")
    return text
