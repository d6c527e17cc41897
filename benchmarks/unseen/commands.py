"""Tasks for plain files, done by commands that no recording of `benchmarks.scenes` or
`benchmarks.desktop` has: the agent's hand is the tool ``shell``."""

from __future__ import annotations

import base64
import difflib
import hashlib
import random
from pathlib import Path

from benchmarks.desktop.editors import misspelt, phrase
from benchmarks.desktop.record import Make
from benchmarks.desktop.scene import (
    CITIES,
    NAMES,
    PEOPLE,
    Scene,
    all_of,
    answer,
    folder_scene,
    is_there,
    none_of,
    shell,
    text_of,
)  # fmt: skip
from benchmarks.scenes.commands import (
    LOOK,
    draw_phrases,
    join_lines,
    text_scene,
)  # fmt: skip


def picking(seed: int, draw: random.Random) -> Scene:
    """A column of a table is written to a file (cut)."""
    one, two = draw.sample(NAMES, 2)
    table, out = f"{one}.csv", f"{two}.txt"
    people, cities = draw.sample(PEOPLE, 5), draw.sample(CITIES, 5)
    rows = [
        f"{who},{city},{draw.randint(20, 90)}" for who, city in zip(people, cities, strict=True)
    ]
    ways = {
        "right": (shell(f"cut -d, -f2 {table} > {out}"),),
        "right-seen": (
            shell(f"head -n 2 {table}"),
            shell(f"cut -d , -f 2 {table} > {out}"),
            shell(f"cat {out}"),
        ),
        "right-late": (
            shell(f"cut -f2 {table} > {out}"),
            shell(f"cat {out}"),
            shell(f"cut -d, -f2 {table} > {out}"),
        ),
        "near-separator": (shell(f"cut -f2 {table} > {out}"),),
        "near-column": (shell(f"cut -d, -f3 {table} > {out}"),),
        "near-more": (shell(f"head -n 2 {table}"), shell(f"cut -d, -f2- {table} > {out}")),
        "near-short": (shell(f"head -n 4 {table} | cut -d, -f2 > {out}"), shell(f"cat {out}")),
        "near-printed": (shell(f"cut -d, -f2 {table}"),),
        "near-lost": (
            shell(f"cat {table}"),
            shell(f"cut -d';' -f2 {table} > {out}"),
            shell(f"cat {out}"),
            shell(f"cut -d, -f1 {table} > {out}"),
            LOOK,
        ),
        "wrong-copied": (shell(f"cp {table} {out}"),),
        "wrong-nothing": (shell(f"cat {table}"),),
    }
    said = f"Write the second column of {table}, the cities, to {out}, one city a line."
    wanted = (out, "\n".join(cities))
    return text_scene("cut", "picking", seed, said, ways, {table: join_lines(rows)}, wanted)


def pairing(seed: int, draw: random.Random) -> Scene:
    """The lines of two files are written side by side (paste)."""
    one, two, three = draw.sample(NAMES, 3)
    left, right, out = f"{one}.txt", f"{two}.txt", f"{three}.csv"
    people, cities = draw.sample(PEOPLE, 4), draw.sample(CITIES, 4)
    ways = {
        "right": (shell(f"paste -d, {left} {right} > {out}"),),
        "right-seen": (
            shell(f"head {left} {right}"),
            shell(f"paste -d , {left} {right} > {out}"),
            shell(f"cat {out}"),
        ),
        "right-late": (
            shell(f"paste {left} {right} > {out}"),
            shell(f"paste -d, {left} {right} > {out}"),
        ),
        "near-tab": (shell(f"paste {left} {right} > {out}"),),
        "near-order": (shell(f"paste -d, {right} {left} > {out}"), shell(f"cat {out}")),
        "near-serial": (shell(f"paste -s -d, {left} {right} > {out}"),),
        "near-below": (shell(f"cat {left} {right} > {out}"),),
        "near-printed": (shell(f"cat {left}"), shell(f"paste -d, {left} {right}")),
        "near-emptied": (
            shell(f"paste -d, {left} {right} > {left}"),
            shell(f"cat {left}"),
            shell(f"mv {left} {out}"),
            LOOK,
        ),
        "wrong-half": (shell(f"cp {left} {out}"),),
        "wrong-nothing": (LOOK,),
    }
    said = (
        f"Write the lines of {left} and {right} side by side to {out}: first that of {left},"
        f" then a comma, then that of {right}."
    )
    pairs = "\n".join(f"{who},{city}" for who, city in zip(people, cities, strict=True))
    before = {left: join_lines(people), right: join_lines(cities)}
    return text_scene("paste", "pairing", seed, said, ways, before, (out, pairs))


