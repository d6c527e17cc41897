"""The command lines that a page of the docs shows, and the options that the programs have."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from agentd.cli.main import _parser as agentd_parser
from api.cli.main import COMMANDS, added_commands

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
    if program == "agentd":
        return dict(_walk((), agentd_parser()))
    found: dict[tuple[str, ...], frozenset[str]] = {}
    for name, (module, _) in {**COMMANDS, **added_commands()}.items():
        parser = argparse.ArgumentParser()
        import_module(module).add(parser)
        found.update(_walk(tuple(name.split()), parser))
    return found


def _walk(
    words: tuple[str, ...], parser: argparse.ArgumentParser
) -> Iterator[tuple[tuple[str, ...], frozenset[str]]]:
    options = [option for action in parser._actions for option in action.option_strings]
    yield words, frozenset(options)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from _walk((*words, name), below)
