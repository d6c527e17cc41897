"""Tasks for plain files, done by commands of a dozen kinds: the agent's hand is the
tool ``shell``."""

from __future__ import annotations

import json
import random
import sqlite3
import zipfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.desktop.editors import misspelt, phrase
from benchmarks.desktop.scene import (
    CITIES,
    NAMES,
    PEOPLE,
    Act,
    Scene,
    all_of,
    folder_scene,
    holds_json,
    is_there,
    none_of,
    shell,
    text_of,
)  # fmt: skip

LOOK = shell("ls -l")


def compressing(seed: int, draw: random.Random) -> Scene:
    """A file is compressed in its place (gzip)."""
    one, two = (f"{name}.csv" for name in draw.sample(NAMES, 2))
    ways = {
        "right": (shell(f"gzip {one}"),),
        "right-seen": (LOOK, shell(f"gzip -9 {one}"), LOOK),
        "right-late": (shell(f"gzip {two}"), shell(f"gunzip {two}.gz"), shell(f"gzip {one}")),
        "near-other": (shell(f"gzip {two}"),),
        "near-kept": (shell(f"gzip -k {one}"),),
        "near-name": (shell(f"gzip -c {one} > {one}.z"), shell(f"rm {one}")),
        "near-undone": (shell(f"gzip {one}"), shell(f"gunzip {one}.gz")),
        "near-both": (shell(f"gzip {one} {two}"),),
        "wrong-emptied": (shell(f": > {one}"),),
        "wrong-nothing": (LOOK,),
    }
    said = f"Compress {one} with gzip, so that {one}.gz takes its place, and leave {two} alone."
    when = all_of(is_there(f"{one}.gz"), none_of(is_there(one), is_there(f"{two}.gz")))

    def succeeded(folder: Path, answered: str) -> bool:
        return list_files(folder) == {f"{one}.gz", two}

    return folder_scene(
        "gzip", "compressing", seed, said, when, ways, draw_phrases(draw, one, two), succeeded
    )


def sorting(seed: int, draw: random.Random) -> Scene:
    """The lines of a file are sorted into another (sort)."""
    one, two = draw.sample(NAMES, 2)
    lines = draw.sample(PEOPLE, 5)
    if lines == sorted(lines):
        lines.reverse()
    name, out, wanted = f"{one}.txt", f"{two}.txt", "\n".join(sorted(lines))
    ways = {
        "right": (shell(f"sort {name} > {out}"),),
        "right-seen": (shell(f"cat {name}"), shell(f"sort {name} -o {out}"), shell(f"cat {out}")),
        "right-late": (shell(f"sort -r {name} > {out}"), shell(f"sort {name} > {out}")),
        "near-reverse": (shell(f"sort -r {name} > {out}"),),
        "near-copied": (shell(f"cp {name} {out}"),),
        "near-cut": (shell(f"sort {name} | head -n 4 > {out}"),),
        "near-printed": (shell(f"sort {name}"),),
        "near-name": (shell(f"sort {name} > {misspelt(two, draw)}.txt"),),
        "wrong-emptied": (shell(f": > {out}"),),
        "wrong-nothing": (shell(f"cat {name}"),),
    }
    said = f"Sort the lines of {name} by the alphabet and write them to {out}."
    return text_scene("sort", "sorting", seed, said, ways, {name: join_lines(lines)}, (out, wanted))


