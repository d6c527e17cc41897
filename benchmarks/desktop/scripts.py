"""Tasks for plain files, done by commands: the agent's hand is the tool ``shell``."""

from __future__ import annotations

import json
import random
import tarfile
from pathlib import Path

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
    make_gone,
    shell,
    text_of,
)  # fmt: skip


def copying(seed: int, draw: random.Random) -> Scene:
    """A file is copied into a folder (cp)."""
    name, other = (f"{one}.txt" for one in draw.sample(NAMES, 2))
    text, rest = phrase(draw), phrase(draw)
    ways = {
        "right": (shell(f"cp {name} backup/"),),
        "right-seen": (shell("ls"), shell(f"cp {name} backup/{name}"), shell("ls backup")),
        "right-late": (shell(f"cp {other} backup/{name}"), shell(f"cp {name} backup/{name}")),
        "near-other": (shell(f"cp {other} backup/"),),
        "near-content": (shell(f"cp {other} backup/{name}"),),
        "near-moved": (shell(f"mv {name} backup/"),),
        "near-name": (shell(f"cp {name} backup/{name}.old"),),
        "near-beside": (shell(f"cp {name} copy-{name}"),),
        "wrong-missing": (shell(f"cp {name} nowhere/"),),
        "wrong-nothing": (shell("ls"),),
    }
    said = f"Copy {name} into the folder backup, and keep {name} where it is."
    when = all_of(
        {"file_text": {"path": f"backup/{name}", "text": text}},
        {"none_of": {"of": [{"file_matches": {"path": f"{name}", "size": {"max": 0}}}]}},
    )

    def succeeded(folder: Path, answered: str) -> bool:
        return text_of(folder / "backup" / name) == text == text_of(folder / name)

    before = {name: text + "\n", other: rest + "\n", "backup/keep.txt": "keep\n"}
    return folder_scene("cp", "copying", seed, said, when, ways, before, succeeded)


def moving(seed: int, draw: random.Random) -> Scene:
    """A file is renamed (mv)."""
    one, two, three = draw.sample(NAMES, 3)
    text, rest = phrase(draw), phrase(draw)
    ways = {
        "right": (shell(f"mv {one}.txt {two}.txt"),),
        "right-seen": (shell("ls -l"), shell(f"mv {one}.txt {two}.txt"), shell("ls")),
        "right-back": (shell(f"mv {one}.txt x.txt"), shell(f"mv x.txt {two}.txt")),
        "near-copied": (shell(f"cp {one}.txt {two}.txt"),),
        "near-misspelt": (shell(f"mv {one}.txt {misspelt(two, draw)}.txt"),),
        "near-ending": (shell(f"mv {one}.txt {two}.text"),),
        "near-other": (shell(f"mv {three}.txt {two}.txt"),),
        "near-undone": (shell(f"mv {one}.txt {two}.txt"), shell(f"mv {two}.txt {one}.txt")),
        "wrong-deleted": (shell(f"rm {one}.txt"),),
        "wrong-nothing": (shell("ls"),),
    }
    said = f"Rename {one}.txt to {two}.txt."
    when = all_of(
        {"file_text": {"path": f"{two}.txt", "text": text}},
        {"none_of": {"of": [{"file_matches": {"path": f"{one}.txt"}}]}},
    )

    def succeeded(folder: Path, answered: str) -> bool:
        return text_of(folder / f"{two}.txt") == text and not (folder / f"{one}.txt").exists()

    before = {f"{one}.txt": text + "\n", f"{three}.txt": rest + "\n"}
    return folder_scene("mv", "moving", seed, said, when, ways, before, succeeded)


def removing(seed: int, draw: random.Random) -> Scene:
    """A file is deleted (rm)."""
    one, two, three = (f"{name}.log" for name in draw.sample(NAMES, 3))
    ways = {
        "right": (shell(f"rm {one}"),),
        "right-seen": (shell("ls"), shell(f"cat {one}"), shell(f"rm {one}"), shell("ls")),
        "near-other": (shell(f"rm {two}"),),
        "near-emptied": (shell(f": > {one}"),),
        "near-moved": (shell(f"mv {one} {one}.old"),),
        "near-both": (shell(f"rm {one} {three}"),),
        "wrong-all": (shell("rm *.log"),),
        "wrong-nothing": (shell("ls"),),
    }
    said = f"Delete the file {one} and nothing else."

    def succeeded(folder: Path, answered: str) -> bool:
        left = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
        return left == {two, three}

    before = {name: phrase(draw) + "\n" for name in (one, two, three)}
    when, probed = make_gone((before[two], before[three])), (one, two, three)
    return folder_scene("rm", "removing", seed, said, when, ways, before, succeeded, probed)


def substituting(seed: int, draw: random.Random) -> Scene:
    """A word of a file is exchanged (sed)."""
    name = f"{draw.choice(NAMES)}.txt"
    old, new, other = draw.sample(CITIES, 3)
    first, last = phrase(draw), phrase(draw)
    wanted = f"{first}\nThe meeting is in {new}\n{last}"
    ways = {
        "right": (shell(f"sed -i s/{old}/{new}/ {name}"),),
        "right-seen": (shell(f"cat {name}"), shell(f"sed -i s/{old}/{new}/ {name}")),
        "right-late": (
            shell(f"sed -i s/{old}/{other}/ {name}"), shell(f"sed -i s/{other}/{new}/ {name}"),
        ),
        "near-shown": (shell(f"sed s/{old}/{new}/ {name}"),),
        "near-misspelt": (shell(f"sed -i s/{old}/{misspelt(new, draw)}/ {name}"),),
        "near-line": (shell(f"sed -i 's/.*{old}.*/{new}/' {name}"),),
        "near-copy": (shell(f"sed s/{old}/{new}/ {name} > {name}.new"),),
        "wrong-word": (shell(f"sed -i s/{old}/{other}/ {name}"),),
        "wrong-way": (shell(f"sed -i s/{new}/{old}/ {name}"),),
    }  # fmt: skip
    said = f"In {name}, replace {old} by {new}."
    when = {"file_text": {"path": name, "text": wanted}}

    def succeeded(folder: Path, answered: str) -> bool:
        return text_of(folder / name) == wanted

    before = {name: f"{first}\nThe meeting is in {old}\n{last}\n"}
    return folder_scene("sed", "substituting", seed, said, when, ways, before, succeeded)


