"""An archive holds the wanted files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from detectors.matchers.masked_text import MASK
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.file_reads import (
    ReadArgs,
    as_objects,
    facts_of,
    goes_on,
    has_masked_facts,
    is_cut,
    read_index,
    read_keys,
    tell_verdict,
)
from detectors.sdk.registry import rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveListsArgs(ReadArgs):
    names: tuple[str, ...] = arg("Files that are in it, by their paths there.")
    only: bool = arg("Whether no other file may be in it; folders do not count.", False)


@rule(
    version=4,
    component="file",
    hears=("file.read",),
    args=ArchiveListsArgs,
    index_args=read_index,
    index_event=read_keys,
)
def archive_lists(event: Event, world: World, args: ArchiveListsArgs) -> Iterator[Reading]:
    """A zip or tar archive lists all these files, and with `only` no other. It is listed, never
    unpacked.

    `./a` and `a` are the same path. An empty file counts; a link, a pipe or a device does not.
    True until the archive is read with another list, or is gone. If not all of a long list was
    reported, and the rest decides, the step is null. So it is where a name decides in which the
    daemon masked a secret.
    """
    facts = facts_of(event, args)
    cut = is_cut(event)
    if facts is None or not _is_list(facts, cut):
        return
    files, others = _entries(facts, cut)
    is_whole = not cut and _is_told_whole(facts)
    if has_masked_facts(event):
        told = {name for name in files if MASK not in name}
        files, is_whole = told, is_whole and told == files
    expected = {_plain(name) for name in args.names}
    if args.only and (others or not files <= expected):
        return
    yield from tell_verdict(event, _judge(args, expected <= files, is_whole))


def _judge(args: ArchiveListsArgs, has_all: bool, is_whole: bool) -> bool | None:
    """Whether the archive lists what it is to; None where the rest of a list that was not told
    whole decides."""
    is_known = is_whole or (has_all and not args.only)
    return has_all if is_known else None


def _is_list(facts: Mapping[str, object], cut: bool) -> bool:
    """Whether entries were told, or so many that none was."""
    return "entries" in facts or (cut and not facts)


def _entries(facts: Mapping[str, object], cut: bool) -> tuple[set[str], bool]:
    """The paths of files that are certain, and whether there is what is neither a file nor a
    folder."""
    entries = as_objects(facts.get("entries"))
    names = [entry.get("name") for entry in entries if _is_file(entry)]
    files = {_plain(name) for name in names if not goes_on(name, cut)}
    return files, any(map(_no_file, entries))


def _is_told_whole(facts: Mapping[str, object]) -> bool:
    return facts.get("count") == len(as_objects(facts.get("entries")))


def _is_file(entry: Mapping[str, object]) -> bool:
    return not _no_file(entry) and not entry.get("folder")


def _no_file(entry: Mapping[str, object]) -> bool:
    return bool(entry.get("link") or entry.get("special"))


def _plain(name: object) -> str:
    return str(name).removeprefix("./")