def arranging(seed: int, draw: random.Random) -> Scene:
    """Two files are moved into a new folder (mkdir, mv)."""
    one, two, three = (f"{name}.csv" for name in draw.sample(NAMES, 3))
    room = draw.choice(CITIES).lower()
    ways = {
        "right": (shell(f"mkdir {room}"), shell(f"mv {one} {two} {room}/")),
        "right-one": (shell(f"mkdir {room} && mv {one} {two} {room}/"),),
        "right-each": (
            shell(f"mkdir {room}"),
            shell(f"mv {one} {room}"),
            shell(f"mv {two} {room}"),
        ),
        "near-half": (shell(f"mkdir {room}"), shell(f"mv {one} {room}/")),
        "near-copied": (shell(f"mkdir {room}"), shell(f"cp {one} {two} {room}/")),
        "near-name": (shell(f"mkdir {room}s"), shell(f"mv {one} {two} {room}s/")),
        "near-all": (shell(f"mkdir {room}"), shell(f"mv *.csv {room}/")),
        "near-empty": (shell(f"mkdir {room}"),),
        "near-folder": (shell(f"mv {one} {two} {room}/"),),
        "wrong-deleted": (shell(f"rm {one} {two}"),),
        "wrong-nothing": (LOOK,),
    }
    said = f"Make a folder {room} and move {one} and {two} into it, and no other file."
    when = all_of(
        is_there(f"{room}/{one}"),
        is_there(f"{room}/{two}"),
        none_of(is_there(one), is_there(two), is_there(f"{room}/{three}")),
    )

    def succeeded(folder: Path, answered: str) -> bool:
        return list_files(folder) == {f"{room}/{one}", f"{room}/{two}", three}

    before = draw_phrases(draw, one, two, three)
    return folder_scene("mkdir", "arranging", seed, said, when, ways, before, succeeded)


def changing(seed: int, draw: random.Random) -> Scene:
    """One value of a JSON file is changed (jq)."""
    name = f"{draw.choice(NAMES)}.json"
    person = draw.choice(PEOPLE)
    old, new, other = draw.sample(CITIES, 3)

    def put(change: str, file: str = name) -> Act:
        return shell(f"jq '{change}' {name} > .new && mv .new {file}")

    ways = {
        "right": (put(f'.city="{new}"'),),
        "right-seen": (shell(f"jq . {name}"), put(f'.city="{new}"'), shell(f"jq .city {name}")),
        "right-late": (put(f'.city="{other}"'), put(f'.city="{new}"')),
        "near-printed": (shell(f"""jq '.city="{new}"' {name}"""),),
        "near-key": (put(f'.town="{new}"'),),
        "near-copy": (put(f'.city="{new}"', "copy.json"),),
        "near-lost": (put(f'{{city:"{new}"}}'),),
        "near-misspelt": (put(f'.city="{misspelt(new, draw)}"'),),
        "near-undone": (put(f'.city="{new}"'), put(f'.city="{old}"')),
        "wrong-value": (put(f'.city="{other}"'),),
        "wrong-nothing": (shell(f"jq . {name}"),),
    }
    said = f"Change the city in {name} from {old} to {new} and keep everything else."
    when = all_of(
        {"file_value": {"path": name, "at": ["city"], "value": new}},
        {"file_value": {"path": name, "at": ["owner"], "value": person}},
    )

    def succeeded(folder: Path, answered: str) -> bool:
        return holds_json(folder / name, {"owner": person, "city": new})

    before = {name: json.dumps({"owner": person, "city": old}) + "\n"}
    return folder_scene("jq", "changing", seed, said, when, ways, before, succeeded)