def dividing(seed: int, draw: random.Random) -> Scene:
    """A file is divided into files of a few lines (split)."""
    name, count = f"{draw.choice(NAMES)}.txt", 3
    lines = draw.sample([*PEOPLE, *CITIES], 7)
    parts = {
        f"part-a{letter}": join_lines(lines[at : at + count])
        for letter, at in zip("abc", range(0, len(lines), count), strict=True)
    }
    first, second, third = parts
    cut = shell(f"split -l {count} {name} part-")
    ways = {
        "right": (cut,),
        "right-seen": (shell(f"wc -l {name}"), cut, shell("head part-*")),
        "right-late": (shell(f"split -l {count} {name}"), LOOK, shell("rm xa?"), cut),
        "right-each": (
            shell(f"head -n 3 {name} > {first}"),
            shell(f"sed -n 4,6p {name} > {second}"),
            shell(f"tail -n 1 {name} > {third}"),
        ),
        "near-bytes": (shell(f"split -n {count} {name} part-"),),
        "near-more": (shell(f"split -l {count + 1} {name} part-"), LOOK),
        "near-digits": (shell(f"split -d -l {count} {name} part-"),),
        "near-prefix": (shell(f"wc -l {name}"), shell(f"split -l {count} {name}"), LOOK),
        "near-first": (shell(f"head -n {count} {name} > {first}"),),
        "near-lost": (cut, LOOK, shell("head part-*"), shell(f"rm {third}"), LOOK),
        "wrong-copied": (shell(f"cp {name} {first}"),),
        "wrong-nothing": (shell(f"wc -l {name}"),),
    }
    said = (
        f"Split {name} into files of {count} lines each, the last with what is left:"
        f" {first}, {second} and {third}."
    )
    when = all_of(
        *(
            {"file_text": {"path": path, "format": "text", "text": text}}
            for path, text in parts.items()
        ),
    )

    def succeeded(folder: Path, answered: str) -> bool:
        return all(text_of(folder / path) == text.strip() for path, text in parts.items())

    before = {name: join_lines(lines)}
    return folder_scene("split", "dividing", seed, said, when, ways, before, succeeded)


def sharing(seed: int, draw: random.Random) -> Scene:
    """The lines that two sorted files have in common are written to a third (comm)."""
    one, two, out = (f"{name}.txt" for name in draw.sample(NAMES, 3))
    people = draw.sample(PEOPLE, 7)
    both = sorted(people[:3])
    left, right = sorted(people[:5]), sorted([*people[:3], *people[5:]])
    ways = {
        "right": (shell(f"comm -12 {one} {two} > {out}"),),
        "right-seen": (
            shell(f"cat {one}"), shell(f"cat {two}"), shell(f"comm -12 {one} {two} > {out}"),
        ),
        "right-late": (
            shell(f"comm {one} {two} > {out}"),
            shell(f"cat {out}"),
            shell(f"comm -1 -2 {one} {two} > {out}"),
        ),
        "near-first": (shell(f"comm -23 {one} {two} > {out}"),),
        "near-second": (shell(f"comm -13 {one} {two} > {out}"), shell(f"cat {out}")),
        "near-columns": (shell(f"comm {one} {two} > {out}"),),
        "near-printed": (shell(f"comm -12 {one} {two}"),),
        "near-joined": (shell(f"sort -u {one} {two} > {out}"),),
        "near-half": (
            shell(f"cat {one}"),
            shell(f"comm -1 {one} {two} > {out}"),
            shell(f"cat {out}"),
            shell(f"comm -2 {one} {two} > {out}"),
            shell(f"cat {out}"),
        ),
        "wrong-copied": (shell(f"cp {one} {out}"),),
        "wrong-nothing": (shell(f"cat {one} {two}"),),
    }  # fmt: skip
    said = f"Write the lines that stand in both {one} and {two}, which are sorted, to {out}."
    before = {one: join_lines(left), two: join_lines(right)}
    return text_scene("comm", "sharing", seed, said, ways, before, (out, "\n".join(both)))


