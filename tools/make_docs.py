"""Makes the generated pages of docs/: rules, events, the task schema and the picture of the house.

`python tools/make_docs.py` writes them; with `--check` it writes nothing and exits 1 if one is out of date.
"""

from __future__ import annotations

import argparse
import ast
import sys
import typing
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import orjson  # noqa: E402

from api.tasks.schema import task_schema  # noqa: E402
from detectors.sdk.arguments import declared  # noqa: E402
from detectors.sdk.registry import Composite, Rule, rules  # noqa: E402
from tools.events_page import events_page  # noqa: E402

MADE = "<!-- Made by `make docs` from the code; edit the docstrings there. -->\n\n"


def rules_page() -> str:
    """docs/rules.md: every rule, from its docstring and its declared arguments."""
    out = [MADE + "# Rules\n\nA condition is `rule: {arguments}`. Composites take conditions in `of`.\n"]
    for name, rule in rules().items():
        out.append(f"\n## {name}\n\n{_paragraphs(rule.doc)}\n")
        if isinstance(rule, Rule):
            hears = ", ".join(f"`{kind}`" for kind in rule.hears) or "the kind that its arguments name"
            out.append(f"\nComponent `{rule.component}` by default; hears {hears}; version {rule.version}.\n")
        arguments = declared(rule.args)
        if arguments:
            out.append("\n| argument | type | |\n| --- | --- | --- |\n")
        for a in arguments:
            required = "" if a.required else " (optional)"
            out.append(f"| `{a.name}` | {_type_name(a.type)}{required} | {a.doc} |\n")
        if isinstance(rule, Composite):
            part = "`when`: a condition (optional)" if name == "goal" else "`of`: a list of conditions"
            out.append(f"\n{part}; version {rule.version}.\n")
    return "".join(out)


def _paragraphs(doc: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in doc.strip().split("\n\n"))


def _type_name(hint: object) -> str:
    names = {"TextMatch": "text", "UrlMatch": "address", "IntRange": "range", "StatusMatch": "status"}
    names |= {
        "BodyMatch": "fields of a body",
        "AddressesMatch": "lenient addresses",
        "ContentMatch": "lenient content",
        "StructureMatch": "lenient structure",
        "StateMatch": "facts of a state",
        "FieldsMatch": "fields",
        "FactsMatch": "facts",
        "ValueMatch": "value",
        "SchemaMatch": "JSON Schema",
        "Window": "window",
        "int": "whole number",
        "tuple[detectors.matchers.url.UrlMatch, ...]": "addresses",
        "str": "name",
        "bool": "true/false",
    }
    name = str(hint) if typing.get_origin(hint) is tuple else getattr(hint, "__name__", str(hint))
    return names.get(name, str(hint).removeprefix("typing."))


PLACES = {  # folder: (x, y); what is drawn inside is counted from the code
    "client": (40, 40), "api": (40, 180), "migrations": (40, 320), "detectors": (340, 260), "agentd": (640, 180),
}  # fmt: skip
SAYS = {
    "client": "what trainers import",
    "api": "the service: log, ledger, rewards",
    "migrations": "how tables change",
    "detectors": "events to milestones to rewards",
    "agentd": "the daemon beside the sandbox",
}


def picture() -> str:
    """docs/architecture.svg: the folders, their size, and an arrow wherever one imports another."""
    boxes, arrows = [], []
    for folder, (x, y) in PLACES.items():
        files = sorted((ROOT / folder).rglob("*.py"))
        boxes.append(_box(x, y, folder, SAYS[folder], _parts(folder)))
        for other in sorted(_imports(files) & set(PLACES) - {folder}):
            arrows.append(_arrow(PLACES[folder], PLACES[other]))
    wire = (
        '<path class="wire" d="M640,210 L280,210" marker-end="url(#w)"/><text class="s" x="395" y="200">'
        "segments over HTTP</text>"
        '<path class="wire" d="M150,110 L150,180" marker-end="url(#w)"/><text class="s" x="160" y="150">HTTP</text>'
    )
    style = (
        "text{font:14px sans-serif;fill:#1b2733}.b{fill:#f4f7fb;stroke:#5b7a99}.n{font-weight:bold}"
        ".s{font-size:12px;fill:#51606f}.a{stroke:#5b7a99;fill:none}"
        ".wire{stroke:#b5602a;stroke-dasharray:5 4;fill:none}"
    )
    heads = "".join(
        f'<marker id="{i}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0,0L10,5L0,10z" fill="{c}"/></marker>'
        for i, c in (("i", "#5b7a99"), ("w", "#b5602a"))
    )
    body = "".join((*arrows, wire, *boxes))
    key = '<text class="s" x="40" y="425">full line: imports; broken line: the wire. Made by make docs.</text>'
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 920 440" role="img" aria-label="Folders and who '
        f'imports whom"><style>{style}</style><defs>{heads}</defs><rect width="920" height="440" fill="#fff"/>'
        f"{body}{key}</svg>\n"
    )


def _parts(folder: str) -> str:
    """The packages inside the folder."""
    inner = sorted({p.parent.name for p in (ROOT / folder).glob("*/*.py")} - {"versions"})
    return ", ".join(inner)


def _imports(files: list[Path]) -> set[str]:
    found: set[str] = set()
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
            elif isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
    return found


def _box(x: int, y: int, name: str, says: str, size: str) -> str:
    lines = [("n", name + "/"), ("s", says), ("s", size)]
    texts = "".join(
        f'<text class="{c}" x="{x + 14}" y="{y + 22 + n * 19}">{escape(t)}</text>' for n, (c, t) in enumerate(lines)
    )
    return f'<rect class="b" x="{x}" y="{y}" width="240" height="70" rx="6"/>{texts}'


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> str:
    (x1, y1), (x2, y2) = start, end
    if x1 == x2:
        down = 1 if y2 > y1 else 0
        path = f"M{x1 + 60},{y1 + 70 * down} L{x2 + 60},{y2 + 70 * (1 - down)}"
    else:
        right = 1 if x1 < x2 else 0
        path = f"M{x1 + 240 * right},{y1 + 45} L{x2 + 240 * (1 - right)},{y2 + 35}"
    return f'<path class="a" d="{path}" marker-end="url(#i)"/>'


def pages() -> dict[str, bytes]:
    """Every generated page by its path."""
    return {
        "docs/rules.md": rules_page().encode(),
        "docs/events.md": events_page().encode(),
        "docs/task.schema.json": orjson.dumps(task_schema(), option=orjson.OPT_INDENT_2) + b"\n",
        "docs/architecture.svg": picture().encode(),
    }


def main() -> int:
    """Write, or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = [path for path, made in pages().items() if not (ROOT / path).exists() or (ROOT / path).read_bytes() != made]
    for path in stale:
        if not check:
            (ROOT / path).write_bytes(pages()[path])
        print(f"{path}: {'out of date; run `make docs`' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