def creating(seed: int, draw: random.Random) -> Scene:
    """A file is written with one line (printf)."""
    name, wanted, other = f"{draw.choice(NAMES)}.md", phrase(draw), phrase(draw)
    ways = {
        "right": (shell(f"printf '%s\\n' '{wanted}' > {name}"),),
        "right-late": (shell(f"touch {name}"), shell(f"echo '{wanted}' > {name}")),
        "near-misspelt": (shell(f"echo '{misspelt(wanted, draw)}' > {name}"),),
        "near-name": (shell(f"echo '{wanted}' > {name.removesuffix('.md')}.txt"),),
        "near-more": (shell(f"echo '{wanted}' > {name}"), shell(f"echo '{other}' >> {name}")),
        "near-gone": (shell(f"echo '{wanted}' > {name}"), shell(f"rm {name}")),
        "near-empty": (shell(f"touch {name}"),),
        "wrong-text": (shell(f"echo '{other}' > {name}"),),
    }
    said = f'Create the file {name} with the text "{wanted}".'
    when = {"file_text": {"path": name, "text": wanted}}

    def succeeded(folder: Path, answered: str) -> bool:
        return text_of(folder / name) == wanted

    before = {"readme.txt": phrase(draw) + "\n"}
    return folder_scene("printf", "creating", seed, said, when, ways, before, succeeded)


def setting(seed: int, draw: random.Random) -> Scene:
    """One value of a JSON file is set (python)."""
    name = f"{draw.choice(NAMES)}.json"
    person, other = draw.sample(PEOPLE, 2)
    city = draw.choice(CITIES)

    def put(key: str, value: str, file: str = name) -> Act:
        code = (
            f"import json,pathlib as p; f=p.Path('{name}'); d=json.loads(f.read_text());"
            f" d['{key}']='{value}'; p.Path('{file}').write_text(json.dumps(d))"
        )
        return shell(f'python3 -c "{code}"')

    ways = {
        "right": (put("owner", person),),
        "right-seen": (shell(f"cat {name}"), put("owner", person), shell(f"cat {name}")),
        "right-late": (put("owner", other), put("owner", person)),
        "near-key": (put("name", person),),
        "near-misspelt": (put("owner", misspelt(person, draw)),),
        "near-copy": (put("owner", person, "copy.json"),),
        "near-undone": (put("owner", person), put("owner", other)),
        "near-lost": (shell(f'echo \'{{"owner": "{person}"}}\' > {name}'),),
        "wrong-value": (put("owner", other),),
        "wrong-nothing": (shell(f"cat {name}"),),
    }
    said = f'In {name}, set the owner to "{person}" and leave the rest as it is.'
    when = all_of(
        {"file_value": {"path": name, "at": ["owner"], "value": person}},
        {"file_value": {"path": name, "at": ["city"], "value": city}},
    )

    def succeeded(folder: Path, answered: str) -> bool:
        return holds_json(folder / name, {"owner": person, "city": city})

    before = {name: json.dumps({"owner": "nobody", "city": city}) + "\n"}
    return folder_scene("json", "setting", seed, said, when, ways, before, succeeded)


def packing(seed: int, draw: random.Random) -> Scene:
    """Two files are packed into an archive (tar)."""
    one, two, three = (f"{name}.csv" for name in draw.sample(NAMES, 3))
    pack = draw.choice(NAMES) + ".tar"
    ways = {
        "right": (shell(f"tar cf {pack} {one} {two}"),),
        "right-seen": (shell("ls"), shell(f"tar cf {pack} {one} {two}"), shell(f"tar tf {pack}")),
        "right-late": (shell(f"tar cf {pack} {one}"), shell(f"tar rf {pack} {two}")),
        "near-one": (shell(f"tar cf {pack} {one}"),),
        "near-all": (shell(f"tar cf {pack} *.csv"),),
        "near-other": (shell(f"tar cf {pack} {one} {three}"),),
        "near-name": (shell(f"tar cf {pack}.old {one} {two}"),),
        "wrong-empty": (shell(f"touch {pack}"),),
        "wrong-nothing": (shell("ls"),),
    }
    said = f"Pack {one} and {two} into the archive {pack}, and nothing else."
    when = {"archive_lists": {"path": pack, "names": [one, two], "only": True}}

    def succeeded(folder: Path, answered: str) -> bool:
        try:
            with tarfile.open(folder / pack) as archive:
                return sorted(archive.getnames()) == sorted((one, two))
        except (OSError, tarfile.TarError):
            return False

    before = {name: phrase(draw) + "\n" for name in (one, two, three)}
    return folder_scene("tar", "packing", seed, said, when, ways, before, succeeded)


KINDS = (copying, moving, removing, substituting, creating, setting, packing)
