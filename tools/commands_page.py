"""docs/commands.md: every command with what it accepts, from the declarations of both programs."""

from __future__ import annotations

from collections.abc import Iterator

from cyclopts import App
from cyclopts.argument import Argument

from agentd.cli.main import make_app as make_agentd
from api.cli.main import make_app as make_milestoned

HEAD = """# Commands and options

What `--help` prints, as tables. An option comes from the command line, else from the environment
variable beside it, else it has its default. A wrong value ends the command with exit status 2 and a
line that names option, value and expected:
`agentd: --port: expected a number from 0 (any free port) to 65535, got "x"`. An option that is
given twice counts as it was given last, unless it may be given again. Secrets are never options:
`MILESTONED_SECRET`, `MILESTONED_ADMIN_TOKEN` and `MILESTONED_SIGNING_KEY` are read from the
environment or from files of the data folder.
"""


def commands_page() -> str:
    """Return the page."""
    parts = [HEAD]
    for app in (make_agentd(), make_milestoned()):
        parts.append(f"\n## {app.name[0]}\n")
        parts += _sections(app, app.name[0])
    return "".join(parts)


def _sections(app: App, words: str) -> Iterator[str]:
    names = [name for name in app if not name.startswith("-")]
    for name in names:
        yield from _sections(app[name], f"{words} {name}")
    if names:
        return
    yield f"\n### {words}\n\n{_sentence(app.help.partition(chr(10) * 2)[0])}\n"
    arguments = [
        each for each in app.assemble_argument_collection() if each.parse and not each.children
    ]
    if arguments:
        yield "\n| option | environment | |\n| --- | --- | --- |\n"
    for argument in arguments:
        yield f"| `{_signature(argument)}` | {_variable(words, argument)} | {_about(argument)} |\n"


def _signature(argument: Argument) -> str:
    metavar = (argument.parameter.metavar or "").replace("|", "\\|")
    return metavar if argument.index is not None else f"{argument.name} {metavar}".rstrip()


def _variable(words: str, argument: Argument) -> str:
    if words.startswith("agentd "):
        return f"`AGENTD_{argument.name.lstrip('-').replace('-', '_').upper()}`"
    return ", ".join(f"`{name}`" for name in argument.parameter.env_var or ())


def _about(argument: Argument) -> str:
    about = " ".join((argument.parameter.help or "").split()).replace("|", "\\|")
    return about + (" (required)" if argument.required else "")


def _sentence(text: str) -> str:
    plain = " ".join(text.split()).rstrip(".")
    return plain[:1].upper() + plain[1:] + "."
