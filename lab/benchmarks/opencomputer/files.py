"""Checks of files: gedit, PCManFM, GIMP, Inkscape, drawio, VLC."""

from __future__ import annotations

import re

from detectors.model.json_value import JsonObject, JsonValue
from lab.benchmarks.opencomputer.base import (
    Readers,
    TaskOf,
    Told,
    UntoldCheckError,
    UpstreamCheck,
    Way,
    apply_truth,
    below_home,
    contains,
    equals,
    exists,
    facts,
    has_text,
    in_file,
    require_true,
    truth,
    whole_number,
    without,
)

MAX_PAGES = 16
"""Pages of a diagram among which something is looked for."""


def file_exists(check: UpstreamCheck, task: TaskOf) -> Told:
    """A file is there that was not, or is not there."""
    path = check.word(1)
    if not truth(check):
        return _ask_command(("test", "!", "-e", path))
    if "." not in path.rpartition("/")[2]:
        return _ask_command(("test", "-e", path))
    return exists(path, task)


def _ask_command(argv: tuple[str, ...], out: str | None = None) -> Told:
    """A probe's command ends well, or prints exactly this."""
    value: JsonObject = {"path": "exit", "value": 0}
    if out is not None:
        value = {"path": "out", "value": out}
    return Told({"probe_answers": value}, argv=argv)


def directory_exists(check: UpstreamCheck, task: TaskOf) -> Told:
    """A folder is there; theirs takes a file for one."""
    require_true(check)
    return _ask_command(("test", "-d", check.word(1)))


def _contains(check: UpstreamCheck, *, any_case: bool, way: Way = "told") -> Told:
    path = below_home(check.word(1))
    when = has_text(path, contains(check.words_from(2), any_case=any_case))
    return Told(apply_truth(check, path, when, "text"), way)


def gedit_contains(check: UpstreamCheck, task: TaskOf) -> Told:
    """A text file has this in it, in the same case."""
    return _contains(check, any_case=False)


def pcmanfm_contains(check: UpstreamCheck, task: TaskOf) -> Told:
    """A file has this in it; of several words theirs looks for the first."""
    return _contains(check, any_case=True, way="as meant" if len(check.words) > 3 else "told")


def line(check: UpstreamCheck, task: TaskOf) -> Told:
    """The line of that number, from 1, says this and no more."""
    path = below_home(check.word(1))
    number = whole_number(check.word(2))
    return Told(
        apply_truth(
            check, path, has_text(path, check.words_from(3), unit="line", number=number), "text"
        )
    )


def line_count(check: UpstreamCheck, task: TaskOf) -> Told:
    """A file has so many lines."""
    path = below_home(check.word(1))
    when = facts(path, {"lines": whole_number(check.word(2))}, "text")
    return Told(apply_truth(check, path, when, "text"))


def lines_at_least(check: UpstreamCheck, task: TaskOf) -> Told:
    """A file has at least so many lines, by an expression."""
    found = re.fullmatch(r"result\.get\('line_count', 0\) >= (\d+)", check.expression or "")
    if found is None:
        raise UntoldCheckError(f"an expression of its own: {check.expression}")
    return Told(facts(below_home(check.word(1)), {"lines": {"min": int(found[1])}}, "text"))


_IN_CONTENT = re.compile(r"'([^'\\]+)' (not )?in result\.get\('content', ?''\)")
_LINES = {
    "all(not line.startswith('#') for line in result.get('content', '').strip().split('\\n'))": (
        "#.*",
        False,
    ),
    "result.get('content', '').lstrip().startswith('\"\"\"')": ('(?s)\\s*""".*', True),
}
"""Expressions over a whole file, the pattern of what they ask for, and whether it must be there."""


