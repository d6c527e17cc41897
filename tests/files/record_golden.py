"""Records what real programs do to files in short scenes, and what the fold makes of it.

Run by hand after a change that is meant to change the output: ``python -m
tests.files.record_golden``. Look at the difference before committing it. ``NAME.raw.jsonl`` holds
what the fold was told: its calls.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from agentd.sources.files import FilesSource
from agentd.sources.files.facts import FileFacts, FileGlance
from agentd.sources.files.fold import Do, FileObservation, Raw, RootFold
from tests.cdp.site import Answer, Site
from tests.files.inside import FEW_WATCHES, enter
from tests.files.watching import Watch
from tests.support.chromium import Chromium
from tests.support.stack import chromium_preferences

GOLDEN = Path(__file__).with_name("golden")
CALLS: dict[str, Callable[..., Any] | None] = {
    "present": FileFacts, "present_folder": None, "notice": Raw, "seen": FileGlance, "looked": FileFacts,
    "unsettled": FileGlance,
}  # fmt: skip
"""The fold's calls, as recordings name them, and what their one structured argument is."""
METHODS = {"seen": "reconcile", "looked": "finish_look", "unsettled": "finish_unsettled"}
"""Calls that are called otherwise in a recording than in the code."""


def replay(raw: list[list[Any]]) -> list[list[Any]]:
    """What the fold makes of a recording."""
    fold, seen = RootFold(), []
    for name, *args in raw:
        make = CALLS[name]
        args = [make(*arg) if isinstance(arg, list) and make is not None else arg for arg in args]
        done: list[Do] = getattr(fold, METHODS.get(name, name))(*args) or []
        seen += [
            [do.kind, {"root": "home", **do.data}] for do in done if isinstance(do, FileObservation)
        ]
    return seen


def sh(command: str, folder: Path) -> None:
    subprocess.run(["sh", "-ec", command], cwd=folder, check=True, env=os.environ | {"LC_ALL": "C"})


async def editing(root: Path) -> None:
    """GLib's save as mousepad and gedit do it, sed, vim and the shell; links, folders,
    permissions."""
    sh("mkdir old && echo 'one,1' > old/table.csv && echo draft > letter.txt", root)
    async with Watch(root, FilesSource({"home": root})) as watch:
        for command in (
            "echo second | gio save letter.txt",
            "echo '<!doctype html><p>new' | gio save page.html",
            "sed -i s/one/two/ old/table.csv",
            "vim -u NONE -es -c '%s/second/third/' -c 'set backup' -c wq letter.txt",
            "echo 'in place' > letter.txt",
            "printf 'import os\\n' > tool.py",
            "chmod 755 tool.py",
            "ln -s ../elsewhere pointer",
            "ln tool.py again.py",
            "mkdir -p new/deep",
            "cp old/table.csv new/deep/",
            "mv old older",
            "mv letter.txt new/post.txt",
            "rm -r new",
            ": > empty",
            "ln -sf /nowhere pointer",
        ):
            sh(command, root)
            await watch.fenced()
            await asyncio.sleep(0.3)  # fixed: what nobody closes rests before it is read


async def downloading(root: Path) -> None:
    """A file that Chromium saves, on its own, and one that is left empty."""
    with Site() as site, tempfile.TemporaryDirectory() as profile:
        headers = (
            ("content-type", "text/csv"),
            ("content-disposition", "attachment; filename=report.csv"),
        )
        site.page("/report", Answer("name,qty\nlamp,2\n", headers=headers))
        chromium_preferences(Path(profile), root)
        async with Watch(root, FilesSource({"home": root})) as watch:
            with Chromium(profile=Path(profile), url=site.url + "/report"):
                await watch.until(lambda: ("file.created", "report.csv") in watch.changes)


async def passing(root: Path) -> None:
    """Files that are gone before anybody can look at them."""
    async with Watch(root, FilesSource({"home": root})) as watch:
        sh("for n in 1 2 3 4 5 6 7 8; do echo secret > note$n.txt; rm note$n.txt; done", root)
        await watch.fenced()


async def holding(root: Path) -> None:
    """A download that is still being written when the episode closes."""
    async with Watch(root, FilesSource({"home": root})) as watch:
        with (root / "report.csv.part").open("w") as file:
            file.write("name,qty\n")
            file.flush()
            await watch.fenced()
            await watch.source.before_seal(0, closing=True)


async def record(name: str, scene: Callable[[Path], Any]) -> None:
    """Run one scene and write its two files; the fold calls itself, and only what it is asked from
    outside counts."""
    raw: list[list[Any]] = []
    plain = {call: getattr(RootFold, METHODS.get(call, call)) for call in CALLS}
    inside = False

    def teller(call: str) -> Callable[..., Any]:
        def tell(self: RootFold, *args: Any) -> Any:
            nonlocal inside
            if inside:
                return plain[call](self, *args)
            raw.append([call, *args])
            inside = True
            try:
                return plain[call](self, *args)
            finally:
                inside = False

        return tell

    for call in CALLS:
        setattr(RootFold, METHODS.get(call, call), teller(call))
    try:
        with tempfile.TemporaryDirectory() as folder:
            await scene(Path(folder))
    finally:
        for call, method in plain.items():
            setattr(RootFold, METHODS.get(call, call), method)
    raw = orjson.loads(orjson.dumps(raw, default=list))
    write(GOLDEN / f"{name}.raw.jsonl", raw)
    write(GOLDEN / f"{name}.seen.jsonl", replay(raw))


def write(path: Path, rows: list[Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    print(path, len(rows))


def starve() -> None:
    """What is said where the kernel gives too few watches; of this only the alarms."""
    with tempfile.TemporaryDirectory() as folder:
        enter("few_watches", Path(folder), before=FEW_WATCHES)
        said = (Path(folder) / "said.jsonl").read_bytes().splitlines()
        write(GOLDEN / "few-watches.seen.jsonl", [orjson.loads(line) for line in said])


async def main() -> None:
    for scene in (editing, downloading, passing, holding):
        await record(scene.__name__, scene)


if __name__ == "__main__":
    asyncio.run(main())
    starve()
