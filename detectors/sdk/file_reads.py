"""What the rules about the content of files share: saying what is to be read, and taking up what
was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from detectors.matchers import FactsMatch, TextMatch
from detectors.matchers.facts import value_at
from detectors.matchers.plain import glob, text_key
from detectors.matchers.structures import JsonPath
from detectors.model.kinds.limits import READ_ENDS
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.registry import Keys
from detectors.sdk.world import reading_key

Format = Literal[
    "text",
    "csv",
    "json",
    "yaml",
    "toml",
    "xml",
    "svg",
    "drawio",
    "html",
    "ini",
    "prefs",
    "gimprc",
    "sqlite",
    "xlsx",
    "ods",
    "docx",
    "odt",
    "pptx",
    "odp",
    "pdf",
    "zip",
    "tar",
    "image",
    "media",
]
MAX_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadArgs:
    """What every such rule is told."""

    path: str = arg("The file's path below the watched folder; `*` in it is a run of characters.")
    root: str | None = arg("The label of the watched folder.", None)
    format: Format | None = arg(
        "What it is read as; without it, what its content and name say.", None
    )

    def __post_init__(self) -> None:
        if (
            not self.path
            or len(self.path) > MAX_CHARACTERS
            or self.path.startswith("/")
            or ".." in self.path.split("/")
        ):
            raise ValueError("path: relative to the watched folder, without ..")

    @property
    def read_as(self) -> Format | None:
        """What the daemon is to read the file as; None where the file's content and name say it."""
        return self.format

    def asks(self) -> dict[str, list[object]]:
        """What the daemon is to read; nothing of what would be right."""
        return {
            "file_reads": [
                {
                    "path": self.path,
                    "root": self.root,
                    "format": self.read_as,
                    "query": self.read_query(),
                }
            ]
        }

    def read_query(self) -> str | None:
        """The query that a rule about a database has."""
        return None


def read_index(args: ReadArgs) -> Keys | None:
    """Index keys of the files that the rule is about."""
    return None if "*" in args.path or "?" in args.path else (text_key(args.path),)


def read_keys(event: Event) -> Keys:
    """Return the index keys of a `file.read` event."""
    return (text_key(str(event.data.get("path"))),)


def facts_of(event: Event, args: ReadArgs) -> Mapping[str, object] | None:
    """What the event tells of a file that ``args`` is about; None if it is about another, or the
    file said nothing."""
    data = event.data
    asked = (data.get("status"), data.get("as"), data.get("query"))
    if asked != ("read", args.read_as or "auto", args.read_query()):
        return None
    if args.root not in (None, data.get("root")) or not glob(args.path, str(data.get("path"))):
        return None
    facts = data.get("facts")
    return facts if isinstance(facts, Mapping) else None


def reading(event: Event) -> Reading:
    """The fact is so; until the same file, asked the same, says otherwise."""
    return Reading(1.0, reading_key(event.data))


def is_cut(event: Event) -> bool:
    """Whether ends of texts and lists were left out."""
    return event.data.get("cut") is True


def goes_on(text: object, cut: bool) -> bool:
    """Whether ``text`` may be the beginning of a longer one."""
    return cut and isinstance(text, str) and len(text) in READ_ENDS


def text_is(wanted: TextMatch, text: str, going_on: bool) -> bool:
    """Whether a text is as wanted, whatever may come after it."""
    return (not going_on or wanted.by_beginning) and wanted.matches(text)


def facts_are(wanted: FactsMatch, facts: object, cut: bool) -> bool:
    """Whether the facts are as wanted, whatever was left out: then null is nothing, and no list or
    text is whole."""
    if not wanted.matches(facts):
        return False
    return not cut or all(_is_known(fact, value_at(facts, steps)) for steps, fact in wanted.facts)


def _is_known(wanted: object, found: object) -> bool:
    if isinstance(found, list | dict):
        # A value at a path in it is there; that every one is so can't be said.
        form = wanted.typed if isinstance(wanted, TextMatch) else None
        return isinstance(form, JsonPath) and not form.every
    partly = isinstance(wanted, TextMatch) and wanted.by_beginning
    return found is not None and (partly or not goes_on(found, True))


def as_object_list(value: object) -> list[object]:
    """``value`` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def value_text(value: object) -> str | None:
    """A cell's or a field's value as a text: 12.0 is 12; nothing for what holds others."""
    if value is None or isinstance(value, list | dict):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