def content(check: UpstreamCheck, task: TaskOf) -> Told:
    """A file does not have something in it, by an expression; theirs holds of a missing
    file."""
    path = below_home(check.word(1))
    expression = check.expression or ""
    if expression in _LINES:
        pattern, is_there = _LINES[expression]
        unit = "whole" if is_there else "line"
        says = has_text(path, {"regex": pattern}, unit=unit)
    else:
        match = _IN_CONTENT.fullmatch(expression)
        if match is None:
            raise UntoldCheckError(f"an expression of its own: {check.expression}")
        is_there = match[2] is None
        says = has_text(path, contains(match[1], any_case=False))
    if is_there:
        return Told(says)
    return Told(without(path, says, "text"), "as meant")


def setting(check: UpstreamCheck, task: TaskOf) -> Told:
    """A setting of the desktop is as its tool prints it."""
    require_true(check)
    words = check.word(1).split()
    schema, key = words if len(words) == 2 else ("org.gnome.gedit.preferences.editor", words[0])
    return _ask_command(("gsettings", "get", schema, key), check.words_from(2) + "\n")


def tab_size(check: UpstreamCheck, task: TaskOf) -> Told:
    """The editor's tab has so many columns."""
    require_true(check)
    argv = ("gsettings", "get", "org.gnome.gedit.preferences.editor", "tabs-size")
    return _ask_command(argv, f"uint32 {whole_number(check.word(1))}\n")


def file_count(check: UpstreamCheck, task: TaskOf) -> Told:
    """A folder has so many entries; the key `count` that some ask for theirs never gives."""
    if check.expected is False:
        raise UntoldCheckError(f"that it is not so: {check.words[0]}")
    hidden = () if "--hidden" in check.words else ("-not", "-name", ".*")
    listing = ("-mindepth", "1", "-maxdepth", "1", *hidden, "-printf", "x")
    command = 'test -d "$1" && printf folder: && exec find "$@"'
    argv = ("sh", "-c", command, "sh", check.word(1), *listing)
    number = whole_number(check.word(2))
    is_broken = not isinstance(check.expected, bool)
    told = _ask_command(argv, f"folder:{'x' * number}")
    return Told(told.when, "as meant" if is_broken else "told", argv)


def permissions(check: UpstreamCheck, task: TaskOf) -> Told:
    """A file has exactly these permissions."""
    require_true(check)
    mode = check.word(2).removeprefix("0o").lstrip("0") or "0"
    return _ask_command(("stat", "-c", "%a", check.word(1)), f"{mode}\n")


def extensions(check: UpstreamCheck, task: TaskOf) -> Told:
    """All files of a folder, and at least one, end so."""
    require_true(check)
    folder, end = check.word(1), check.word(2)
    command = (
        'cd "$1" && test -n "$(find . -maxdepth 1 -type f -name "*$2" -print -quit)"'
        ' && test -z "$(find . -maxdepth 1 -type f -not -name "*$2" -print -quit)"'
    )
    return _ask_command(
        ("sh", "-c", command, "sh", folder, end if end.startswith(".") else f".{end}")
    )


def link(check: UpstreamCheck, task: TaskOf) -> Told:
    """A symbolic link is there, to what is named if something is."""
    require_true(check)
    path = check.word(1)
    if len(check.words) < 3:
        return _ask_command(("test", "-L", path))
    command = 'test -L "$1" && { test "$(readlink "$1")" = "$2" || test "$1" -ef "$2"; }'
    return _ask_command(("sh", "-c", command, "sh", path, check.word(2)))


def folder_bookmark(check: UpstreamCheck, task: TaskOf) -> Told:
    """A folder is among the file manager's bookmarks."""
    require_true(check)
    return Told(
        has_text(".config/gtk-3.0/bookmarks", contains(check.words_from(1), any_case=False))
    )


def file_manager_setting(check: UpstreamCheck, task: TaskOf) -> Told:
    """A setting of PCManFM's default profile."""
    require_true(check)
    at: list[JsonValue] = [check.word(1), check.word(2)]
    path = ".config/pcmanfm/default/pcmanfm.conf"
    return Told(in_file("file_value", path, format="ini", at=at, value=check.words_from(3)))