def building(seed: int, draw: random.Random) -> Scene:
    """A database is built from statements (sqlite3)."""
    one, two, three = draw.sample(NAMES, 3)
    source, stale, out = f"{one}.sql", f"{two}.sql", f"{three}.db"
    items = [(name, draw.randint(2, 90)) for name in draw.sample(CITIES, 4)]
    ways = {
        "right": (shell(f"sqlite3 {out} < {source}"),),
        "right-seen": (
            shell(f"cat {source}"), shell(f"sqlite3 {out} < {source}"),
            shell(f"sqlite3 {out} 'select count(*) from item'"),
        ),
        "right-late": (
            shell(f"sqlite3 {out} < {stale}"), shell(f"rm {out}"), shell(f"sqlite3 {out} < {source}"),
        ),
        "near-stale": (shell(f"sqlite3 {out} < {stale}"),),
        "near-name": (shell(f"sqlite3 {misspelt(three, draw)}.db < {source}"),),
        "near-less": (
            shell(f"sqlite3 {out} < {source}"),
            shell(f"sqlite3 {out} \"delete from item where name = '{items[0][0]}'\""),
        ),
        "near-twice": (shell(f"sqlite3 {out} < {source}"), shell(f"sqlite3 {out} < {source}")),
        "wrong-empty": (shell(f"touch {out}"),),
        "wrong-nothing": (shell(f"cat {source}"),),
    }  # fmt: skip
    said = f"Build the database {out} from the statements in {source}."
    row = {"name": items[0][0], "price": {"number": items[0][1]}}
    rows = {"min": len(items) + 1, "max": len(items) + 1}
    cells = {"path": out, "format": "sqlite", "sheet": "item", "row": row, "rows": rows}

    def succeeded(folder: Path, answered: str) -> bool:
        return _items(folder / out) == sorted(items)

    before = {source: _statements(items), stale: _statements(items[1:3])}
    return folder_scene(
        "sqlite3", "building", seed, said, {"table_cells": cells}, ways, before, succeeded
    )


def bundling(seed: int, draw: random.Random) -> Scene:
    """Two files are put into an archive (zip)."""
    one, two, three = (f"{name}.txt" for name in draw.sample(NAMES, 3))
    pack = f"{draw.choice(CITIES).lower()}.zip"
    ways = {
        "right": (shell(f"zip {pack} {one} {two}"),),
        "right-seen": (LOOK, shell(f"zip -q {pack} {one} {two}"), shell(f"unzip -l {pack}")),
        "right-late": (shell(f"zip {pack} {one}"), shell(f"zip {pack} {two}")),
        "near-one": (shell(f"zip {pack} {two}"),),
        "near-all": (shell(f"zip {pack} *.txt"),),
        "near-other": (shell(f"zip {pack} {one} {three}"),),
        "near-taken": (shell(f"zip {pack} {one} {two}"), shell(f"zip -d {pack} {one}")),
        "near-name": (shell(f"zip old-{pack} {one} {two}"),),
        "wrong-empty": (shell(f"touch {pack}"),),
        "wrong-nothing": (LOOK,),
    }
    said = f"Put {one} and {two} into the archive {pack}, and no other file."
    when = {"archive_lists": {"path": pack, "names": [one, two], "only": True}}

    def succeeded(folder: Path, answered: str) -> bool:
        try:
            with zipfile.ZipFile(folder / pack) as archive:
                return sorted(archive.namelist()) == sorted((one, two))
        except (OSError, zipfile.BadZipFile):
            return False

    before = draw_phrases(draw, one, two, three)
    return folder_scene("zip", "bundling", seed, said, when, ways, before, succeeded)


def joining(seed: int, draw: random.Random) -> Scene:
    """Two files become one (cat)."""
    one, two, three = (f"{name}.txt" for name in draw.sample(NAMES, 3))
    before = draw_phrases(draw, one, two)
    ways = {
        "right": (shell(f"cat {one} {two} > {three}"),),
        "right-each": (shell(f"cat {one} > {three}"), shell(f"cat {two} >> {three}")),
        "right-late": (shell(f"cat {two} {one} > {three}"), shell(f"cat {one} {two} > {three}")),
        "near-order": (shell(f"cat {two} {one} > {three}"),),
        "near-half": (shell(f"cat {one} > {three}"),),
        "near-twice": (shell(f"cat {one} {two} {two} > {three}"),),
        "near-printed": (shell(f"cat {one} {two}"),),
        "near-into": (shell(f"cat {two} >> {one}"),),
        "wrong-emptied": (shell(f": > {three}"),),
        "wrong-nothing": (LOOK,),
    }
    said = f"Join {one} and {two}, in this order, in a new file {three}."
    wanted = (before[one] + before[two]).strip()
    return text_scene("cat", "joining", seed, said, ways, before, (three, wanted))


