"""Every command of both programs: its help, the refusal of a wrong value, and its environment.

The commands and their options are asked of the programs, so that a new one is held here at once.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from cyclopts.argument import Argument

from agentd.cli.main import main as run_agentd
from api.cli.common import read_seconds, read_silence
from api.cli.main import OF_GROUPS
from api.cli.main import main as run_milestoned
from common.command_line import parse_command
from tests.support.commands import PROGRAMS, Command, commands_of

COMMANDS = [command for program in PROGRAMS for command in commands_of(program)]
WRONG = "no such value"
WRONG_OF = {
    "milestoned token create --label": "x" * 257,
    "agentd join --label": "=x",
}
"""Where `WRONG` is right."""
RIGHT = {
    "URL": "http://127.0.0.1:9",
    "HOST:PORT": "127.0.0.1:9",
    "SPAN": "30d",
    "STEP": "3",
    "KIND": "miniwob",
    "SCOPE": "trainer",
    "PORT": "7",
    "BYTES": "3M",
    "SECONDS": "5",
    "FACTOR": "2",
    "KEY=VALUE": "a=b",
    "SHARE": "0.5",
    "RISK": "0.1",
    "WHICH": "primary",
    "KIND,...": "all",
    "DIR": ".",
    "[LABEL=]DIR": ".",
}
"""A value by what the help calls it; "x" for all others."""
BY_DEFAULT: dict[tuple[str, ...], Any] = {}
"""Settings of command lines that were read beside no variable: most options of a command have
one in common."""
TOGETHER = {
    "--screen": ("--profile", "p"),
    "--address-token": ("--address", "a"),
}
"""Options that want another one with them."""


def run(command: Command, *argv: str) -> int:
    """The exit status of a command line."""
    if command.program == "milestoned":
        return run_milestoned([*command.words, *argv])
    with pytest.raises(SystemExit) as ended:
        run_agentd([*command.words, *argv])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def type_of(argument: Argument) -> Any:
    """What is declared, without None."""
    members = [each for each in get_args(argument.hint) if each is not type(None)]
    is_optional = len(members) == len(get_args(argument.hint)) - 1
    return members[0] if is_optional else argument.hint


def right_value(argument: Argument) -> str:
    if get_origin(type_of(argument)) is Literal:
        default = argument.field_info.default
        return str(next(text for text in get_args(type_of(argument)) if text != default))
    return RIGHT.get(str(argument.parameter.metavar), "x")


def needed(command: Command, *, but: Argument | None = None) -> list[str]:
    """What a command must be given, as it comes on the command line."""
    places = [
        right_value(argument)
        for argument in command.arguments
        if argument.index is not None and argument.required
    ]
    options = [
        f"{argument.name}={right_value(argument)}"
        for argument in command.arguments
        if argument.index is None and argument.required and argument is not but
    ]
    return [*places, *options]


def options(is_meant: Callable[[Command, Argument], Any]) -> list[Any]:
    return [
        pytest.param(command, argument, id=f"{command.name} {argument.name}")
        for command in COMMANDS
        for argument in command.arguments
        if argument.index is None and is_meant(command, argument)
    ]


def is_typed(_command: Command, argument: Argument) -> bool:
    """Whether not every text is a value."""
    hint = type_of(argument)
    is_plain = hint in (int, float, bool) or get_origin(hint) is Literal
    return is_plain or argument.parameter.converter is not None


@pytest.mark.parametrize("command", COMMANDS, ids=[command.name for command in COMMANDS])
def test_help_names_every_option_and_argument(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 0, in plain text, each with what it is for."""
    assert run(command, "--help") == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"Usage: {command.name}")
    assert "\x1b" not in shown
    for argument in command.arguments:
        name = argument.name if argument.index is None else argument.name.lstrip("-").upper()
        assert name in shown, name
        about = argument.parameter.help
        assert about, f"{command.name} {name}: expected a help text"
        assert " ".join(about.split()) in " ".join(shown.split()), name


@pytest.mark.parametrize(("command", "argument"), options(is_typed))
def test_a_wrong_value_is_refused_with_option_value_and_expected(
    command: Command, argument: Argument, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = WRONG_OF.get(f"{command.name} {argument.name}", WRONG)
    argv = [*needed(command, but=argument), f"{argument.name}={wrong}"]
    assert run(command, *argv) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"{command.program}: {argument.name}: expected "), said
    assert said.endswith(f', got "{wrong[:80]}"\n'), said
    assert said.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS, ids=[command.name for command in COMMANDS])