def matching(seed: int, draw: random.Random) -> Scene:
    """Two tables are joined by their first columns (join)."""
    one, two, out = (f"{name}.csv" for name in draw.sample(NAMES, 3))
    people = sorted(draw.sample(PEOPLE, 5))
    city = dict(zip(people, draw.sample(CITIES, 5), strict=True))
    years = {who: draw.randint(20, 90) for who in people}
    alone = draw.choice(people)
    ways = {
        "right": (shell(f"join -t, {one} {two} > {out}"),),
        "right-seen": (
            shell(f"head -n 3 {one} {two}"),
            shell(f"join -t , {one} {two} > {out}"),
            shell(f"cat {out}"),
        ),
        "right-late": (
            shell(f"join {one} {two} > {out}"),
            LOOK,
            shell(f"join -t, -1 1 -2 1 {one} {two} > {out}"),
        ),
        "near-separator": (shell(f"join {one} {two} > {out}"),),
        "near-order": (shell(f"join -t, {two} {one} > {out}"),),
        "near-alone": (shell(f"join -t, -a 1 {one} {two} > {out}"), shell(f"cat {out}")),
        "near-pasted": (shell(f"paste -d, {one} {two} > {out}"), shell(f"cat {out}")),
        "near-unpaired": (shell(f"join -t, -v 1 {one} {two} > {out}"),),
        "near-printed": (shell(f"head -n 3 {one} {two}"), shell(f"join -t, {one} {two}")),
        "near-field": (
            shell(f"cat {one}"),
            shell(f"cat {two}"),
            shell(f"join -t, -1 2 -2 1 {one} {two} > {out}"),
            shell(f"cat {out}"),
        ),
        "wrong-copied": (shell(f"cp {two} {out}"),),
        "wrong-nothing": (shell(f"cat {one} {two}"),),
    }
    said = (
        f"Join {one} (name, city) and {two} (name, age) by the name and write name, city and age"
        f" of everybody who is in both to {out}, with commas between."
    )
    before = {
        one: join_lines([f"{who},{city[who]}" for who in people]),
        two: join_lines([f"{who},{years[who]}" for who in people if who != alone]),
    }
    wanted = "\n".join(f"{who},{city[who]},{years[who]}" for who in people if who != alone)
    return text_scene("join", "matching", seed, said, ways, before, (out, wanted))


def beheading(seed: int, draw: random.Random) -> Scene:
    """A table is written to another file without its heading (tail)."""
    one, two = (f"{name}.csv" for name in draw.sample(NAMES, 2))
    rows = [f"{who},{draw.randint(20, 90)}" for who in draw.sample(PEOPLE, 5)]
    ways = {
        "right": (shell(f"tail -n +2 {one} > {two}"),),
        "right-seen": (
            shell(f"cat {one}"), shell(f"tail -n +2 {one} > {two}"), shell(f"cat {two}"),
        ),
        "right-late": (shell(f"tail -n 2 {one} > {two}"), shell(f"tail -n +2 {one} > {two}")),
        "right-counted": (shell(f"wc -l {one}"), shell(f"tail -n {len(rows)} {one} > {two}")),
        "near-last": (shell(f"tail -n 2 {one} > {two}"),),
        "near-all": (shell(f"tail -n +1 {one} > {two}"), shell(f"head -n 2 {two}")),
        "near-less": (shell(f"tail -n +3 {one} > {two}"),),
        "near-heading": (shell(f"head -n 1 {one} > {two}"),),
        "near-printed": (shell(f"head -n 1 {one}"), shell(f"tail -n +2 {one}")),
        "near-name": (
            shell(f"cat {one}"),
            shell(f"tail -n +2 {one} > new-{one}"),
            shell(f"cat new-{one}"),
            LOOK,
        ),
        "wrong-copied": (shell(f"cp {one} {two}"),),
        "wrong-nothing": (shell(f"tail {one}"),),
    }  # fmt: skip
    said = f"Write the table {one} without its first line, the heading, to {two}."
    before = {one: join_lines(["name,age", *rows])}
    return text_scene("tail", "beheading", seed, said, ways, before, (two, "\n".join(rows)))


def placing(seed: int, draw: random.Random) -> Scene:
    """Two empty files are made in a folder (touch)."""
    one, two, kept = (f"{name}.txt" for name in draw.sample(NAMES, 3))
    room = draw.choice(CITIES).lower()
    first, second = f"{room}/{one}", f"{room}/{two}"
    ways = {
        "right": (shell(f"touch {first} {second}"),),
        "right-each": (shell(f"touch {first}"), shell(f"touch {second}"), shell(f"ls -l {room}")),
        "right-late": (shell(f"touch {one} {two}"), LOOK, shell(f"mv {one} {two} {room}/")),
        "right-changed": (
            shell(f"echo > {first}"), shell(f"rm {first}"), shell(f"touch {first} {second}"),
        ),
        "near-outside": (shell(f"touch {one} {two}"),),
        "near-half": (shell(f"touch {first}"), shell(f"ls -l {room}")),
        "near-filled": (shell(f"echo > {first}"), shell(f"echo > {second}")),
        "near-ending": (shell(f"touch {first[:-4]} {second[:-4]}"),),
        "near-folders": (shell(f"mkdir {first} {second}"), LOOK),
        "near-gone": (
            shell(f"ls {room}"),
            shell(f"touch {first}"),
            shell(f"touch {second}"),
            shell(f"rm {first}"),
            shell(f"ls {room}"),
        ),
        "wrong-kept": (shell(f"touch {room}/{kept}"),),
        "wrong-nothing": (shell(f"ls {room}"),),
    }  # fmt: skip
    said = f"Make the two empty files {one} and {two} in the folder {room}."
    empty = {"min": 0, "max": 0}
    when = all_of(*({"file_matches": {"path": path, "size": empty}} for path in (first, second)))

    def succeeded(folder: Path, answered: str) -> bool:
        made = (folder / first, folder / second)
        return all(path.is_file() and path.stat().st_size == 0 for path in made)

    before = draw_phrases(draw, f"{room}/{kept}")
    return folder_scene("touch", "placing", seed, said, when, ways, before, succeeded)