def shortening(seed: int, draw: random.Random) -> Scene:
    """The first lines of a file are kept in another (head)."""
    one, two = (f"{name}.log" for name in draw.sample(NAMES, 2))
    lines = draw.sample([*PEOPLE, *CITIES], 7)
    count = draw.randint(2, 4)
    ways = {
        "right": (shell(f"head -n {count} {one} > {two}"),),
        "right-seen": (
            shell(f"cat {one}"),
            shell(f"head -n {count} {one} > {two}"),
            shell(f"cat {two}"),
        ),
        "right-late": (
            shell(f"tail -n {count} {one} > {two}"),
            shell(f"head -n {count} {one} > {two}"),
        ),
        "near-end": (shell(f"tail -n {count} {one} > {two}"),),
        "near-more": (shell(f"head -n {count + 1} {one} > {two}"),),
        "near-less": (shell(f"head -n {count - 1} {one} > {two}"),),
        "near-printed": (shell(f"head -n {count} {one}"),),
        "near-name": (shell(f"head -n {count} {one} > new-{two}"),),
        "wrong-all": (shell(f"cp {one} {two}"),),
        "wrong-nothing": (LOOK,),
    }
    said = f"Write the first {count} lines of {one} to {two}."
    wanted = "\n".join(lines[:count])
    return text_scene(
        "head", "shortening", seed, said, ways, {one: join_lines(lines)}, (two, wanted)
    )


def sweeping(seed: int, draw: random.Random) -> Scene:
    """Every file of an ending is deleted, in folders too (find)."""
    one, two, three, four = draw.sample(NAMES, 4)
    gone, kept = (f"{one}.tmp", f"old/{two}.tmp"), (f"{three}.txt", f"old/{four}.txt")
    ways = {
        "right": (shell("find . -name '*.tmp' -delete"),),
        "right-seen": (shell("find ."), shell("find . -name '*.tmp' -delete"), shell("find .")),
        "right-each": (shell(f"rm {gone[0]}"), shell(f"rm {gone[1]}")),
        "near-top": (shell("rm *.tmp"),),
        "near-deep": (shell("rm old/*.tmp"),),
        "near-folder": (shell("rm *.tmp"), shell("rm -r old")),
        "near-all": (shell("find . -type f -delete"),),
        "near-renamed": (
            shell(f"mv {gone[0]} {gone[0]}.old"),
            shell(f"mv {gone[1]} {gone[1]}.old"),
        ),
        "wrong-other": (shell("find . -name '*.txt' -delete"),),
        "wrong-nothing": (shell("find . -name '*.tmp'"),),
    }
    said = "Delete every file that ends in .tmp, also in the folder old, and keep all other files."
    before = draw_phrases(draw, *gone, *kept)
    answers: list[tuple[str, Any]] = [(f"p{at}", None) for at in range(2)]
    answers += [(f"p{at}", {"contains": before[path].strip()}) for at, path in enumerate(kept, 2)]
    when = all_of(
        *({"probe_answers": {"probe": probe, "value": value}} for probe, value in answers)
    )

    def succeeded(folder: Path, answered: str) -> bool:
        return list_files(folder) == set(kept)

    probed = (*gone, *kept)
    return folder_scene("find", "sweeping", seed, said, when, ways, before, succeeded, probed)


