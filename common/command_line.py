"""How a command is declared, read and refused: by cyclopts, in plain text, a line an error."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from inspect import BoundArguments
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from cyclopts import App, CycloptsError, Parameter, Token
from cyclopts.argument import Argument, ArgumentCollection
from cyclopts.exceptions import CoercionError, MissingArgumentError, UnusedCliTokensError
from cyclopts.help import PlainFormatter
from cyclopts.utils import UNSET

if TYPE_CHECKING:
    from rich.console import Console

MAX_SHOWN = 80
"""Characters of a wrong value that an error repeats."""
HELP_FLAGS = ("--help", "-h")
EXPECTED = {int: "a whole number", float: "a number", bool: "yes or no"}


class _PlainHelp(PlainFormatter):
    """Help without wrapping in the middle of an option's name; a long line goes on indented."""

    def _print_plain(self, console: Console, text: str) -> None:
        is_entry = text.startswith(" ")
        lines = textwrap.wrap(
            " ".join(text.split()),
            console.width - 1,
            initial_indent=" " * 2 if is_entry else "",
            subsequent_indent=" " * 8 if is_entry else "",
            break_on_hyphens=False,
        )
        console.out("\n".join(lines), highlight=False)


class CommandLineError(ValueError):
    """The arguments are not those of a command: the text names option, value and expected."""


def new_app(name: str, about: str = "", *, config: tuple[Any, ...] = (), **more: Any) -> App:
    """Return a program, or a group of commands, without any styling.

    ``config``: further places that options are read from, in cyclopts' form; ``more``: of
    `cyclopts.App`.
    """
    return App(
        name=name,
        help=about,
        help_format="plaintext",
        help_formatter=_PlainHelp(),
        help_flags=HELP_FLAGS,
        # What is given twice counts as it was given last; a variable is one value.
        default_parameter=Parameter(
            negative="",
            allow_repeating=True,
            show_default=False,
            show_env_var=False,
            env_var_split=lambda _type, text, **_: [text],
        ),
        config=(*config, _drop_empty),
        exit_on_error=False,
        print_error=False,
        **more,
    )


def option(
    about: str,
    metavar: str | None = None,
    read: Callable[[str], Any] | None = None,
    *,
    many: bool = False,
    **more: Any,
) -> Parameter:
    """Declare an option or argument of a command.

    ``read`` turns a text into the value and raises `ValueError` with "expected ...". ``many``: it
    may be given again, and its values are a tuple. ``more``: of `cyclopts.Parameter`.
    """
    if read is None:
        return Parameter(help=about, metavar=metavar, **more)

    def convert(_type: Any, tokens: Sequence[Token]) -> Any:
        values = tuple(_read_token(read, token.value) for token in tokens)
        return values if many else values[-1]

    return Parameter(help=about, metavar=metavar, converter=convert, n_tokens=1, **more)


def _read_token(read: Callable[[str], Any], text: str) -> Any:
    try:
        return read(text)
    except ValueError as error:
        raise ValueError(f'{error}, got "{text[:MAX_SHOWN]}"') from None


def parse_command(app: App, argv: Sequence[str]) -> tuple[Callable[..., Any], BoundArguments]:
    """Return the command that ``argv`` names and its arguments; raises `CommandLineError`."""
    try:
        command, bound, _ = app.parse_args(argv)
    except CycloptsError as error:
        raise CommandLineError(describe(error)) from None
    is_help = getattr(command, "__func__", None) is App.help_print
    if is_help and not set(argv) & set(HELP_FLAGS):
        words = " ".join([*app.name, *argv])
        raise CommandLineError(f"expected a command; `{words} --help` lists them")
    return command, bound


def describe(error: CycloptsError) -> str:
    """Return one line: ``option: expected X, got "Y"``."""
    argument = error.argument
    if isinstance(error, MissingArgumentError) and argument is not None:
        return _describe_missing(argument, error.keyword)
    if isinstance(error, CoercionError) and error.token is not None:
        text = error.token.value[:MAX_SHOWN]
        where = error.token.keyword or (argument.name if argument else "")
        return f"{where}: " + str(
            error.msg or f'expected {_expected_text(error.target_type)}, got "{text}"'
        )
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        return f"{error.unused_tokens[0][:MAX_SHOWN]}: expected no further argument"
    return str(error)


def _describe_missing(argument: Argument, keyword: str | None) -> str:
    metavar = argument.parameter.metavar or "a value"
    if keyword is not None:
        return f"{keyword}: expected {metavar} after it"
    name = metavar if argument.index is not None else f"{argument.name} {metavar}"
    return f"{name} is missing: {argument.parameter.help}"


def _expected_text(type_: Any) -> str:
    if get_origin(type_) is Literal:
        *names, last = map(str, get_args(type_))
        return f"{', '.join(names)} or {last}" if names else last
    return EXPECTED.get(type_, getattr(type_, "__name__", str(type_)))


def _drop_empty(_app: App, _commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Take an option or a variable without a text as one that is not given."""
    for argument in arguments:
        argument.tokens[:] = [
            token for token in argument.tokens if token.value or token.implicit_value is not UNSET
        ]