def dimensions(check: UpstreamCheck, task: TaskOf) -> Told:
    """A picture is so wide and high."""
    size: JsonObject = {
        "width": whole_number(check.word(2)),
        "height": whole_number(check.word(3)),
    }
    path = below_home(check.word(1))
    return Told(apply_truth(check, path, facts(path, size)))


def picture_format(check: UpstreamCheck, task: TaskOf) -> Told:
    """A picture has a format, by its content."""
    known = {"jpg": "jpeg", "tif": "tiff"}
    kind = check.word(2).lower()
    path = below_home(check.word(1))
    return Told(
        apply_truth(check, path, facts(path, {"kind": equals(known.get(kind, kind))}, "image"))
    )


def mode(check: UpstreamCheck, task: TaskOf) -> Told:
    """A picture has a mode, such as RGB or L."""
    path = below_home(check.word(1))
    return Told(apply_truth(check, path, facts(path, {"mode": check.word(2)}, "image")))


def pixel(check: UpstreamCheck, task: TaskOf) -> Told:
    """A pixel's colour: no reader tells single ones."""
    raise UntoldCheckError("a single pixel's colour")


def _svg(check: UpstreamCheck, wanted_facts: JsonObject) -> Told:
    path = below_home(check.word(1))
    return Told(apply_truth(check, path, facts(path, wanted_facts, "svg")))


def element_exists(check: UpstreamCheck, task: TaskOf) -> Told:
    """An element has the id that the check names."""
    return _svg(check, {f"ids.{_key(check.word(2))}.tag": {"regex": ".+"}})


def _key(text: str) -> str:
    """A name as part of a dotted path. Raises `UntoldCheckError`."""
    if not text or "." in text:
        raise UntoldCheckError(f"a name with a dot: {text}")
    return text


def style_property(check: UpstreamCheck, task: TaskOf) -> Told:
    """An element's own style says this; colours in any case."""
    name, _, value = check.word(3).partition(":")
    value = value or check.words_from(4)
    text: JsonValue = equals(value) if value.startswith("#") else value
    return _svg(check, {f"ids.{_key(check.word(2))}.style.{_key(name)}": text})


def svg_text(check: UpstreamCheck, task: TaskOf) -> Told:
    """A text element has this in it."""
    path = below_home(check.word(1))
    when = in_file(
        "file_text", path, format="svg", text=contains(check.words_from(2), any_case=False)
    )
    return Told(apply_truth(check, path, when, "svg"))


def layer(check: UpstreamCheck, task: TaskOf) -> Told:
    """A layer has the label that the check names."""
    return _svg(check, {f"layers.{_key(check.words_from(2))}": True})


def page_size(check: UpstreamCheck, task: TaskOf) -> Told:
    """The page's width and height are written so."""
    return _svg(check, {"width": check.word(2), "height": check.word(3)})


def element_type(check: UpstreamCheck, task: TaskOf) -> Told:
    """There is an element of this kind."""
    return _svg(check, {f"tags.{_key(check.word(2))}": {"min": 1}})


def label(check: UpstreamCheck, task: TaskOf) -> Told:
    """Some cell's label has this in it."""
    path = below_home(check.word(1))
    when = in_file(
        "file_text", path, format="drawio", text=contains(check.words_from(2), any_case=False)
    )
    return Told(apply_truth(check, path, when, "drawio"))


def _drawio(check: UpstreamCheck, wanted_facts: JsonObject) -> Told:
    path = below_home(check.word(1))
    return Told(apply_truth(check, path, facts(path, wanted_facts, "drawio")))


def _page(check: UpstreamCheck, place: int) -> int:
    return whole_number(check.words[place]) if place < len(check.words) else 0


def vertices(check: UpstreamCheck, task: TaskOf) -> Told:
    """A page has so many shapes."""
    return _drawio(check, {f"pages.{_page(check, 3)}.vertices": whole_number(check.word(2))})


def edges(check: UpstreamCheck, task: TaskOf) -> Told:
    """A page has so many edges."""
    return _drawio(check, {f"pages.{_page(check, 3)}.edges": whole_number(check.word(2))})