def thinning(seed: int, draw: random.Random) -> Scene:
    """Lines that repeat the one before are left out (uniq)."""
    one, two = (f"{name}.txt" for name in draw.sample(NAMES, 2))
    first, second, third = draw.sample(CITIES, 3)
    lines = [first, first, second, third, third, first]
    wanted = "\n".join([first, second, third, first])
    ways = {
        "right": (shell(f"uniq {one} > {two}"),),
        "right-seen": (shell(f"cat {one}"), shell(f"uniq {one} {two}"), shell(f"cat {two}")),
        "right-late": (shell(f"uniq -c {one} > {two}"), shell(f"uniq {one} > {two}")),
        "near-sorted": (shell(f"sort -u {one} > {two}"),),
        "near-counted": (shell(f"uniq -c {one} > {two}"),),
        "near-single": (shell(f"uniq -u {one} > {two}"),),
        "near-printed": (shell(f"uniq {one}"),),
        "near-name": (shell(f"uniq {one} > {two}.new"),),
        "wrong-copied": (shell(f"cp {one} {two}"),),
        "wrong-nothing": (shell(f"cat {one}"),),
    }
    said = f"Write {one} to {two} without the lines that repeat the line before them."
    return text_scene("uniq", "thinning", seed, said, ways, {one: join_lines(lines)}, (two, wanted))


def raising(seed: int, draw: random.Random) -> Scene:
    """A text is written in capital letters (tr)."""
    one, two = (f"{name}.txt" for name in draw.sample(NAMES, 2))
    text = phrase(draw)
    ways = {
        "right": (shell(f"tr a-z A-Z < {one} > {two}"),),
        "right-seen": (
            shell(f"cat {one}"),
            shell(f"tr a-z A-Z < {one} > {two}"),
            shell(f"cat {two}"),
        ),
        "right-late": (shell(f"cp {one} {two}"), shell(f"tr a-z A-Z < {one} > {two}")),
        "near-lower": (shell(f"tr A-Z a-z < {one} > {two}"),),
        "near-part": (shell(f"tr a-m A-M < {one} > {two}"),),
        "near-printed": (shell(f"tr a-z A-Z < {one}"),),
        "near-joined": (shell(f"tr a-z A-Z < {one} | tr -d ' ' > {two}"),),
        "near-name": (shell(f"tr a-z A-Z < {one} > {two}.new"),),
        "wrong-copied": (shell(f"cp {one} {two}"),),
        "wrong-nothing": (shell(f"cat {one}"),),
    }
    said = f"Write the text of {one} in capital letters to {two}."
    return text_scene("tr", "raising", seed, said, ways, {one: text + "\n"}, (two, text.upper()))


def text_scene(
    program: str,
    kind: str,
    seed: int,
    said: str,
    ways: dict[str, tuple[Act, ...]],
    before: dict[str, str],
    wanted: tuple[str, str],
) -> Scene:
    """Return a scene in which a file, the first of ``wanted``, must hold a text, the second."""
    path, text = wanted
    when = {"file_text": {"path": path, "text": text}}

    def succeeded(folder: Path, answered: str) -> bool:
        return text_of(folder / path) == text

    return folder_scene(program, kind, seed, said, when, ways, before, succeeded)


def draw_phrases(draw: random.Random, *paths: str) -> dict[str, str]:
    """Files with a few words each."""
    return {path: phrase(draw) + "\n" for path in paths}


def join_lines(lines: Sequence[str]) -> str:
    """A text of these lines, each with its end."""
    return "".join(f"{line}\n" for line in lines)


def list_files(folder: Path) -> set[str]:
    """The files below a folder, by their paths."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def _statements(items: Sequence[tuple[str, int]]) -> str:
    rows = "".join(f"insert into item values ('{name}', {price});\n" for name, price in items)
    return f"create table item (name text, price integer);\n{rows}"


def _items(file: Path) -> list[tuple[str, int]]:
    """What a database holds, sorted; nothing where there is none."""
    if not file.is_file():
        return []
    try:
        with closing(sqlite3.connect(file)) as connection:
            return sorted(connection.execute("select name, price from item"))
    except sqlite3.Error:
        return []


KINDS = {
    "gzip": compressing,
    "sort": sorting,
    "mkdir": arranging,
    "jq": changing,
    "sqlite3": building,
    "zip": bundling,
    "cat": joining,
    "head": shortening,
    "find": sweeping,
    "uniq": thinning,
    "tr": raising,
}
"""What makes a scene of each command."""
