"""docs/events.md: every kind of event with its fields, its source and an example from a recording
of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from detectors.model.kinds import KINDS, SOURCES
from detectors.model.wire_versions import FIELDS_1_TO_2, KINDS_1_TO_2

ROOT = Path(__file__).parent.parent
MAX_CHARACTERS = 60
"""Characters of any one text in an example."""

INTRO = """# Events

This page lists every kind of event that a log can contain, by source. A field marked `?` may be
missing; `tab` and `frame` are CDP's target and frame ids. `baseline: true` on any event means that
the source found this state when it attached; it earns nothing. An *element* is `{role, name,
tag, id?, attr_name?, type?, text?}`: ARIA role, accessible name, tag, id, HTML name, input
type, own visible text. A *widget* is `{role, name, app, path, id?, text?, value?, states?}`:
AT-SPI's role name and accessible name, the application, the child indices from the application
down. `masked` lists the fields in which the daemon replaced a secret by a mask.

Kinds marked *asked* are reported only if a rule of the task subscribes to them, or the daemon was
started with `--also KIND`. Examples are from recordings that the tests made with real programs;
long texts in them are cut.
"""

OLDER = """
## Names of wire version 1

The header of a segment names its wire version. Recordings, journals and stored segments of version
1 are read as if they had the names of today; their bytes and digests stay. A new task that uses an
older name is refused with the new one in the message; a task that was registered before is read.
"""


def examples() -> dict[str, dict[str, Any]]:
    """For each kind the fullest of its recorded observations, the first of equals."""
    best: dict[str, dict[str, Any]] = {}
    for path in sorted((ROOT / "tests").rglob("golden/*.seen.jsonl")):
        for line in path.read_bytes().splitlines():
            kind, data = orjson.loads(line)
            if kind not in best or len(data) > len(best[kind]):
                best[kind] = data
    return best


def events_page() -> str:
    """The text of docs/events.md, from the kinds and their examples."""
    found = examples()
    out = [INTRO]
    for source in SOURCES:
        out.append(f"\n## {source}\n")
        for name, kind in KINDS.items():
            if kind.source != source:
                continue
            fields = ", ".join(f"`{field}`" for field in kind.fields)
            asked = " *Asked.*" if kind.asked else ""
            out.append(f"\n### {name}\n\n{kind.says}{asked}\n\nFields: {fields}\n")
            if name in found:
                out.append(f"\n```json\n{orjson.dumps(_short(found[name])).decode()}\n```\n")
    return "".join([*out, *_older_names()])


def _older_names() -> Iterator[str]:
    """Yield what kinds and fields were called in wire version 1."""
    yield OLDER
    yield "\n| version 1 | now |\n| --- | --- |\n"
    for old, new in KINDS_1_TO_2.items():
        yield f"| `{old}` | `{new}` |\n"
    for kind, names in FIELDS_1_TO_2.items():
        for old, new in names.items():
            if kind in KINDS and new in {field.removesuffix("?") for field in KINDS[kind].fields}:
                yield f"| `{old}` of `{kind}` | `{new}` |\n"


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= MAX_CHARACTERS else value[: MAX_CHARACTERS - 1] + "…"
    if isinstance(value, list):
        return [_short(item) for item in value[:4]] + (["…"] if len(value) > 4 else [])
    if isinstance(value, dict):
        return {name: _short(item) for name, item in value.items()}
    return value
