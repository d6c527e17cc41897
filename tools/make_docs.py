"""Makes what is generated: the rules, events, commands, task schema, map and picture of docs/, and
the blocking client.

`python tools/make_docs.py` writes them; with `--check` it writes nothing and exits 1 if one is out
of date.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import orjson  # noqa: E402

from api.tasks.schema import task_schema  # noqa: E402
from detectors.sdk.arguments import declared_arguments  # noqa: E402
from detectors.sdk.registry import Composite, Rule, rules  # noqa: E402
from detectors.sdk.tier_rules import Judged  # noqa: E402
from tools.architecture import picture, rooms_page  # noqa: E402
from tools.blocking_client import TARGET, blocking_client  # noqa: E402
from tools.commands_page import commands_page  # noqa: E402
from tools.events_page import events_page  # noqa: E402
from tools.task_page import task_page  # noqa: E402

MADE = "<!-- Made by `make docs` from the code; edit the docstrings there. -->\n\n"


def rules_page() -> str:
    """docs/rules.md: every rule, from its docstring and its declared arguments."""
    out = [
        MADE
        + "# Rules\n\nA condition is `rule: {arguments}`. Composites take conditions in `of`; they"
        " can become untrue again where one of those can.\n"
    ]
    out.append(_overview())
    for name, rule in rules().items():
        out.append(f"\n## {name}\n\n{_paragraphs(rule.doc)}\n")
        if isinstance(rule, Rule):
            hears = (
                ", ".join(f"`{kind}`" for kind in rule.hears) or "the kind that its arguments name"
            )
            out.append(
                f"\nComponent `{rule.component}` by default; subscribes to {hears}; can become"
                f" untrue again: {_can_end(rule)}; version {rule.version}.\n"
            )
        arguments = declared_arguments(rule.args).keys
        if arguments:
            out.append("\n| argument | type | |\n| --- | --- | --- |\n")
        for a in arguments:
            required = "" if a.required else " (optional)"
            out.append(f"| `{a.name}` | {a.type.label or a.type.expected}{required} | {a.doc} |\n")
        if isinstance(rule, Composite):
            part = (
                "`when`: a condition (optional)" if name == "goal" else "`of`: a list of conditions"
            )
            out.append(f"\n{part}; version {rule.version}.\n")
    return "".join(out)


def _overview() -> str:
    """A row a rule: what it says in a sentence, its component, whether it can become untrue
    again."""
    lines = [
        "| rule | component | can become untrue again | what it says |",
        "| --- | --- | --- | --- |",
    ]
    for name, rule in rules().items():
        first = _paragraphs(rule.doc).partition("\n\n")[0].partition(". ")[0].rstrip(".")
        about = (
            (f"`{rule.component}`", _can_end(rule))
            if isinstance(rule, Rule)
            else ("", "as its conditions")
        )
        lines.append(f"| [{name}](#{name}) | {' | '.join(about)} | {first}. |")
    return "\n" + "\n".join(lines).replace(" |  | ", " | | ") + "\n"


def _can_end(rule: Rule) -> str:
    """Whether what the rule is about is a state, which ends, or happens once."""
    if callable(rule.occurrence):
        return "as its arguments say"
    if rule.component == "answer":
        return "by a later answer"
    return "no" if rule.occurrence or rule.args is Judged else "yes"


def _paragraphs(doc: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in doc.strip().split("\n\n"))


def pages() -> dict[str, bytes]:
    """Return every generated file by its path."""
    return {
        "docs/rules.md": rules_page().encode(),
        "docs/events.md": events_page().encode(),
        "docs/task-reference.md": (MADE + task_page()).encode(),
        "docs/task.schema.json": orjson.dumps(task_schema(), option=orjson.OPT_INDENT_2) + b"\n",
        "docs/architecture.svg": picture().encode(),
        "docs/map.md": (MADE + rooms_page()).encode(),
        "docs/commands.md": (MADE + commands_page()).encode(),
        TARGET: blocking_client(),
    }


def main() -> int:
    """Write the generated pages, or check that they are up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = [
        path
        for path, made in pages().items()
        if not (ROOT / path).exists() or (ROOT / path).read_bytes() != made
    ]
    for path in stale:
        if not check:
            (ROOT / path).write_bytes(pages()[path])
        print(f"{path}: {'out of date; run `make docs`' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
