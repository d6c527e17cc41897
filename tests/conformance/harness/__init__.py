"""Each runs as ``python -m tests.conformance.harness.NAME MODE SITE FOLDER``.

MODE is scene: the whole scene, watched, into FOLDER/session.mrec. Or watched, alone,
watched-silent, alone-silent: the outcome of a short session, printed as JSON; silent: the harness
listens to no dialog.
"""

from __future__ import annotations

from pathlib import Path

EXECUTABLE = "/usr/bin/chromium"
LEAN = str(Path(__file__).parents[2] / "support/chromium-lean")
ARGS = (
    "--no-sandbox",
    "--site-per-process",
    "--disable-background-networking",
    "--disable-component-update",
)


def saved(name: str, path: Path) -> list[str]:
    """A download as the outcome tells it: its name and its content."""
    return [name, path.read_text()]
