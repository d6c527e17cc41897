"""Markdown as it is meant: white space, list marks and breaks within links do not count."""

from __future__ import annotations

import re

_HEADER = re.compile(r"(\s*)(#{1,6})[ \t]+")
_MARK = re.compile(r"(\s*)[*+-][ \t]+")


def plain_markdown(text: str) -> str:
    """Return the text, its lines folded: linear in its length."""
    lines: list[str] = []
    for raw in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = _plain_line(raw)
        if _is_broken_link(lines, line):
            lines[-1] = f"{lines[-1]} {line.lstrip()}"
        elif line or not _ends_empty(lines):
            lines.append(line)
    return "\n".join(_spaced(line) for line in lines).strip()


def _plain_line(raw: str) -> str:
    """A line with one blank after the mark of a header or of a list's item."""
    line = raw.rstrip(" \t")
    if _HEADER.match(line):
        line = _HEADER.sub(r"\1\2 ", line, count=1)
    mark = _MARK.match(line)
    if mark is None:
        return line
    return ("  " if mark[1] else "") + "- " + line[mark.end() :]


def _is_broken_link(lines: list[str], line: str) -> bool:
    """Whether the line ends a link that the last of ``lines`` begins."""
    return bool(lines) and "](" in line and lines[-1].rfind("[") > lines[-1].rfind("]")


def _ends_empty(lines: list[str]) -> bool:
    """Whether two empty lines stand at the end."""
    return len(lines) >= 2 and not lines[-1] and not lines[-2]


def _spaced(line: str) -> str:
    """One blank between the words of a link's text."""
    head, bracket, rest = line.partition("[")
    inner, end, after = rest.partition("]")
    return line if not bracket or not end else f"{head}[{' '.join(inner.split())}]{after}"
