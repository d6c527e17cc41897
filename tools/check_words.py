"""Check the words of the source: `make check` runs this over the whole tree.

It refuses functions named by a bare participle, pronoun or preposition, limits that are not called
`MAX_…` or `MIN_…`, and one class name in two modules of a package. In a module's public functions
any single participle is refused, but for decorated ones: rules are facts (`graded`). It counts what
is still left of two habits, which may only become fewer: docstrings of five words or fewer, and
class names that two packages share. Every finding is one line: `file:line: expected X, got Y`.
"""

from __future__ import annotations

import argparse
import ast
import gc
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent

PACKAGES = ("agentd", "api", "common", "detectors", "client", "lab")
FOLDERS = (*PACKAGES, "benchmarks", "examples", "tools")
"""Functions and limits are looked at in all of these, classes and docstrings in `PACKAGES`."""

MAX_SHORT_DOCSTRINGS = {
    "agentd": 0,
    "api": 0,
    "common": 0,
    "detectors": 3,
    "client": 0,
    "lab": 0,
}
"""How many functions of a package may have a docstring of `MAX_SHORT_WORDS` words or fewer. Lower a
number when there are fewer, never raise one."""

MAX_SHARED_CLASSES = 10
"""How many classes may bear a name that an earlier one of `PACKAGES` has too. Only lower it."""

MAX_SHORT_WORDS = 5

LISTING = "list them with tools/check_words.py --list"

BARE_WORDS = frozenset(
    """
    of at in on by to for from with over under near after before since until than as
    one ones it its that this those whose which where when what who how why
    told said heard asked found seen gone left rest kept taken given known came went held meant
    wanted got had been took made done shown owed stood spared spoilt
    """.split()
)
"""Words that say nothing of what a function does when they are all of its name."""

PARTICIPLE = re.compile(r"[a-z]+ed")
VERBS_IN_ED = frozenset({"embed", "feed", "need", "seed", "shed", "speed"})
"""Names of one word that end as participles do, and are none."""

DIALECT_LIMIT = re.compile(r"_*(MOST|LONGEST|DEEPEST|LEAST|FEWEST)(_|$)")


class Permitted(NamedTuple):
    """Names that may stay although the words forbid them. ``file`` is a path from the root, or
    ``*`` for every file; each name must still be refused without the exception."""

    file: str
    names: tuple[str, ...]
    reason: str


EXCEPTIONS: tuple[Permitted, ...] = ()


class Finding(NamedTuple):
    """One refused name, and where it stands."""

    file: str
    line: int
    name: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


Module = tuple[str, ast.Module]
"""A file's path from the root, and its syntax tree."""

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def find_files(root: Path) -> dict[str, list[Path]]:
    """Find every Python file of `FOLDERS`, in the order of their paths."""
    return {folder: sorted((root / folder).rglob("*.py")) for folder in FOLDERS}


def parse_folders(root: Path) -> dict[str, list[Module]]:
    """Parse every file of `find_files`."""
    return {
        folder: [
            (path.relative_to(root).as_posix(), ast.parse(path.read_text(encoding="utf-8")))
            for path in files
        ]
        for folder, files in find_files(root).items()
    }


def product_modules(folders: Mapping[str, Sequence[Module]]) -> list[Module]:
    """All modules of `PACKAGES`, package after package."""
    return [module for package in PACKAGES for module in folders[package]]


def find_bare_functions(modules: Sequence[Module]) -> Iterator[Finding]:
    """Find functions and methods whose whole name is one of `BARE_WORDS`."""
    for file, tree in modules:
        for function in _functions(tree):
            if function.name.strip("_").lower() in BARE_WORDS:
                message = f"expected a function named by verb and object, got {function.name!r}"
                yield Finding(file, function.lineno, function.name, message)


def find_bare_participles(modules: Sequence[Module]) -> Iterator[Finding]:
    """Find public functions of modules whose whole name is a participle."""
    for file, tree in modules:
        for node in tree.body:
            if not isinstance(node, FunctionNode) or node.decorator_list:
                continue
            is_participle = PARTICIPLE.fullmatch(node.name) and node.name not in VERBS_IN_ED
            if is_participle and node.name not in BARE_WORDS:
                message = f"expected a function named by verb and object, got {node.name!r}"
                yield Finding(file, node.lineno, node.name, message)


def find_dialect_limits(modules: Sequence[Module]) -> Iterator[Finding]:
    """Find limits that are called `MOST_…`, `LONGEST_…`, `DEEPEST_…`, `LEAST_…` or `FEWEST_…`."""
    for file, tree in modules:
        for node in _naming_nodes(tree):
            if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Store):
                continue
            if DIALECT_LIMIT.match(node.id):
                message = f"expected a limit named MAX_… or MIN_…, got {node.id!r}"
                yield Finding(file, node.lineno, node.id, message)


