"""Markdown as it is meant: white space, list marks and breaks within links do not count."""

from __future__ import annotations

import re

_HEADER = re.compile(r"(\s*)(#{1,6})[ \t]+")
_MARK = re.compile(r"(\s*)[*+-][ \t]+")


def plain_markdown(text: str) -> str:
    """The text, its lines folded: linear in its length."""
    lines: list[str] = []
    for raw in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = raw.rstrip(" \t")
        line = _HEADER.sub(r"\1\2 ", line, count=1) if _HEADER.match(line) else line
        mark = _MARK.match(line)
        if mark:
            line = ("  " if mark[1] else "") + "- " + line[mark.end() :]
        opened = bool(lines) and lines[-1].rfind("[") > lines[-1].rfind("]")
        if opened and "](" in line:
            lines[-1] = f"{lines[-1]} {line.lstrip()}"  # a link that was broken
        elif line or len(lines) < 2 or lines[-1] or lines[-2]:
            lines.append(line)
    return "\n".join(_spaced(line) for line in lines).strip()


def _spaced(line: str) -> str:
    """One blank between the words of a link's text."""
    head, bracket, rest = line.partition("[")
    inner, end, after = rest.partition("]")
    return line if not bracket or not end else f"{head}[{' '.join(inner.split())}]{after}"