def summing(seed: int, draw: random.Random) -> Scene:
    """The numbers of a column are added up (awk)."""
    one, two = draw.sample(NAMES, 2)
    table, out = f"{one}.csv", f"{two}.txt"
    numbers = draw.sample(range(21, 99), 5)
    cities = draw.sample(CITIES, 5)
    rows = [f"{city},{number}" for city, number in zip(cities, numbers, strict=True)]
    add = f"awk -F, '{{sum += $2}} END {{print sum}}' {table}"
    ways = {
        "right": (shell(f"{add} > {out}"),),
        "right-seen": (shell(f"cat {table}"), shell(f"{add} > {out}"), shell(f"cat {out}")),
        "right-late": (
            shell(f"awk '{{sum += $2}} END {{print sum}}' {table} > {out}"),
            shell(f"cat {out}"),
            shell(f"{add} > {out}"),
        ),
        "near-separator": (shell(f"awk '{{sum += $2}} END {{print sum + 0}}' {table} > {out}"),),
        "near-heading": (
            shell(f"awk -F, 'NR > 1 {{sum += $2}} END {{print sum}}' {table} > {out}"),
            shell(f"cat {out}"),
        ),
        "near-last": (shell(f"awk -F, '{{sum = $2}} END {{print sum}}' {table} > {out}"),),
        "near-count": (shell(f"awk -F, '{{sum += 1}} END {{print sum}}' {table} > {out}"),),
        "near-running": (shell(f"awk -F, '{{sum += $2; print sum}}' {table} > {out}"),),
        "near-printed": (shell(f"head -n 3 {table}"), shell(add)),
        "near-column": (
            shell(f"cat {table}"),
            shell(f"awk -F, '{{sum += $1}} END {{print sum}}' {table} > {out}"),
            shell(f"cat {out}"),
            shell(f"awk -F, '{{sum += $3}} END {{print sum}}' {table} > {out}"),
            shell(f"cat {out}"),
        ),
        "wrong-guess": (shell(f"echo {sum(numbers) - 10} > {out}"),),
        "wrong-nothing": (shell(f"cat {table}"),),
    }
    said = f"Add up the second column of {table}, which has no heading, and write the sum to {out}."
    wanted = (out, str(sum(numbers)))
    return text_scene("awk", "summing", seed, said, ways, {table: join_lines(rows)}, wanted)


def decoding(seed: int, draw: random.Random) -> Scene:
    """A file in base64 is decoded (base64)."""
    one, two, three = draw.sample(NAMES, 3)
    code, other, out = f"{one}.b64", f"{two}.b64", f"{three}.txt"
    text, rest = phrase(draw), phrase(draw)
    ways = {
        "right": (shell(f"base64 -d {code} > {out}"),),
        "right-seen": (
            shell(f"cat {code}"), shell(f"base64 --decode {code} > {out}"), shell(f"cat {out}"),
        ),
        "right-late": (shell(f"base64 {code} > {out}"), shell(f"base64 -d < {code} > {out}")),
        "near-encoded": (shell(f"base64 {code} > {out}"),),
        "near-other": (shell(f"base64 -d {other} > {out}"), shell(f"cat {out}")),
        "near-printed": (shell(f"base64 -d {code}"),),
        "near-cut": (shell(f"base64 -d {code} | head -c 9 > {out}"),),
        "near-undone": (
            shell(f"cat {code}"),
            shell(f"base64 -d {code} > {out}"),
            shell(f"cat {out}"),
            shell(f"cp {code} {out}"),
        ),
        "near-name": (shell(f"base64 -d {code} > {one}.txt"), LOOK),
        "wrong-copied": (shell(f"cp {code} {out}"),),
        "wrong-nothing": (LOOK, shell(f"cat {code}")),
    }  # fmt: skip
    said = f"Decode {code}, which is in base64, and write the text to {out}."
    before = {code: _encode(text), other: _encode(rest)}
    return text_scene("base64", "decoding", seed, said, ways, before, (out, text))