def test_an_option_that_there_is_not_is_refused(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command, *needed(command), "--no-such-option") == 2
    said = capsys.readouterr().err
    assert said.startswith(f"{command.program}: ")
    assert "--no-such-option" in said


@pytest.mark.parametrize(
    ("command", "argument"), options(lambda _command, argument: argument.required)
)
def test_an_option_that_is_missing_is_named_with_what_it_is_for(
    command: Command, argument: Argument, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command, *needed(command, but=argument)) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"{command.program}: {argument.name} {argument.parameter.metavar} is")
    assert str(argument.parameter.help) in said


def is_fraction(_command: Command, argument: Argument) -> bool:
    return type_of(argument) is float


@pytest.mark.parametrize("text", ["", "0.9", "-5", "1e3", "1000000001", "9" * 400])
def test_seconds_are_refused_with_both_their_bounds(text: str) -> None:
    with pytest.raises(ValueError, match=r"seconds from 1 to 1,000,000,000$"):
        read_seconds(text)
    with pytest.raises(ValueError, match=r"^expected 0, or .* from 1 to 1,000,000,000$"):
        read_silence(text)


@pytest.mark.parametrize("odd", ["nan", "inf", "1e999", "9" * 400])
@pytest.mark.parametrize(("command", "argument"), options(is_fraction))
def test_no_option_takes_what_is_no_finite_number(
    command: Command, argument: Argument, odd: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a limit that nothing meets would pass for one that was kept."""
    assert run(command, *needed(command, but=argument), f"{argument.name}={odd}") == 2
    assert argument.name in capsys.readouterr().err


def has_number(_command: Command, argument: Argument) -> bool:
    default = argument.field_info.default
    return isinstance(default, int | float) and not isinstance(default, bool)


@pytest.mark.parametrize(("command", "argument"), options(has_number))
def test_a_default_can_be_given(command: Command, argument: Argument) -> None:
    """It is within the option's own bounds."""
    default = f"{argument.name}={argument.field_info.default}"
    settings_of(command, [*needed(command), default])


def variables_of(command: Command, argument: Argument) -> tuple[str, ...]:
    if command.program == "agentd":
        return (f"AGENTD_{argument.name.lstrip('-').replace('-', '_').upper()}",)
    return tuple(argument.parameter.env_var or ())


@pytest.mark.parametrize(("command", "argument"), options(variables_of))
def test_option_and_variable_give_the_same_setting(
    command: Command, argument: Argument, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unlike the default, so that a variable that nobody reads fails."""
    for (variable,) in filter(None, (variables_of(command, each) for each in command.arguments)):
        monkeypatch.delenv(variable, raising=False)
    base = [*needed(command, but=argument), *TOGETHER.get(argument.name, ())]
    given = [argument.name] if argument.is_flag() else [f"{argument.name}={right_value(argument)}"]
    by_option = settings_of(command, [*base, *given])
    (variable,) = variables_of(command, argument)
    monkeypatch.setenv(variable, "yes" if argument.is_flag() else right_value(argument))
    assert settings_of(command, base) == by_option
    if not argument.required:
        monkeypatch.delenv(variable)
        key = command.name, *base
        if key not in BY_DEFAULT:
            BY_DEFAULT[key] = settings_of(command, base)
        assert BY_DEFAULT[key] != by_option


def settings_of(command: Command, argv: list[str]) -> Any:
    function, bound = parse_command(PROGRAMS[command.program](), [*command.words, *argv])
    if command.program == "agentd":
        return function(*bound.args, **bound.kwargs)
    return bound.args, bound.kwargs


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_without_a_command_is_refused(program: str, tmp_path: Path) -> None:
    module = {"agentd": "agentd", "milestoned": "api.cli.main"}[program]
    root = Path(__file__).parents[2]
    for argv, code in (([], 2), (["--help"], 0), (["--version"], 0), (["no-such"], 2)):
        done = subprocess.run(
            [sys.executable, "-m", module, *argv],
            cwd=root,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, (argv, done.stderr)
        assert "Traceback" not in done.stderr
        assert bool(done.stderr) == (code == 2), argv


@pytest.mark.parametrize(("name", "commands"), OF_GROUPS.items())
def test_a_command_without_its_group_is_refused_with_its_group(
    name: str, commands: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_milestoned([name, "file"]) == 2
    expected = " or ".join(commands)
    assert capsys.readouterr().err == f"milestoned: {name}: expected {expected}\n"
    known = {" ".join(one.words) for one in COMMANDS if one.program == "milestoned"}
    assert known.issuperset(commands)
