"""OSWorld's tasks as its files write them, with a right and a wrong outcome for each function, and
what they pay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from lab.benchmarks.osworld import tasks
from tests.detectors.tables_reads import CHECKS, picture, told
from tests.support.logs import Said, clicked, episode, run, went

VLCRC = ".config/vlc/vlcrc"


def task(function: str, result: Any, expected: Any = None, **more: Any) -> dict[str, Any]:
    wanted = {} if expected is None else {"expected": expected}
    return {
        "id": "t",
        "instruction": "Do.",
        "evaluator": {"func": function, "result": result, **wanted, **more},
    }


def rule(**rules: Any) -> dict[str, Any]:
    return {"type": "rule", "rules": rules}


def vm(path: str) -> dict[str, Any]:
    return {"type": "vm_file", "path": f"/home/user/{path}", "dest": "x"}


def gold(name: str) -> dict[str, Any]:
    return {"type": "cloud_file", "path": f"https://example.org/{name}", "dest": name}


def ini(section: str, key: str, value: str) -> Said:
    return told({"value": {section: {key: value}}}, VLCRC, **{"as": "ini"})


def said(value: Any, path: str = "a", as_: str = "json") -> Said:
    return told({"value": value}, path, **{"as": as_})


def line(out: str) -> Said:
    return (
        "probe.answered",
        {"probe": "asked-0", "when": "close", "value": {"exit": 0, "out": out}, "ms": 1},
    )


def counted(number: int, path: str, query: str) -> Said:
    sheet = {"name": "", "rows": [["count(*)"], [number]], "size": [2, 1]}
    return told({"sheets": [sheet]}, path, **{"as": "sqlite", "query": query})


CHROME = ".config/google-chrome/Default/"
ACTIVE = {"type": "active_url_from_accessTree"}
COMMAND = {"type": "vm_command_line", "command": "which spotify"}
HISTORY = "SELECT count(*) FROM urls WHERE instr(url, 'you''tube') > 0"
GOLD = {
    "gold.txt": {"text": "Dear Ada,\n"},
    "gold.png": picture(),
    "gold.csv": {"sheets": [{"name": "", "rows": [["n", "x"], [1.0, None]], "size": [2, 2]}]},
    "gold.zip": {"entries": [{"name": "a", "size": 1}], "count": 1},
    "two.csv": {"sheets": [{"name": "", "rows": [["n", "x"], ["1", None]], "size": [2, 3]}]},
    "gold.pptx": {"slides": [{"texts": ["Plan", "the  lamp"]}], "count": 1},
}
TABLE = {"sheets": [{"name": "", "rows": [["n", "x"], ["1", ""]], "size": [2, 2]}]}

Case = tuple[dict[str, Any], list[Said], list[Said]]
RIGHT_AND_WRONG: dict[str, Case] = {
    "check_qt_bgcone": (
        task("check_qt_bgcone", {"type": "vlc_config"}, rule(expected_qt_bgcone=0)),
        [ini("qt", "qt-bgcone", "0")], [ini("qt", "qt-bgcone", "1")],
    ),
    "check_play_and_exit": (
        task("check_play_and_exit", {"type": "vlc_config"}, rule(expected_play_and_exit=0)),
        [ini("core", "other", "1")], [ini("core", "play-and-exit", "1")],
    ),
    "check_global_key_play_pause": (
        task("check_global_key_play_pause", {"type": "vlc_config"}, rule(expected_global_key_play_pause=1)),
        [ini("core", "global-key-play-pause", "Media Play Pause")], [ini("core", "global-key-play-pause", "")],
    ),
    "check_qt_slider_colours": (
        task("check_qt_slider_colours", {"type": "vlc_config"}, rule(type="blackish")),
        [ini("qt", "qt-slider-colours", ";".join(["20"] * 12))],
        [ini("qt", "qt-slider-colours", "153;210;153;20;210;20;255;199;15;245;39;29")],
    ),
    "check_config_status": (
        task("check_config_status", {"type": "gimp_config_file", "file_name": "gimprc"},
             rule(key="theme", value='"Light"')),
        [said({"theme": "Light"}, ".config/GIMP/2.10/gimprc", "gimprc")],
        [said({"theme": "Dark"}, ".config/GIMP/2.10/gimprc", "gimprc")],
    ),
    "file_contains": (
        task("file_contains", vm("a"), rule(expected=["lamp", "desk"])),
        [told({"text": "lamp and desk"})], [told({"text": "lamp"})],
    ),
    "compare_config": (
        task("compare_config", vm("a"), rule(expected="a = 1\n")), [told({"text": "a = 1\n"})],
        [told({"text": "a = 11"})],
    ),
    "check_list": (
        task("check_list", vm("a"), rule(expect=["^a.c$"], unexpect=["^x"])),
        [told({"text": "abc\nd"})], [told({"text": "abc\nxd"})],
    ),
    "check_json": (
        task("check_json", vm("a"), rule(expect=[{"key": ["a", "b"], "method": "eq", "ref": 1}])),
        [told({"value": {"a": {"b": 1}}})], [told({"value": {"a": {"b": 2}}})],
    ),
    "check_json_settings": (
        task("check_json_settings", vm("a"), rule(expected={"editor.wordWrap": "on"})),
        [said({"editor.wordWrap": "on"})], [said({"editor": {"wordWrap": "on"}})],
    ),
    "check_thunderbird_prefs": (
        task("check_thunderbird_prefs", vm("a"), rule(expect={"mail.x": {"method": "re", "ref": "^f"}})),
        [said({"mail.x": "full"}, "a", "prefs")], [said({"mail.x": "half"}, "a", "prefs")],
    ),
    "check_csv": (
        task("check_csv", vm("a"), rule(expect=[{"n": {"method": "eq", "ref": "7"}}])),
        [told({"sheets": [{"rows": [["n"], ["7"]]}]}, **{"as": "csv"})],
        [told({"sheets": [{"rows": [["n"], ["8"]]}]}, **{"as": "csv"})],
    ),
    "run_sqlite3": (
        task("run_sqlite3", vm("a"), rule(sql="SELECT 1")), [counted(1, "a", "SELECT 1")], [counted(0, "a", "SELECT 1")]
    ),
    "check_image_size": (
        task("check_image_size", vm("a"), rule(height=512)),
        [told({"height": 512}, **{"as": "image"})], [told({"height": 511}, **{"as": "image"})],
    ),
    "check_image_file_size": (
        task("check_image_file_size", vm("a"), rule(max_size=600)),
        [("file.created", {"root": "home", "path": "a", "name": "a", "size": 600, "sha256": "x"})],
        [("file.created", {"root": "home", "path": "a", "name": "a", "size": 601, "sha256": "x"})],
    ),
    "check_moved_jpgs": (
        task("check_moved_jpgs", {"type": "list_directory", "path": "/home/user/in"}, rule(expected=["a", "b"])),
        [("file.created", {"root": "home", "path": f"in/{one}", "name": one, "size": 1}) for one in "ab"],
        [("file.created", {"root": "home", "path": "in/a", "name": "a", "size": 1})],
    ),
    "match_in_list": (
        task("match_in_list", {"type": "default_search_engine"}, rule(expected=["Microsoft Bing", "Bing"])),
        [said({"default_search_provider_data": {"template_url_data": {"short_name": "Bing"}}}, CHROME + "Preferences")],
        [said({"default_search_provider_data": {"template_url_data": {"short_name": "Bin"}}}, CHROME + "Preferences")],
    ),
    "check_font_size": (
        task("check_font_size", {"type": "chrome_font_size"}, rule(type="range", min=20, max=30)),
        [said({"webkit": {"webprefs": {"default_font_size": 24}}}, CHROME + "Preferences")],
        [said({"webkit": {"webprefs": {"default_font_size": 16}}}, CHROME + "Preferences")],
    ),
    "is_expected_bookmarks": (
        task("is_expected_bookmarks", {"type": "bookmarks"}, rule(type="bookmark_bar_folders_names", names=["Fun"])),
        [said({"roots": {"bookmark_bar": {"children": [{"type": "folder", "name": "Fun"}]}}}, CHROME + "Bookmarks")],
        [said({"roots": {"bookmark_bar": {"children": [{"type": "url", "name": "Fun"}]}}}, CHROME + "Bookmarks")],
    ),
    "check_history_deleted": (
        task("check_history_deleted", {"type": "history"}, rule(type="keywords", keywords=["you'tube"])),
        [counted(0, CHROME + "History", HISTORY)], [counted(2, CHROME + "History", HISTORY)],
    ),
    "compare_text_file": (
        task("compare_text_file", vm("a"), gold("gold.txt")), [told({"text": "Dear Ada,"})], [told({"text": "Dear"})]
    ),
    "compare_table": (
        task("compare_table", vm("a"), gold("gold.csv")), [told(TABLE)], [told({"sheets": [{"rows": [["n", "x"]]}]})]
    ),
    "compare_zip_files": (
        task("compare_zip_files", vm("a"), gold("gold.zip")), [told(GOLD["gold.zip"])],
        [told({"entries": [], "count": 0})],
    ),
    "compare_pptx_files": (
        task("compare_pptx_files", vm("a"), gold("gold.pptx")), [told(GOLD["gold.pptx"])], [told({"slides": []})]
    ),
    "check_structure_sim": (
        task("check_structure_sim", vm("a"), gold("gold.png")), [told(picture())], [told(picture(CHECKS))]
    ),
    "check_brightness_decrease_and_structure_sim": (
        task("check_brightness_decrease_and_structure_sim", vm("a"), gold("gold.png")),
        [told(picture(brightness=60.0))], [told(picture())],
    ),
    "infeasible": (
        {"id": "t", "instruction": "Do.", "evaluator": {"func": "infeasible"}},
        [("agent.answered", {"text": "FAIL"})], [("agent.answered", {"text": "done"})],
    ),
    "check_include_exclude": (
        task("check_include_exclude", COMMAND, rule(include=["spotify"], exclude=["not found"])),
        [line("/usr/bin/spotify\n")], [line("spotify: not found")],
    ),
    "exact_match": (task("exact_match", COMMAND, rule(expected="true\n")), [line("true\n")], [line("untrue\n")]),
    "is_utc_0": (task("is_utc_0", COMMAND), [line("Time zone: Etc/UTC (UTC, +0000)")], [line("CET, +0100)")]),
    "check_gnome_favorite_apps": (
        task("check_gnome_favorite_apps", COMMAND, rule(expected=["a.desktop", "b.desktop"])),
        [line("['b.desktop', 'a.desktop']")], [line("['a.desktop', 'b.desktop', 'vim.desktop']")],
    ),
    "is_extension_installed": (
        task("is_extension_installed", COMMAND, rule(type="contain", expected="ms.python")),
        [line("ms.python\n")], [line("")],
    ),
    "is_vlc_playing": (
        task("is_vlc_playing", {"type": "vlc_playing_info"}, rule(type="file_name", file_name="A & B.mp4")),
        [("probe.answered", {"probe": "asked-0", "when": "step", "ms": 1, "value":
            {"body": "<state>playing</state><info name='filename'>A &amp; B.mp4</info>"}})],
        [("probe.answered", {"probe": "asked-0", "when": "step", "ms": 1, "value":
            {"body": "<state>paused</state><info name='filename'>A &amp; B.mp4</info>"}})],
    ),
    "is_vlc_fullscreen": (
        task("is_vlc_fullscreen", {"type": "vm_screen_size"}, {"type": "vm_window_size", "app_class_name": "vlc"}),
        [line("full\n")], [line("")],
    ),
    "is_expected_tabs": (
        task("is_expected_tabs", {"type": "open_tabs_info"}, rule(type="url", urls=["https://a.test/x"])),
        [went("https://a.test/x")], [went("https://a.test.evil/x")],
    ),
    "is_expected_url_pattern_match": (
        task("is_expected_url_pattern_match", {"type": "active_url_from_accessTree"},
             rule(expected=["a\\.test/.*id=7$"])),
        [went("https://a.test/x?id=7")], [went("https://a.test/x?id=8")],
    ),
}  # fmt: skip


UNREAD = {
    "cut.txt": {"status": "read", "facts": {"text": "Dear"}, "cut": True},
    "bad.txt": {"status": "damaged"},
}
"""Expected files that were not read, or not to their ends."""


def imported(folder: Path, spec: dict[str, Any]) -> Any:
    (folder / "group").mkdir(parents=True)
    (folder / "group" / "t.json").write_text(json.dumps(spec))
    (folder / "gold" / "t").mkdir(parents=True)
    answers = {
        **UNREAD,
        **{name: {"status": "read", "facts": facts} for name, facts in GOLD.items()},
    }
    for name, answer in answers.items():
        (folder / "gold" / "t" / f"{name}.json").write_text(json.dumps(answer))
    (one,) = tasks(folder, {})
    return one


def worth(spec: Any, happened: list[Said]) -> float | None:
    rules = compile_task(
        task_from_json(spec)
    )  # without the origin that the other tests' tasks have
    asked = [("probe.answered", {"probe": one["id"], "when": "start", "value": None, "ms": 1, "baseline": True})
             for one in spec.get("probes", [])]  # fmt: skip
    rewards = run(rules, *episode([*happened, clicked("x")], before=asked))
    return rewards[-1].reward