def find_shared_classes(
    modules: Sequence[Module], *, between_packages: bool = False
) -> Iterator[Finding]:
    """Find classes whose name an earlier module has too, or, `between_packages`, an earlier
    package."""
    owners: dict[str, str] = {}
    unit = "package" if between_packages else "module"
    for file, tree in modules:
        place = file.partition("/")[0] if between_packages else file
        for node in _naming_nodes(tree):
            if not isinstance(node, ast.ClassDef):
                continue
            owner = owners.setdefault(node.name, place)
            if owner != place:
                message = f"expected a class name of one {unit}, got {node.name!r} of {owner} too"
                yield Finding(file, node.lineno, node.name, message)


def find_short_docstrings(modules: Sequence[Module]) -> Iterator[Finding]:
    """Find functions whose docstring has `MAX_SHORT_WORDS` words or fewer."""
    for file, tree in modules:
        for function in _functions(tree):
            docstring = ast.get_docstring(function) or ""
            if 0 < len(docstring.split()) <= MAX_SHORT_WORDS:
                message = f"expected a docstring of six words or more, or none, got {docstring!r}"
                yield Finding(file, function.lineno, function.name, message)


def check_names(
    folders: Mapping[str, Sequence[Module]], exceptions: Sequence[Permitted] = EXCEPTIONS
) -> list[str]:
    """Return a message for each refused name, and for each exception that no name needs."""
    findings: list[Finding] = []
    for folder, modules in folders.items():
        findings += find_bare_functions(modules)
        findings += find_dialect_limits(modules)
        if folder in PACKAGES:
            findings += find_bare_participles(modules)
            findings += find_shared_classes(modules)
    permitted = {(entry.file, name) for entry in exceptions for name in entry.names}
    needed: set[tuple[str, str]] = set()
    messages = []
    for finding in sorted(findings):
        keys = {(finding.file, finding.name), ("*", finding.name)} & permitted
        needed |= keys
        if not keys:
            messages.append(str(finding))
    for file, name in sorted(permitted - needed):
        messages.append(f"{file}:1: expected {name!r}, which has an exception, got no such name")
    return messages


def check_ceilings(
    folders: Mapping[str, Sequence[Module]],
    max_docstrings: Mapping[str, int] = MAX_SHORT_DOCSTRINGS,
    max_classes: int = MAX_SHARED_CLASSES,
) -> list[str]:
    """Return a message for each number that rose above its ceiling."""
    messages = []
    for package, ceiling in max_docstrings.items():
        short = list(find_short_docstrings(folders[package]))
        if len(short) > ceiling:
            header = (
                f"{package}/__init__.py:1: expected at most {ceiling} docstrings of"
                f" {MAX_SHORT_WORDS} words or fewer in {package}/, got {len(short)}:"
            )
            messages.append("\n  ".join([header, *map(str, short)]))
    shared = list(find_shared_classes(product_modules(folders), between_packages=True))
    if len(shared) > max_classes:
        messages.append(
            f"{shared[-1].file}:{shared[-1].line}: expected at most {max_classes} classes with a"
            f" name of another package, got {len(shared)} ({LISTING})"
        )
    return messages


@cache
def _naming_nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    # A tree is walked once for all that is looked for in it: a walk takes longer than to parse it.
    kinds = ast.Name | ast.ClassDef | FunctionNode
    return tuple(node for node in ast.walk(tree) if isinstance(node, kinds))


def _functions(tree: ast.Module) -> Iterator[FunctionNode]:
    for node in _naming_nodes(tree):
        if isinstance(node, FunctionNode):
            yield node


def main() -> None:
    """Print what is refused, and exit with 1 when there is anything."""
    parser = argparse.ArgumentParser(description="Check the words of the source.")
    parser.add_argument(
        "--list", action="store_true", help="list what the ceilings count, and stop"
    )
    options = parser.parse_args()
    # Trees are a million objects, none of them garbage: a collector that looks through them again
    # and again takes three quarters of the time that parsing takes.
    gc.disable()
    folders = parse_folders(ROOT)
    if options.list:
        modules = product_modules(folders)
        for finding in find_short_docstrings(modules):
            print(finding)
        for finding in find_shared_classes(modules, between_packages=True):
            print(finding)
        return
    messages = check_names(folders) + check_ceilings(folders)
    for message in messages:
        print(message, file=sys.stderr)
    sys.exit(1 if messages else 0)


if __name__ == "__main__":
    main()