def verifying(seed: int, draw: random.Random) -> Scene:
    """The file that is not as its checksum says is found (sha256sum)."""
    files = [f"{name}.txt" for name in draw.sample(NAMES, 3)]
    bad, other, third = draw.sample(files, 3)
    before = draw_phrases(draw, *sorted(files))
    told = before | {bad: before[bad].upper()}
    sums = {path: hashlib.sha256(told[path].encode()).hexdigest() for path in sorted(files)}
    before["sums.txt"] = join_lines([f"{digest}  {path}" for path, digest in sums.items()])
    check = shell("sha256sum -c sums.txt")
    ways = {
        "right": (check, answer(bad)),
        "right-seen": (shell("cat sums.txt"), shell(f"sha256sum {' '.join(files)}"), answer(bad)),
        "right-again": (LOOK, shell("sha256sum sums.txt"), check, answer(bad)),
        "near-other": (check, answer(other)),
        "near-each": (shell(f"sha256sum {other}"), shell("cat sums.txt"), answer(third)),
        "near-silent": (LOOK, shell("cat sums.txt"), check),
        "near-both": (check, answer(f"{bad} and {other}")),
        "near-word": (check, answer("FAILED")),
        "near-repaired": (
            check,
            shell(f"sha256sum {' '.join(files)} > sums.txt"),
            check,
            answer("All files are as they were"),
        ),
        "near-misspelt": (check, answer(f"{misspelt(bad.removesuffix('.txt'), draw)}.txt")),
        "wrong-guess": (LOOK, answer(third)),
        "wrong-nothing": (shell("cat sums.txt"), answer("done")),
    }
    said = (
        "One of the files in sums.txt is not as its checksum says. Find out which and answer"
        " with its name alone."
    )
    when = {"answer_matches": {"text": bad}}

    def succeeded(folder: Path, answered: str) -> bool:
        return answered.strip() == bad

    return folder_scene("sha256sum", "verifying", seed, said, when, ways, before, succeeded)


def patching(seed: int, draw: random.Random) -> Scene:
    """A file is changed as a patch says (patch)."""
    name = f"{draw.choice(NAMES)}.txt"
    *lines, first, second, third = draw.sample([*PEOPLE, *CITIES], 12)
    wanted = [*lines]
    wanted[1], wanted[7] = first, second
    fix, stale = "fix.patch", "old.patch"
    before = {
        name: join_lines(lines),
        fix: _write_patch(name, lines, wanted),
        stale: _write_patch(name, lines, [*lines[:4], third, *lines[5:]]),
    }
    do = shell(f"patch {name} {fix}")
    ways = {
        "right": (do,),
        "right-seen": (shell(f"cat {fix}"), shell(f"patch --dry-run {name} {fix}"), do),
        "right-late": (
            shell(f"patch {name} {stale}"), shell(f"patch -R {name} {stale}"), do,
        ),
        "right-hand": (
            shell(f"cat {fix}"),
            shell(f"sed -i 's/^{lines[1]}$/{first}/' {name}"),
            shell(f"sed -i 's/^{lines[7]}$/{second}/' {name}"),
        ),
        "near-stale": (shell(f"patch {name} {stale}"),),
        "near-tried": (shell(f"cat {fix}"), shell(f"patch --dry-run {name} {fix}")),
        "near-beside": (shell(f"patch -o new-{name} {name} {fix}"), LOOK),
        "near-undone": (do, shell(f"cat {name}"), shell(f"patch -R {name} {fix}"), LOOK),
        "near-half": (shell(f"cat {fix}"), shell(f"sed -i 's/^{lines[1]}$/{first}/' {name}")),
        "near-both": (do, shell(f"patch {name} {stale}"), shell(f"cat {name}")),
        "near-reverse": (shell(f"patch -f -R {name} {fix}"), LOOK,),
        "wrong-copied": (shell(f"cp {fix} {name}"),),
        "wrong-nothing": (shell(f"cat {fix}"),),
    }  # fmt: skip
    said = f"Apply {fix} to {name}, and no other patch."
    return text_scene("patch", "patching", seed, said, ways, before, (name, "\n".join(wanted)))


