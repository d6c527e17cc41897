"""The command lines that a page of the docs shows, and the options that the programs have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from tests.support.commands import commands_of

HELP = ("--help", "-h")
_FENCED = re.compile(r"^```[^\n]*\n(.*?)^```$", re.S | re.M)
_INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_CALL = re.compile(r"(?:^|[;&|(]|[A-Z_]=\S+) *(?:\S*/bin/)?(milestoned|agentd) ([a-z][^|;&#]*)")


def command_lines(page: str) -> Iterator[list[str]]:
    """Yield each call of ``milestoned`` or ``agentd`` in the code of ``page``, split at blanks."""
    blocks = [match.replace("\\\n", " ") for match in _FENCED.findall(page)]
    lines = [line.lstrip("$ ") for block in blocks for line in block.splitlines()]
    spans = [" ".join(span.split()) for span in _INLINE.findall(_FENCED.sub("", page))]
    for line in (*lines, *spans):
        for program, rest in _CALL.findall(line):
            yield [program, *rest.split()]


@cache
def options_of(program: str) -> Mapping[tuple[str, ...], frozenset[str]]:
    """Map each command of ``program``, as a tuple of words, to its options."""
    found: dict[tuple[str, ...], frozenset[str]] = {}
    for command in commands_of(program):
        for length in range(1, len(command.words)):
            found[command.words[:length]] = frozenset(HELP)
        names = (argument.names for argument in command.arguments)
        found[command.words] = frozenset(HELP).union(*names)
    return found


def variables_of_options() -> set[str]:
    """Return the environment variables of the daemon's options."""
    return {
        f"AGENTD_{argument.name.lstrip('-').replace('-', '_').upper()}"
        for command in commands_of("agentd")
        for argument in command.arguments
    }
