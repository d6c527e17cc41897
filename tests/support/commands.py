"""Every command of `agentd` and `milestoned`, with the options and arguments that it declares."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from cyclopts import App
from cyclopts.argument import Argument

from agentd.cli.main import make_app as make_agentd
from api.cli.main import make_app as make_milestoned

PROGRAMS = {"agentd": make_agentd, "milestoned": make_milestoned}


class Command(NamedTuple):
    """``words``: without the program's name."""

    program: str
    words: tuple[str, ...]
    arguments: tuple[Argument, ...]

    @property
    def name(self) -> str:
        return " ".join((self.program, *self.words))


@cache
def commands_of(program: str) -> tuple[Command, ...]:
    """Return the commands of a program, subcommands by all their words."""
    return tuple(_walk(program, (), PROGRAMS[program]()))


def _walk(program: str, words: tuple[str, ...], app: App) -> Iterator[Command]:
    names = [name for name in app if not name.startswith("-")]
    for name in names:
        yield from _walk(program, (*words, name), app[name])
    if not names:
        arguments = tuple(
            each for each in app.assemble_argument_collection() if each.parse and not each.children
        )
        yield Command(program, words, arguments)


def shown_name(argument: Argument) -> str:
    """Return the name in a table of tests: ``--out``, or the place's name in Python."""
    return str(argument.field_info.name) if argument.index is not None else argument.name
