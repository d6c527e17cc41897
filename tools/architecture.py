"""The rooms of the product, as import-linter's contracts in pyproject.toml order them: a picture
and a map."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

ROOT = Path(__file__).parent.parent
PACKAGES = ("lab", "agentd", "api", "common", "detectors")
"""From the top of the house to its floor."""

COLUMNS = (("lab", "common", "detectors"), ("agentd",), ("api",))
"""Packages of the picture, one column beside the other."""

ROW, WIDTH, GAP, TOP = 26, 430, 30, 40
HEADING = 2
"""Rows that are left free between two packages of a column, for the name of the lower one."""


class Room(NamedTuple):
    """A folder (or one file) of a package; ``layer``: 0 is the highest. Rooms of one layer don't
    import each other."""

    package: str
    name: str
    layer: int
    about: str


def rooms() -> list[Room]:
    """Every room of `PACKAGES`, from the highest to the lowest of each."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    layers = {
        contract["containers"][0]: contract["layers"]
        for contract in contracts
        if contract.get("containers")
    }
    found = []
    for package in PACKAGES:
        for number, layer in enumerate(layers[package]):
            for name in layer.split(" | "):
                found.append(Room(package, name, number, _about(ROOT / package / name)))
    return found


def _about(path: Path) -> str:
    """The first paragraph of what a folder or file says of itself."""
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    doc = ast.get_docstring(ast.parse(file.read_text())) or ""
    return " ".join(doc.partition("\n\n")[0].split())


def picture() -> str:
    """docs/architecture.svg: a column a package, a row a room; each imports only what stands below
    it."""
    parts = []
    depth = 0
    for column, packages in enumerate(COLUMNS):
        x, y = GAP + column * (WIDTH + GAP), TOP
        for package in packages:
            parts.append(f'<text class="n" x="{x}" y="{y - 8}">{package}/</text>')
            for room in rooms():
                if room.package == package:
                    parts.append(_box(x, y, room))
                    y += ROW
            depth = max(depth, y)
            y += HEADING * ROW
    style = (
        "text{font:13px sans-serif;fill:#1b2733}.b{fill:#f4f7fb;stroke:#9db2c6}.n{font-weight:bold}"
        ".s{font-size:11px;fill:#51606f}"
    )
    width, height = 3 * (WIDTH + GAP) + GAP, depth + 50
    key = (
        "A room imports only rooms below it; lab may import agentd and api, these only common and"
        " detectors."
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
        ' aria-label="The rooms of each package, and which may import'
        f' which"><style>{style}</style><rect width="{width}" height="{height}"'
        f' fill="#fff"/>{"".join(parts)}<text class="s" x="{GAP}" y="{height - 18}">{escape(key)}'
        " Made by make docs.</text></svg>\n"
    )


def _box(x: int, y: int, room: Room) -> str:
    about = room.about if len(room.about) <= 54 else room.about[:53].rpartition(" ")[0] + " …"
    return (
        f'<rect class="b" x="{x}" y="{y}" width="{WIDTH}" height="{ROW - 3}" rx="4"/>'
        f'<text class="n" x="{x + 8}" y="{y + 16}">{escape(room.name)}</text>'
        f'<text class="s" x="{x + 112}" y="{y + 16}">{escape(about)}</text>'
    )


def rooms_page() -> str:
    """docs/map.md: every folder in a line, from the top of the house to its floor."""
    out = [
        "# Map\n\nA line a folder. A room imports only those below it in its table; `make check`"
        " holds that.\n"
    ]
    for package in PACKAGES:
        out.append(
            f"\n## {package}\n\n{_about(ROOT / package)}\n\n| room | what it holds |\n| --- |"
            " --- |\n"
        )
        out += [
            f"| `{room.name}` | {room.about} |\n" for room in rooms() if room.package == package
        ]
    return "".join(out)