def founding(seed: int, draw: random.Random) -> Scene:
    """A repository is made and its author named (git)."""
    person, other = draw.sample(PEOPLE, 2)
    branch, wrong = draw.sample(("trunk", "work", "stable", "draft"), 2)
    begin, name = shell(f"git init -q -b {branch}"), shell(f"git config user.name {person}")
    config, head = ".git/config", f"ref: refs/heads/{branch}"
    ways = {
        "right": (begin, name),
        "right-seen": (begin, name, shell("git status"), shell("git config --local --list")),
        "right-late": (
            shell("git init -q"),
            shell(f"git config user.name {other}"),
            shell(f"git checkout -q -b {branch}"),
            name,
        ),
        "near-branch": (shell(f"git init -q -b {wrong}"), name),
        "near-everywhere": (begin, shell(f"git config --global user.name {person}")),
        "near-misspelt": (begin, shell(f"git config user.name {misspelt(person, draw)}")),
        "near-key": (begin, shell(f"git config user.email {person}"), shell("git status")),
        "near-below": (
            shell(f"git init -q -b {branch} {branch}"),
            shell(f"git -C {branch} config user.name {person}"),
        ),
        "near-unset": (
            begin,
            name,
            shell("git config --list"),
            shell("git config --unset user.name"),
            shell("git config --list"),
        ),
        "near-moved": (begin, name, shell(f"git checkout -q -b {wrong}"), shell("git status")),
        "near-default": (shell("git init -q"),),
        "wrong-gone": (begin, name, shell("rm -rf .git")),
        "wrong-nothing": (shell("git status"),),
    }
    said = (
        f"Make this folder a git repository on the branch {branch} and set user.name to {person}"
        " in it alone."
    )
    named = {"path": config, "format": "text", "unit": "line", "text": f"name = {person}"}
    when = all_of(
        {"file_text": {"path": ".git/HEAD", "format": "text", "text": head}}, {"file_text": named}
    )

    def succeeded(folder: Path, answered: str) -> bool:
        lines = [line.strip() for line in text_of(folder / config).splitlines()]
        return text_of(folder / ".git" / "HEAD") == head and f"name = {person}" in lines

    before = draw_phrases(draw, "readme.txt")
    return folder_scene("git", "founding", seed, said, when, ways, before, succeeded)


def counting(seed: int, draw: random.Random) -> Scene:
    """The number of a file's lines is written to another (wc)."""
    one, two = (f"{name}.txt" for name in draw.sample(NAMES, 2))
    lines = [phrase(draw) for _ in range(draw.randint(4, 8))]
    ways = {
        "right": (shell(f"wc -l < {one} > {two}"),),
        "right-seen": (shell(f"cat {one}"), shell(f"wc -l < {one} > {two}"), shell(f"cat {two}")),
        "right-late": (
            shell(f"wc -l {one} > {two}"),
            shell(f"cat {two}"),
            shell(f"wc -l < {one} > {two}"),
        ),
        "right-told": (shell(f"wc -l {one}"), shell(f"echo {len(lines)} > {two}")),
        "near-named": (shell(f"wc -l {one} > {two}"),),
        "near-words": (shell(f"wc -w < {one} > {two}"),),
        "near-bytes": (shell(f"wc -c < {one} > {two}"), shell(f"cat {two}")),
        "near-all": (shell(f"wc < {one} > {two}"),),
        "near-printed": (shell(f"cat {one}"), shell(f"wc -l < {one}")),
        "near-less": (
            shell(f"cat {one}"),
            shell(f"wc -l {one}"),
            shell(f"echo {len(lines) - 1} > {two}"),
            shell(f"cat {two}"),
        ),
        "near-into": (shell(f"wc -l < {one} >> {one}"),),
        "wrong-copied": (shell(f"cp {one} {two}"),),
        "wrong-nothing": (LOOK,),
    }
    said = f"Write the number of lines of {one} to {two}, the number alone."
    before = {one: join_lines(lines)}
    return text_scene("wc", "counting", seed, said, ways, before, (two, str(len(lines))))


def filtering(seed: int, draw: random.Random) -> Scene:
    """The lines with a word are written to another file (grep)."""
    one, two = draw.sample(NAMES, 2)
    log, out = f"{one}.log", f"{two}.txt"
    people = draw.sample(PEOPLE, 6)
    city, other = draw.sample(CITIES, 2)
    places = [city, other, city, city.lower(), other, city]
    lines = [f"{who} wrote from {place} today" for who, place in zip(people, places, strict=True)]
    wanted = "\n".join(line for line in lines if city in line)
    ways = {
        "right": (shell(f"grep {city} {log} > {out}"),),
        "right-seen": (
            shell(f"cat {log}"),
            shell(f"grep -c {city} {log}"),
            shell(f"grep {city} {log} > {out}"),
        ),
        "right-late": (
            shell(f"grep -n {city} {log} > {out}"),
            shell(f"cat {out}"),
            shell(f"grep {city} {log} > {out}"),
        ),
        "near-numbered": (shell(f"grep -n {city} {log} > {out}"),),
        "near-case": (shell(f"grep -i {city} {log} > {out}"), shell(f"cat {out}")),
        "near-inverted": (shell(f"grep -v {city} {log} > {out}"),),
        "near-count": (shell(f"grep -c {city} {log} > {out}"),),
        "near-first": (shell(f"grep -m 1 {city} {log} > {out}"), shell(f"cat {out}")),
        "near-printed": (shell(f"grep {city} {log}"),),
        "near-lost": (
            shell(f"cat {log}"),
            shell(f"grep {city} {log} > {out}"),
            shell(f"cat {out}"),
            shell(f"grep {city} {out} | tail -n 2 > .new && mv .new {out}"),
            LOOK,
        ),
        "wrong-other": (shell(f"grep {other} {log} > {out}"),),
        "wrong-nothing": (shell(f"head {log}"),),
    }
    said = f"Write the lines of {log} with the word {city}, with a capital letter, to {out}."
    return text_scene(
        "grep", "filtering", seed, said, ways, {log: join_lines(lines)}, (out, wanted)
    )


