"""What the rules about the content of files share: saying what is to be read, and taking up what
was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from detectors.matchers import FactsMatch, TextMatch
from detectors.matchers.facts import Wanted, is_as_wanted
from detectors.matchers.masked import is_masked
from detectors.matchers.plain import glob, text_key
from detectors.model.errors import UnseenError
from detectors.model.kinds.limits import READ_ENDS, READ_ITEMS, READ_KEY, READ_PARTS, READ_VALUES
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.cut_off import CUT_OFF, begin_deep, judge_beginning, judge_text
from detectors.sdk.kept_back import is_masked_in, judge_fact
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
UNREADABLE = "the file is locked, broken or too large, and may hold what should not be in it"
"""Why a guard can't know what it is asked of such a file."""
SECRET_IN_FILE = "the file has a secret, kept back"
_UNREADABLE = ("damaged", "large", "heavy")
PartT = TypeVar("PartT")


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

    @property
    def is_of_whole(self) -> bool:
        """Whether the rule asks for a file that was read whole."""
        return False

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
    if event.data.get("status") != "read" or not _is_about(event, args):
        return None
    facts = event.data.get("facts")
    return facts if isinstance(facts, Mapping) else None


def _is_about(event: Event, args: ReadArgs) -> bool:
    """Whether the event is of a file that ``args`` is about, read as ``args`` asks for it."""
    data = event.data
    if (data.get("as"), data.get("query")) != (args.read_as or "auto", args.read_query()):
        return False
    return args.root in (None, data.get("root")) and glob(args.path, str(data.get("path")))


def is_locked(event: Event) -> bool:
    """Whether a password locks the file: what it holds is nobody's to read, and nothing of it was
    left out."""
    facts = event.data.get("facts")
    return isinstance(facts, Mapping) and facts.get("encrypted") is True


def check_guard(
    readings: Iterable[Reading], event: Event, args: ReadArgs, *, is_so: bool
) -> Iterable[Reading]:
    """Return what a rule about the content of a file reads where its being so costs something.

    Who is scored could lock, break or swell a file so that nobody can read it. Where the rule reads
    nothing because of that, it is taken as so under ``is_so``; otherwise this raises `UnseenError`.
    That such a file was not read whole is known.
    """
    found = list(readings)
    is_unreadable = event.data.get("status") in _UNREADABLE or is_locked(event)
    if found or args.is_of_whole or not is_unreadable or not _is_about(event, args):
        return found
    if is_so:
        return [reading(event)]
    raise UnseenError(UNREADABLE, reading(event))


def reading(event: Event) -> Reading:
    """The fact is so; until the same file, asked the same, says otherwise."""
    return Reading(1.0, reading_key(event.data))


def is_cut(event: Event) -> bool:
    """Whether ends of texts and lists were left out."""
    return event.data.get("cut") is True


def has_masked_facts(event: Event) -> bool:
    """Whether the daemon masked a secret in what the file holds."""
    return is_masked_in(event.data, "facts")


def goes_on(text: object, cut: bool) -> bool:
    """Whether ``text`` may be the beginning of a longer one."""
    return cut and isinstance(text, str) and len(text) in READ_ENDS


def is_missing(value: object, at: Iterable[str]) -> bool:
    """Whether there is surely nothing at a path of keys and indices into a value that was cut,
    though all keys of its file are texts: a list or an object on the way was reported whole."""
    for step in at:
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step[:7]) < len(value):
            value = value[int(step)]
        else:
            return _is_whole(value)
    return False


def _is_whole(value: object) -> bool:
    """Whether what was reported of a value is all of it, but for what stands deeper; a null may be
    one of too many values."""
    if isinstance(value, Mapping) and any(len(key) >= READ_KEY for key in value):
        return False  # keys that begin alike have become one
    if isinstance(value, Mapping | list):
        return len(value) not in READ_ITEMS
    return value is not None


def may_be_nulled(facts: object) -> bool:
    """Whether some null in cut facts may stand for a value: there were too many values."""
    return _count_values(facts) > READ_VALUES


def _count_values(value: object) -> int:
    if isinstance(value, Mapping):
        return 1 + sum(map(_count_values, value.values()))
    return 1 + sum(map(_count_values, value)) if isinstance(value, list) else 1


def text_is(wanted: TextMatch, text: str, going_on: bool, *, masked: bool = False) -> bool | None:
    """Whether a text is as wanted; None where that hangs on what may come after it, or, in a file
    in which the daemon ``masked`` something, on that."""
    is_so = judge_text(wanted, text, is_cut=going_on)
    return _judge_masked(wanted, text, is_so, cut=going_on) if masked else is_so


def _judge_masked(wanted: Wanted, value: object, is_so: bool | None, *, cut: bool) -> bool | None:
    """Whether a value is as wanted, which it ``is_so`` as the daemon wrote it; None where that
    hangs on what was masked in it."""
    if not is_masked(value):
        return is_so
    is_known = judge_fact(wanted, value)
    if cut:
        return True if is_so and is_known else None
    return is_known


def facts_are(wanted: FactsMatch, facts: object, cut: bool, *, masked: bool = False) -> bool | None:
    """Whether the facts are as wanted; None where that hangs on what was left out: a value that is
    not there may be there, no list or text of such a length is whole, and neither is a text that
    was joined of pages or slides; or, in a file in which the daemon ``masked`` something, on
    that."""
    if not (cut or masked):
        return wanted.matches(facts)
    beginning = begin_deep((), facts, READ_PARTS)

    def judge(steps: tuple[str, ...], one: Wanted, value: object) -> bool | None:
        is_so = judge_beginning(steps, one, value, beginning) if cut else is_as_wanted(one, value)
        return _judge_masked(one, value, is_so, cut=cut) if masked else is_so

    return wanted.judged(facts, judge)


def may_go_on(facts: Mapping[str, object], name: str, cut: bool) -> bool:
    """Whether the list ``name`` in what a file told may have more than is there."""
    return cut and (not facts or name in facts)


def pick_part(parts: list[PartT], number: int, *, more: bool) -> tuple[list[PartT], bool]:
    """Return the part of that number, from 1, and whether it may be one of those that were left
    out."""
    if number < 1:
        return [], False
    return parts[number - 1 : number], more and number > len(parts)


def tell_verdict(event: Event, verdict: bool | None) -> Iterator[Reading]:
    """Yield the reading of a fact that is so. Raises `UnseenError` where nobody knows."""
    if verdict is None:
        why = SECRET_IN_FILE if has_masked_facts(event) else CUT_OFF
        raise UnseenError(why, reading(event))
    if verdict:
        yield reading(event)


def as_object_list(value: object) -> list[object]:
    """``value`` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_objects(value: object) -> list[Mapping[str, object]]:
    """The objects in ``value`` if it is a list, else none."""
    return [item for item in as_object_list(value) if isinstance(item, Mapping)]


def value_text(value: object) -> str | None:
    """A cell's or a field's value as a text: 12.0 is 12; nothing for what holds others."""
    if value is None or isinstance(value, list | dict):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
