"""What an instruction asks of desktops and files: names of files, texts, deeds; and how much of it
a text has. Pure; compiles nothing given."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import NamedTuple

from api.stages.model.words import MAX_CHARACTERS, plain, read_goal
from detectors.model.caches import cache_by_size
from detectors.model.memory import size_of

MAX_THINGS = 40
"""Texts and names of one instruction that are looked for."""
MAX_TEXT = 4_000
"""Characters of a text that are searched."""
_NAME = re.compile(r"(?<![\w@])[\w-]+(?:[./][\w-]+)*\.[A-Za-z]\w{0,4}(?![\w.]*\w)")
_FOLDER = re.compile(r"\b(?:folder|directory)\s+[\"“']?([\w.-]{2,60})")
_QUOTED = re.compile(r"\"([^\"]{1,200})\"|“([^”]{1,200})”|'([^']{2,200})'(?!\w)")
_DEEDS = {
    "deletes": ("delete", "remove", "erase", "discard"),
    "moves": ("rename", "move"),
    "replaces": ("replace", "change", "exchange", "instead"),
}


class FoundTexts(NamedTuple):
    """The texts that are wanted and stand in some text, by their places in `Requirements.texts`;
    ``lines``: those that are a whole line of it, with upper and lower case as they are."""

    anywhere: frozenset[int] = frozenset()
    lines: frozenset[int] = frozenset()


class Requirements(NamedTuple):
    """An instruction, read once. All in its order."""

    names: tuple[str, ...]
    """Names of files and folders, in lower case."""
    texts: tuple[str, ...]
    """Values: what is quoted, numbers, names of people and places; as plain words."""
    raw: tuple[str, ...]
    """The same as they are written, where they are quoted; else empty."""
    digests: Mapping[str, int]
    """Of a file that holds one quoted text and nothing else its sha256, with the text's place."""
    deletes: bool
    moves: bool
    replaces: bool

    def find(self, text: str) -> FoundTexts:
        """Return which of the wanted texts a text has."""
        text = text[:MAX_TEXT]
        # The same words, under the name by which an edit's text is compared later.
        words = f" {plain(text.strip() if len(text) <= MAX_CHARACTERS else text)} "
        anywhere = frozenset(at for at, one in enumerate(self.texts) if f" {one} " in words)
        if not anywhere:
            return FoundTexts()
        lines = {line.strip() for line in text.splitlines()}
        whole = {at for at in anywhere if self.raw[at] and self.raw[at] in lines}
        unquoted = [at for at in anywhere if not self.raw[at]]
        if unquoted:
            plain_lines = set(map(plain, lines))
            whole |= {at for at in unquoted if self.texts[at] in plain_lines}
        return FoundTexts(anywhere, frozenset(whole))

    def is_named(self, path: str) -> bool:
        """Whether the path, its file's name or one of its folders is wanted by name."""
        return bool(self.names_of(path))

    def names_of(self, path: str) -> frozenset[int]:
        """Return which of the wanted names are the path, its last part or one of its folders."""
        lower = f"/{path.lower()}/"
        return frozenset(at for at, name in enumerate(self.names) if f"/{name}/" in lower)

    def is_whole(self, text: str) -> bool:
        """Whether a text is one of the wanted ones and nothing else."""
        stripped = text.strip()
        words = plain(stripped)
        return bool(words) and any(
            (raw == stripped) if raw else (one == words)
            for one, raw in zip(self.texts, self.raw, strict=True)
        )


@cache_by_size(4 << 20, lambda wanted, _: size_of([wanted]))
def read_requirements(instruction: str) -> Requirements:
    """Read which files, values and deeds an instruction asks for."""
    instruction = instruction[:MAX_CHARACTERS]
    quoted = [next(filter(None, groups)) for groups in _QUOTED.findall(instruction)]
    names = _read_names(instruction)
    texts = _read_texts(instruction, quoted, names)
    words = set(plain(instruction).split())
    return Requirements(
        names=names,
        texts=tuple(texts),
        raw=tuple(texts.values()),
        digests={
            hashlib.sha256((text + end).encode()).hexdigest(): at
            for at, text in enumerate(texts.values())
            if text
            for end in ("", "\n", "\r\n")
        },
        **{deed: not words.isdisjoint(said) for deed, said in _DEEDS.items()},
    )


def _read_names(instruction: str) -> tuple[str, ...]:
    """Names of files and folders in their order, each once."""
    found = [(match.start(), match[0]) for match in _NAME.finditer(instruction)]
    found += [(match.start(1), match[1]) for match in _FOLDER.finditer(instruction)]
    names = dict.fromkeys(name.lower().strip(".") for _, name in sorted(found))
    return tuple(names)[:MAX_THINGS]


def _read_texts(instruction: str, quoted: list[str], names: tuple[str, ...]) -> dict[str, str]:
    """The wanted texts as plain words, each with how it is quoted; without names of files."""
    written = {plain(text): text.strip() for text in quoted}
    parts = {part for name in names for part in plain(name).split()}
    texts: dict[str, str] = {}
    for slot in read_goal(instruction).slots:
        if slot not in names and slot not in parts:
            texts.setdefault(slot, written.get(slot, ""))
    return dict(list(texts.items())[:MAX_THINGS])