def emptying(seed: int, draw: random.Random) -> Scene:
    """A file is emptied and kept (truncate)."""
    one, two = (f"{name}.log" for name in draw.sample(NAMES, 2))
    before = {path: join_lines([phrase(draw) for _ in range(3)]) for path in (one, two)}
    ways = {
        "right": (shell(f"truncate -s 0 {one}"),),
        "right-seen": (LOOK, shell(f"truncate --size=0 {one}"), LOOK),
        "right-late": (shell(f"truncate -s 10 {one}"), LOOK, shell(f"truncate -s 0 {one}")),
        "right-other": (shell(f": > {one}"), LOOK),
        "near-other": (shell(f"truncate -s 0 {two}"),),
        "near-both": (LOOK, shell("truncate -s 0 *.log"), LOOK),
        "near-deleted": (shell(f"rm {one}"),),
        "near-part": (shell(f"truncate -s 10 {one}"), LOOK),
        "near-line": (shell(f"echo > {one}"),),
        "near-undone": (
            shell(f"cp {one} {one}.old"),
            shell(f"truncate -s 0 {one}"),
            LOOK,
            shell(f"mv {one}.old {one}"),
            LOOK,
        ),
        "near-moved": (shell(f"mv {one} {one}.old"), LOOK),
        "wrong-more": (shell(f"truncate -s +20 {one}"),),
        "wrong-nothing": (LOOK,),
    }
    said = f"Empty the file {one}, so that it has 0 bytes, but keep it, and leave {two} alone."
    empty = {"min": 0, "max": 0}
    when = all_of(
        {"file_matches": {"path": one, "size": empty}},
        none_of({"file_matches": {"path": two, "size": empty}}),
        is_there(two),
    )

    def succeeded(folder: Path, answered: str) -> bool:
        is_empty = (folder / one).is_file() and not text_of(folder / one)
        return is_empty and (folder / one).stat().st_size == 0 and bool(text_of(folder / two))

    return folder_scene("truncate", "emptying", seed, said, when, ways, before, succeeded)


def noting(seed: int, draw: random.Random) -> Scene:
    """A line is added to two files at once (tee)."""
    one, two = (f"{name}.txt" for name in draw.sample(NAMES, 2))
    before = draw_phrases(draw, one, two)
    wanted, other = phrase(draw), phrase(draw)
    say = f"echo '{wanted}'"
    ways = {
        "right": (shell(f"{say} | tee -a {one} {two}"),),
        "right-seen": (LOOK, shell(f"{say} | tee --append {one} {two}"), shell(f"cat {one} {two}")),
        "right-each": (shell(f"{say} | tee -a {one}"), shell(f"{say} | tee -a {two}")),
        "right-late": (
            shell(f"{say} >> {one}"),
            shell(f"tail -n 1 {one} {two}"),
            shell(f"{say} >> {two}"),
        ),
        "near-replaced": (shell(f"{say} | tee {one} {two}"),),
        "near-half": (shell(f"{say} | tee -a {one}"), shell(f"cat {one}")),
        "near-mixed": (shell(f"{say} | tee -a {one} > {two}"),),
        "near-twice": (
            shell(f"{say} | tee -a {one} {two}"),
            shell(f"cat {one} {two}"),
            shell(f"{say} | tee -a {one} {two}"),
            shell(f"cat {one} {two}"),
        ),
        "near-misspelt": (shell(f"echo '{misspelt(wanted, draw)}' | tee -a {one} {two}"),),
        "near-printed": (shell(f"cat {one} {two}"), shell(say)),
        "wrong-text": (shell(f"echo '{other}' | tee -a {one} {two}"),),
        "wrong-nothing": (shell(f"cat {one} {two}"),),
    }
    said = f'Add the line "{wanted}" to the end of both {one} and {two}.'
    texts = {path: f"{before[path].strip()}\n{wanted}" for path in (one, two)}
    when = all_of(*({"file_text": {"path": path, "text": text}} for path, text in texts.items()))

    def succeeded(folder: Path, answered: str) -> bool:
        return all(text_of(folder / path) == text for path, text in texts.items())

    return folder_scene("tee", "noting", seed, said, when, ways, before, succeeded)


