"""One value in a file of settings or data is as wanted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import ValueMatch
from detectors.matchers.facts import value_at
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.file_reads import (
    ReadArgs,
    facts_are,
    facts_of,
    has_masked_facts,
    is_cut,
    is_missing,
    read_index,
    read_keys,
    tell_verdict,
)
from detectors.sdk.registry import rule
from detectors.sdk.world import World

_KEYED_BY_TEXTS = frozenset(("json", "toml", "xml", "ini", "prefs", "gimprc"))
"""Formats of which an object that was cut has as many keys as are reported; of YAML, 1 and "1"
become one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileValueArgs(ReadArgs):
    at: tuple[str, ...] = arg(
        "The keys that lead there, one after the other; of a list, its index from 0."
    )
    value: ValueMatch = arg(
        "The value there: a text or its matcher, a number, {min, max}, true, false or null."
    )


@rule(
    version=4,
    component="file",
    hears=("file.read",),
    args=FileValueArgs,
    index_args=read_index,
    index_event=read_keys,
)
def file_value(event: Event, world: World, args: FileValueArgs) -> Iterator[Reading]:
    """The value at one place of a JSON, YAML, TOML, XML, ini or preferences file matches.

    A key may contain dots. Values of ini files and attributes are texts, so that 1 is "1" or
    {number: 1}. A missing value counts as the value null. Of a file that was reported as cut, a
    value that was left out is not known, and the step is null. A key is known to be missing where
    its object was reported whole; of YAML it never is. Of a value in which the daemon
    masked a secret, what hangs on that is not known. True until the file is read with another
    value, or is gone.
    """
    facts = facts_of(event, args)
    cut = is_cut(event)
    if facts is None or ("value" not in facts and not (cut and not facts)):
        return
    whole = facts.get("value")
    found = value_at(whole, args.at)
    is_known = event.data.get("format") in _KEYED_BY_TEXTS and is_missing(whole, args.at)
    verdict = facts_are(
        args.value.facts,
        {"value": found},
        cut and not is_known,
        masked=has_masked_facts(event),
    )
    yield from tell_verdict(event, verdict)
