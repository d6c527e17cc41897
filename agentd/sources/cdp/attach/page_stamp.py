"""How a bundle is known to be made of the page scripts that stand beside it.

tools/build_page_script.py runs this file by its path, where the package is not installed: it
imports the standard library alone.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

MARK = "// of page scripts "


def stamp(folder: Path) -> str:
    """Return the line that a bundle of the scripts in ``folder`` bears, without its end."""
    digest = hashlib.sha256()
    for path in sorted([*folder.glob("*.js"), folder / "dom_names.json"]):
        if not path.name.endswith(".bundle.js"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return f"{MARK}{digest.hexdigest()}"


def is_outdated(bundle: str, folder: Path) -> bool:
    """Whether the text of a ``bundle`` bears the stamp of other scripts than those in ``folder``;
    false where it bears none."""
    borne = next((line for line in bundle.splitlines()[:2] if line.startswith(MARK)), None)
    return borne is not None and borne != stamp(folder)