def comparing(seed: int, draw: random.Random) -> Scene:
    """What differs between two files is written to a third (diff)."""
    one, two, out = (f"{name}.txt" for name in draw.sample(NAMES, 3))
    *lines, new = draw.sample([*PEOPLE, *CITIES], 6)
    at = draw.randrange(1, 4)
    wanted = f"{at + 1}c{at + 1}\n< {lines[at]}\n---\n> {new}"
    ways = {
        "right": (shell(f"diff {one} {two} > {out}"),),
        "right-seen": (
            shell(f"cat {one}"),
            shell(f"cat {two}"),
            shell(f"diff {one} {two} > {out}"),
            shell(f"cat {out}"),
        ),
        "right-late": (shell(f"diff -u {one} {two} > {out}"), shell(f"diff {one} {two} > {out}")),
        "near-unified": (shell(f"diff -u {one} {two} > {out}"),),
        "near-order": (shell(f"diff {two} {one} > {out}"), shell(f"cat {out}")),
        "near-brief": (shell(f"diff -q {one} {two} > {out}"),),
        "near-beside": (shell(f"diff -y {one} {two} > {out}"), shell(f"cat {out}")),
        "near-printed": (shell(f"diff {one} {two}"),),
        "near-same": (
            shell(f"diff {one} {two}"),
            shell(f"cp {one} {out}"),
            shell(f"diff {one} {out} > {out}"),
            shell(f"cat {out}"),
            LOOK,
        ),
        "near-into": (shell(f"diff {one} {two} > {two}"), LOOK),
        "wrong-joined": (shell(f"cat {one} {two} > {out}"),),
        "wrong-nothing": (shell(f"cat {one} {two}"),),
    }
    said = f"Write what differs between {one} and {two}, as a plain diff in this order, to {out}."
    before = {one: join_lines(lines), two: join_lines([*lines[:at], new, *lines[at + 1 :]])}
    return text_scene("diff", "comparing", seed, said, ways, before, (out, wanted))


def reversing(seed: int, draw: random.Random) -> Scene:
    """The lines of a file are written in the opposite order (tac)."""
    one, two = (f"{name}.txt" for name in draw.sample(NAMES, 2))
    low, *lines = sorted(draw.sample([*PEOPLE, *CITIES], 5))
    draw.shuffle(lines)
    lines.insert(2, low)
    ways = {
        "right": (shell(f"tac {one} > {two}"),),
        "right-seen": (shell(f"cat {one}"), shell(f"tac {one} > {two}"), shell(f"cat {two}")),
        "right-late": (
            shell(f"rev {one} > {two}"),
            shell(f"cat {two}"),
            shell(f"tac {one} > {two}"),
        ),
        "near-sorted": (shell(f"sort -r {one} > {two}"),),
        "near-letters": (shell(f"rev {one} > {two}"), shell(f"cat {two}")),
        "near-printed": (shell(f"tac {one}"),),
        "near-emptied": (shell(f"tac {one} > {one}"), LOOK, shell(f"mv {one} {two}"), LOOK),
        "near-twice": (shell(f"tac {one} | tac > {two}"),),
        "near-short": (shell(f"cat {one}"), shell(f"head -n 4 {one} | tac > {two}")),
        "wrong-copied": (shell(f"cp {one} {two}"),),
        "wrong-nothing": (shell(f"cat {one}"),),
    }
    said = f"Write the lines of {one} to {two} from the last to the first."
    wanted = (two, "\n".join(reversed(lines)))
    return text_scene("tac", "reversing", seed, said, ways, {one: join_lines(lines)}, wanted)


def _encode(text: str) -> str:
    """The text in base64, as a file holds it."""
    return base64.b64encode(f"{text}\n".encode()).decode() + "\n"


def _write_patch(name: str, old: list[str], new: list[str]) -> str:
    """The change of a file's lines as a patch."""
    return join_lines(list(difflib.unified_diff(old, new, name, name, lineterm="", n=1)))


KINDS: dict[str, Make] = {
    "cut": picking,
    "paste": pairing,
    "split": dividing,
    "comm": sharing,
    "join": matching,
    "tail": beheading,
    "touch": placing,
    "awk": summing,
    "base64": decoding,
    "sha256sum": verifying,
    "patch": patching,
    "git": founding,
    "wc": counting,
    "grep": filtering,
    "truncate": emptying,
    "tee": noting,
    "diff": comparing,
    "tac": reversing,
}
"""What makes a scene of each command."""