def edges_at_least(check: UpstreamCheck, task: TaskOf) -> Told:
    """A page has at least so many edges, by an expression."""
    found = re.fullmatch(r"len\(result\) >= (\d+)", check.expression or "")
    if found is None:
        raise UntoldCheckError(f"an expression of its own: {check.expression}")
    least: JsonObject = {"min": int(found[1])}
    page = f"pages.{_page(check, 2)}.edges"
    return Told(facts(below_home(check.word(1)), {page: least}, "drawio"))


def page_count(check: UpstreamCheck, task: TaskOf) -> Told:
    """A diagram has so many pages."""
    return _drawio(check, {"count": whole_number(check.word(2))})


def page_names(check: UpstreamCheck, task: TaskOf) -> Told:
    """A diagram's pages have these names, by an expression."""
    found = re.fullmatch(
        r"\[p\.get\('name'\) for p in result\] == \[((?:'[^']*',? ?)+)\]", check.expression or ""
    )
    if found is None:
        raise UntoldCheckError(f"an expression of its own: {check.expression}")
    names = re.findall(r"'([^']*)'", found[1])
    named = {f"pages.{n}.name": name for n, name in enumerate(names)}
    wanted_facts: JsonObject = {**named, "count": len(names)}
    return Told(facts(below_home(check.word(1)), wanted_facts, "drawio"))


def cell_style(check: UpstreamCheck, task: TaskOf) -> Told:
    """A property of a cell's style has this value."""
    at = f"pages.{_page(check, 5)}.cells.{_key(check.word(2))}.style.{_key(check.word(3))}"
    return _drawio(check, {at: check.word(4)})


def language_model(check: UpstreamCheck, task: TaskOf) -> Told:
    """What a language model is asked there."""
    raise UntoldCheckError("what a language model makes of it")


_SECTIONS = {
    "input-record-path": "core",
    "snapshot-path": "core",
    "snapshot-prefix": "core",
    "snapshot-format": "core",
    "key-play-pause": "core",
    "audio-track-id": "core",
    "sub-delay": "core",
    "video-filter": "core",
    "sout": "core",
    "subsdec-encoding": "subsdec",
    "freetype-rel-fontsize": "freetype",
    "brightness": "adjust",
    "contrast": "adjust",
    "transform-type": "transform",
}
"""VLC's settings, and the section of its file in which each stands."""
VLCRC = ".config/vlc/vlcrc"


def _vlc(key: str, value: JsonValue) -> Told:
    section = _SECTIONS.get(key)
    if section is None:
        raise UntoldCheckError(f"a setting that VLC does not have by that name: {key}")
    return Told(in_file("file_value", VLCRC, format="ini", at=[section, key], value=value))


def vlc_setting(check: UpstreamCheck, task: TaskOf) -> Told:
    """A setting of VLC's is written so; numbers are compared as numbers."""
    require_true(check)
    text = check.words_from(2)
    is_number = re.fullmatch(r"\d+\.\d+", text)
    return _vlc(check.word(1), {"number": float(text)} if is_number else text)


def vlc_setting_has(check: UpstreamCheck, task: TaskOf) -> Told:
    """A setting of VLC's has these words in it, by an expression."""
    found = re.findall(r"'([^']+)' in \(result\.get\('value'\) or ''\)", check.expression or "")
    if not found:
        raise UntoldCheckError(f"an expression of its own: {check.expression}")
    texts: list[JsonValue] = [contains(text, any_case=False) for text in found]
    return _vlc(check.word(1), texts[0] if len(texts) == 1 else {"all_of": texts})


_CONTAINERS = {
    "mp4": "MPEG-4",
    "mp3": "MPEG Audio",
    "ogg": "Ogg",
    "wav": "Wave",
    "flac": "FLAC",
    "mkv": "Matroska",
    "matroska": "Matroska",
    "webm": "WebM",
    "avi": "AVI",
}


def media_format(check: UpstreamCheck, task: TaskOf) -> Told:
    """A medium's container, by its content."""
    kind = _CONTAINERS.get(check.word(2).lower())
    if kind is None:
        raise UntoldCheckError(f"a container: {check.word(2)}")
    path = below_home(check.word(1))
    return Told(apply_truth(check, path, facts(path, {"container": equals(kind)}, "media")))


def _stream(check: UpstreamCheck, kind: str) -> Told:
    path = below_home(check.word(1))
    when = facts(path, {f"{kind}.0.codec": {"regex": ".+"}}, "media")
    if truth(check):
        return Told(when)
    return Told(without(path, when, "media"), "as meant")


def has_video(check: UpstreamCheck, task: TaskOf) -> Told:
    """A medium has a picture, or has none; theirs holds of a missing file too."""
    return _stream(check, "video")


def has_audio(check: UpstreamCheck, task: TaskOf) -> Told:
    """A medium has sound, or it has none."""
    return _stream(check, "audio")


def duration(check: UpstreamCheck, task: TaskOf) -> Told:
    """A medium lasts so long, to a second or as told."""
    seconds = float(check.word(2))
    near = float(check.words[3]) if len(check.words) > 3 else 1.0
    limits: JsonObject = {"min": seconds - near, "max": seconds + near}
    path = below_home(check.word(1))
    return Told(apply_truth(check, path, facts(path, {"duration": limits}, "media")))


def resolution(check: UpstreamCheck, task: TaskOf) -> Told:
    """A film is so wide and high."""
    size: JsonObject = {
        "video.0.width": whole_number(check.word(2)),
        "video.0.height": whole_number(check.word(3)),
    }
    path = below_home(check.word(1))
    return Told(apply_truth(check, path, facts(path, size, "media")))


def playing(check: UpstreamCheck, task: TaskOf) -> Told:
    """What a player does now: only it knows."""
    raise UntoldCheckError("what VLC plays, and how: no source listens to it")


GEDIT: Readers = {
    "check-file-contains": gedit_contains,
    "check-file-line": line,
    "check-file-exists": file_exists,
    "file-content": content,
    "check-file-line-count": line_count,
    "file-line-count": lines_at_least,
    "check-setting-value": setting,
    "check-tab-size": tab_size,
}
PCMANFM: Readers = {
    "check-file-exists": file_exists,
    "check-file-contains": pcmanfm_contains,
    "check-file-count": file_count,
    "check-dir-exists": directory_exists,
    "check-permissions": permissions,
    "check-extension-match": extensions,
    "check-bookmark-exists": folder_bookmark,
    "check-symlink": link,
    "check-config-value": file_manager_setting,
}
GIMP: Readers = {
    "check-file-exists": file_exists,
    "check-file-dimensions": dimensions,
    "check-pixel-color-file": pixel,
    "check-file-format": picture_format,
    "pixel-color-file": pixel,
    "check-file-mode": mode,
}
INKSCAPE: Readers = {
    "check-element-exists": element_exists,
    "check-style-property": style_property,
    "check-text-contains": svg_text,
    "check-file-exists": file_exists,
    "check-layer-exists": layer,
    "check-page-size": page_size,
    "check-has-element-type": element_type,
}
DRAWIO: Readers = {
    "check-label-exists": label,
    "check-vertex-count": vertices,
    "check-file-exists": file_exists,
    "check-style-property": cell_style,
    "check-edge-count": edges,
    "connections": language_model,
    "check-page-count": page_count,
    "vertices": language_model,
    "edges": edges_at_least,
    "diagrams": page_names,
}
VLC: Readers = {
    "check-file-exists": file_exists,
    "check-media-loaded": playing,
    "check-config": vlc_setting,
    "check-playing": playing,
    "check-media-format": media_format,
    "check-media-has-video": has_video,
    "check-media-has-audio": has_audio,
    "config": vlc_setting_has,
    "check-volume": playing,
    "check-media-duration": duration,
    "check-position": playing,
    "check-loop": playing,
    "check-fullscreen": playing,
    "check-state": playing,
    "check-repeat": playing,
    "check-media-resolution": resolution,
}
