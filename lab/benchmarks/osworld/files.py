"""Functions about files: settings, tables, texts, pictures; with what the task carries or with an
expected file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from detectors.model.json_value import (
    JsonObject,
    JsonValue,
    is_number,
    objects_in,
    read_list,
    read_object,
    require_list,
    require_number,
    require_object,
    require_text,
)
from detectors.sdk.file_reads import value_text
from lab.benchmarks.osworld.base import (
    EvaluatorCall,
    EvaluatorPart,
    ExternalError,
    all_of,
    begins,
    below,
    file_rule,
    refuse_facts,
    required_value,
)

GIMP = ".config/GIMP/2.10/"
VLCRC = ".config/vlc/vlcrc"
CHROME = ".config/google-chrome/Default/"
VLC: dict[str, tuple[str, str, str]] = {
    "check_qt_bgcone": ("qt", "qt-bgcone", "1"),
    "check_qt_max_volume": ("qt", "qt-max-volume", "125"),
    "check_qt_minimal_view": ("qt", "qt-minimal-view", "0"),
    "check_play_and_exit": ("core", "play-and-exit", "0"),
    "check_one_instance_when_started_from_file": (
        "core",
        "one-instance-when-started-from-file",
        "1",
    ),
    "check_global_key_play_pause": ("core", "global-key-play-pause", ""),
    "is_vlc_recordings_folder": ("core", "input-record-path", ""),
}
"""Function → where vlcrc says it, and what VLC takes where it says nothing."""
BLACKISH = {"regex": r"^[0-9]{1,2}(;[0-9]{1,2}){11}$"}
"""Four colours of which each part is below 100."""
NO_GOLD = (
    "its expected file is needed: gold/<task>/<name>.json beside the tasks, as `agentd read`"
    " prints it"
)


def _file(when: JsonObject, *remarks: str) -> EvaluatorPart:
    return EvaluatorPart("file", when, remarks=remarks)


def vlc_setting(call: EvaluatorCall) -> EvaluatorPart:
    """One value of VLC's configuration file, vlcrc."""
    call.require_getter("vlc_config")
    section, key, default = VLC[call.function]
    wanted = str(required_value(call.rules, next(iter(call.rules), "expected value")))
    is_hotkey = default == "" and wanted in "01"
    return _file(_ini(section, key, _hotkey(wanted) if is_hotkey else wanted, default))


def _hotkey(wanted: str) -> JsonValue:
    return {"regex": ".+"} if wanted == "1" else ""


def _ini(section: str, key: str, wanted: JsonValue, default: str) -> JsonObject:
    said = file_rule("file_value", VLCRC, format="ini", at=[section, key], value=wanted)
    unsaid = file_rule("file_value", VLCRC, format="ini", at=[section, key], value=None)
    return {"any_of": [said, unsaid]} if wanted == default else said


def vlc_colours(call: EvaluatorCall) -> EvaluatorPart:
    """The colours of VLC's volume slider."""
    call.require_getter("vlc_config")
    wanted: JsonValue = BLACKISH
    if call.rules.get("type") == "match":
        wanted = required_value(call.rules, "expected_qt_slider_colours")
    at = ["qt", "qt-slider-colours"]
    return _file(file_rule("file_value", VLCRC, format="ini", at=at, value=wanted))


def gimp_setting(call: EvaluatorCall) -> EvaluatorPart:
    """One entry of GIMP's configuration file, gimprc."""
    call.require_getter("gimp_config_file")
    name = str(call.result.get("file_name"))
    key, wanted = call.rules.get("key"), str(required_value(call.rules, "value")).strip('"')
    keys = [key] if isinstance(key, str) else key
    if not isinstance(keys, list) or len(keys) != 1:
        raise ExternalError(f"the nested key {key}")
    return _file(file_rule("file_value", GIMP + name, format="gimprc", at=keys, value=wanted))


def contains(call: EvaluatorCall) -> EvaluatorPart:
    """Texts that stand in a file."""
    path = call.file()
    # The empty text stands in every file.
    texts = [str(part) for part in read_list(call.rules, "expected") if part != ""]
    return _file(all_of([file_rule("file_text", path, text={"contains": text}) for text in texts]))


def is_config(call: EvaluatorCall) -> EvaluatorPart:
    """A file whose whole text the task carries."""
    return _file(
        file_rule(
            "file_text", call.file(), text=str(required_value(call.rules, "expected")).strip()
        )
    )


def lines(call: EvaluatorCall) -> EvaluatorPart:
    """Patterns of lines that a file has, and of those that it has not."""
    path, rules = call.file(), call.rules

    def conditions(name: str) -> list[JsonObject]:
        patterns = map(begins, read_list(rules, name))
        return [file_rule("file_text", path, unit="line", text=pattern) for pattern in patterns]

    return _file(all_of([*conditions("expect"), *refuse_facts(conditions("unexpect"), path)]))


def _method(spec: JsonValue) -> JsonValue:
    """OSWorld's {method, ref} as a value of ours."""
    if not isinstance(spec, Mapping):
        return spec
    if "ref" not in spec:
        raise ExternalError("it asks for nothing: no ref")
    ref = spec["ref"]
    method = str(spec.get("method", "eq"))
    if method.startswith("re"):
        return begins(ref, ignore_case=method.endswith(".I"))
    if method in ("eq", "str_eq"):
        return _scalar(ref)
    bound = _BOUNDS.get(method)
    if bound is None:
        raise ExternalError(f"the comparison {method}")
    if not is_number(ref):
        raise ExternalError(f"the comparison {method} with something else than a number")
    return {bound: ref}


_BOUNDS = {"ge": "min", "le": "max"}
"""OSWorld's comparisons of numbers, and the bound that each is here."""


def keys(call: EvaluatorCall) -> EvaluatorPart:
    """Values in JSON or YAML by their keys."""
    path, rules = call.file(), call.rules
    more = {"format": "yaml"} if call.options.get("is_yaml") else {}

    def conditions(name: str) -> list[JsonObject]:
        """Return a condition a key that the rules list under ``name``."""
        specs = [require_object(spec, name) for spec in read_list(rules, name)]
        return [
            file_rule("file_value", path, at=_keys_of(spec), value=_method(spec), **more)
            for spec in specs
        ]

    unexpected = refuse_facts(conditions("unexpect"), path, more.get("format"))
    return _file(all_of([*conditions("expect"), *unexpected]))


def _keys_of(spec: JsonObject) -> list[str]:
    return [str(key) for key in require_list(spec["key"], "key")]


def settings(call: EvaluatorCall) -> EvaluatorPart:
    """VS Code's settings: every one that the task carries."""
    path = call.file()
    return _file(
        all_of(
            [
                file_rule("file_value", path, format="json", at=[key], value=_scalar(value))
                for key, value in read_object(call.rules, "expected").items()
            ]
        )
    )


def _scalar(value: JsonValue) -> JsonValue:
    if isinstance(value, dict | list):
        raise ExternalError("a value that is an object or a list")
    return value


def prefs(call: EvaluatorCall) -> EvaluatorPart:
    """Values that Thunderbird's preferences have, and have not."""
    path, rules = call.file(), call.rules

    def conditions(name: str) -> list[JsonObject]:
        return [
            file_rule("file_value", path, format="prefs", at=[key], value=_method(spec))
            for key, spec in read_object(rules, name).items()
        ]

    return _file(
        all_of([*conditions("expect"), *refuse_facts(conditions("unexpect"), path, "prefs")])
    )


def rows(call: EvaluatorCall) -> EvaluatorPart:
    """Rows that a CSV file has."""
    path, rules = call.file(), call.rules

    def condition(row: JsonValue) -> JsonObject:
        cells = {name: _method(spec) for name, spec in require_object(row, "a row").items()}
        return file_rule("table_cells", path, format="csv", row=cells)

    expected = map(condition, read_list(rules, "expect"))
    unexpected = list(map(condition, read_list(rules, "unexpect")))
    return _file(all_of([*expected, *refuse_facts(unexpected, path, "csv")]))


def query(call: EvaluatorCall) -> EvaluatorPart:
    """A query of the task over a database: its first value is 1."""
    return _file(_cell(call.file(), str(required_value(call.rules, "sql")), 1))


def _cell(path: str, sql: str, wanted: JsonValue) -> JsonObject:
    return file_rule("table_cells", path, format="sqlite", query=sql, cells={"A2": wanted})


def picture_size(call: EvaluatorCall) -> EvaluatorPart:
    """The width and height of a picture, in pixels."""
    sides = {name: call.rules.get(name) for name in ("width", "height")}
    wanted = {name: side for name, side in sides.items() if isinstance(side, int)}
    if not wanted:
        raise ExternalError("it asks for nothing")
    return _file(file_rule("file_is", call.file(), format="image", facts=wanted))


def file_size(call: EvaluatorCall) -> EvaluatorPart:
    """A file's size in bytes: nothing in it is read."""
    maximum = call.rules.get("max_size", 0)
    if isinstance(maximum, bool) or not isinstance(maximum, int):
        raise ExternalError(f"the size {maximum!r}")
    return EvaluatorPart(
        "event", {"file_matches": {"path": call.file(), "root": "home", "size": {"max": maximum}}}
    )


def convert_listing(call: EvaluatorCall) -> EvaluatorPart:
    """Files that a folder holds: seen as they come, none is read. That there are no others is not
    asked for."""
    call.require_getter("list_directory")
    folder = below(call.result.get("path"))
    wanted = [
        {"file_created": {"path": f"{folder}/{name}", "root": "home"}}
        for name in read_list(call.rules, "expected")
    ]
    return EvaluatorPart("event", all_of(wanted))


# -- Chrome's own files

_PREFERENCES: dict[str, list[str]] = {
    "default_search_engine": ["default_search_provider_data", "template_url_data", "short_name"],
    "enable_do_not_track": ["enable_do_not_track"],
    "profile_name": ["profile", "name"],
    "chrome_font_size": ["webkit", "webprefs", "default_font_size"],
    "enable_enhanced_safety_browsing": ["safebrowsing", "enhanced"],
}


def preference(call: EvaluatorCall) -> EvaluatorPart:
    """One value of the JSON in Chrome's Preferences."""
    call.require_getter(*_PREFERENCES)
    wanted = _preferred(call.rules)
    at = _PREFERENCES[str(call.result["type"])]
    return _file(
        file_rule("file_value", CHROME + "Preferences", format="json", at=at, value=wanted)
    )


def _preferred(rules: JsonObject) -> JsonValue:
    """The value that a preference is to have. Raises `ExternalError` where none is asked for."""
    if rules.get("type") == "range":
        return {"min": rules["min"], "max": rules["max"]}
    wanted = rules.get("expected", rules.get("value"))
    if wanted is None:
        raise ExternalError("it asks for nothing: neither expected nor value")
    if isinstance(wanted, list):
        return {"one_of": wanted}
    return wanted == "true" if wanted in ("true", "false") else wanted


def bookmarks(call: EvaluatorCall) -> EvaluatorPart:
    """Folders or addresses on Chrome's bookmark bar."""
    call.require_getter("bookmarks")
    rules = call.rules
    if rules.get("type") not in _BOOKMARKS:
        raise ExternalError(f"bookmarks by {rules.get('type')}")
    kind, key, wanted = _BOOKMARKS[str(rules["type"])]
    path, at = f"$[?@.type=='{kind}'].{key}", ["roots", "bookmark_bar", "children"]
    file = CHROME + "Bookmarks"
    parts = [
        file_rule("file_value", file, format="json", at=at, value={"json": path, "value": name})
        for name in require_list(rules[wanted], wanted)
    ]
    return _file(all_of(parts), "other bookmarks beside these are not refused")


_BOOKMARKS = {
    "bookmark_bar_folders_names": ("folder", "name", "names"),
    "bookmark_bar_websites_urls": ("url", "url", "urls"),
}
"""By the type of a rule: the bookmarks' own type, what is compared of them, and where the rule has
it."""


def history(call: EvaluatorCall) -> EvaluatorPart:
    """Addresses that are no longer in Chrome's history."""
    call.require_getter("history")
    words = require_list(call.rules["keywords"], "keywords")
    queries = [_counted("urls", "url", word) for word in words]
    return _file(all_of([_cell(CHROME + "History", query, 0) for query in queries]))


def cookies(call: EvaluatorCall) -> EvaluatorPart:
    """Sites of which Chrome has no cookie."""
    call.require_getter("cookie_data")
    sites = read_list(call.rules, "domains")
    queries = [_counted("cookies", "host_key", site) for site in sites]
    return _file(all_of([_cell(CHROME + "Cookies", query, 0) for query in queries]))


def _counted(table: str, column: str, part: JsonValue) -> str:
    quoted = str(part).replace("'", "''")
    return f"SELECT count(*) FROM {table} WHERE instr({column}, '{quoted}') > 0"


# -- with an expected file


def _gold(call: EvaluatorCall) -> JsonObject:
    facts = call.reference()
    if facts is None:
        raise NeedsGoldError(NO_GOLD)
    return facts


class NeedsGoldError(Exception):
    """The readers can judge it once they are told of the expected file; carries how."""


TEXTS = ("compare_text_file", "compare_docx_files", "compare_pdfs", "compare_python_pure_text")
TEXT_OPTIONS = ("ignore_blanks", "ignore_case", "delete_empty_lines")
"""What can be said of a text here: white space is folded anyway."""


def same_text(call: EvaluatorCall) -> EvaluatorPart:
    """The same text, white space folded: of a plain file, a document, a PDF."""
    path = call.file()
    options = call.options
    switched_on = {name for name, on in options.items() if on}
    unknown = sorted(switched_on.difference(TEXT_OPTIONS))
    if unknown:
        raise ExternalError(f"a text compared with {unknown[0]}")
    text: JsonValue = str(_gold(call)["text"])
    if options.get("ignore_case"):
        text = {"equals": text, "ignore_case": True}
    remarks = []
    if options.get("ignore_blanks") is False:
        remarks.append("white space does not count")
    return _file(file_rule("file_text", path, text=text), *remarks)


def same_table(call: EvaluatorCall) -> EvaluatorPart:
    """The same cells of the first sheet, empty ones too; how they look is not compared."""
    path = call.file()
    _first_sheet(call.options)
    sheet = require_object(require_list(_gold(call)["sheets"], "sheets")[0], "a sheet")
    height, width = require_list(sheet["size"], "size")
    table = [require_list(row, "a row") for row in require_list(sheet["rows"], "rows")]
    if require_number(width, "size") > max(map(len, table), default=0):
        raise ExternalError(f"an expected table of {width} columns")
    cells = {
        f"{_letters(column)}{number}": _cell_text(value)
        for number, row in enumerate(table, 1)
        for column, value in enumerate(row, 1)
    }
    same = [
        file_rule("table_cells", path, cells=cells, rows=height),
        file_rule("file_is", path, facts={"sheets.0.size.1": width}),
    ]
    return _file(all_of(same), "looks, charts and formulas do not count")


def _cell_text(value: JsonValue) -> JsonValue:
    """Return a cell's value as a sheet shows it: nothing as an empty text, true and false as
    themselves."""
    if value is None:
        return ""
    return value if isinstance(value, bool) else value_text(value)


def _first_sheet(options: JsonObject) -> None:
    """Raises `ExternalError` where something else than the first sheets' values is compared."""
    unknown = sorted(set(options) - {"rules"})
    if unknown:
        raise ExternalError(f"a table compared with {unknown[0]}")
    for value in read_list(options, "rules"):
        rule = require_object(value, "rules")
        is_first = rule.get("sheet_idx0", 0) in _FIRST_RESULT_SHEETS
        is_with_first = rule.get("sheet_idx1", _FIRST_GOLD_SHEET) == _FIRST_GOLD_SHEET
        is_of_values = rule.get("type") == "sheet_data" and rule.keys() <= _SHEET_OPTIONS
        if not (is_first and is_with_first and is_of_values):
            raise ExternalError(
                f"a table compared by {rule.get('type')} and not by its first sheet's values alone"
            )


_SHEET_OPTIONS = {"type", "sheet_idx0", "sheet_idx1"}
_FIRST_RESULT_SHEETS = (0, "RI0")
_FIRST_GOLD_SHEET = "EI0"


def _letters(column: int) -> str:
    out = ""
    while column:
        column, rest = divmod(column - 1, 26)
        out = chr(65 + rest) + out
    return out


def same_archive(call: EvaluatorCall) -> EvaluatorPart:
    """The same files in an archive, by name; not their content."""
    path = call.file()
    entries = objects_in(_gold(call)["entries"])
    names = [entry["name"] for entry in entries if not entry.get("folder")]
    return _file(
        file_rule("archive_lists", path, names=names, only=True),
        "what is in the files does not count",
    )


def same_slides(call: EvaluatorCall) -> EvaluatorPart:
    """The same texts on each slide, and no slide more."""
    path = call.file()
    gold = _gold(call)
    slides = [_slide_text(slide) for slide in objects_in(gold["slides"])]
    parts = [
        file_rule("file_text", path, unit="slide", number=number, text=text)
        for number, text in enumerate(slides, 1)
    ]
    parts.append(file_rule("file_is", path, facts={"count": gold["count"]}))
    return _file(all_of(parts), "how the slides look does not count")


def _slide_text(slide: JsonObject) -> str:
    """The texts of a slide as one, white space folded."""
    texts = [require_text(text, "texts") for text in require_list(slide["texts"], "texts")]
    return re.sub(r"\s+", " ", "\n".join(texts)).strip()


_PICTURES: dict[str, Callable[[JsonObject], JsonObject]] = {
    "compare_images": lambda gold: {},
    "check_structure_sim": lambda gold: {},
    "check_structure_sim_resized": lambda gold: {},
    "check_file_exists_and_structure_sim": lambda gold: {},
    "check_image_mirror": lambda gold: {"mirrored": True},
    "check_palette_and_structure_sim": lambda gold: {"facts": {"mode": "P"}},
    "check_brightness_decrease_and_structure_sim": lambda gold: _less(gold, "brightness", 0.4),
    "check_saturation_increase_and_structure_sim": lambda gold: _more(gold, "saturation", 0.7),
    "check_contrast_increase_and_structure_sim": lambda gold: _more(gold, "contrast", 0.65),
}


def picture(call: EvaluatorCall) -> EvaluatorPart:
    """Likeness to a picture, and how it differs from it."""
    path = call.file()
    gold = _gold(call)
    return _file(file_rule("image_like", path, to=gold["gray"], **_PICTURES[call.function](gold)))


def _less(gold: JsonObject, fact: str, least: float) -> JsonObject:
    """A picture as like as ``least`` says, with less of a fact than ``gold`` has."""
    maximum = round(require_number(gold[fact], fact) - 0.01, 2)
    return {"ssim": {"min": least}, "facts": {fact: {"max": maximum}}}


def _more(gold: JsonObject, fact: str, least: float) -> JsonObject:
    """A picture as like as ``least`` says, with more of a fact than ``gold`` has."""
    minimum = round(require_number(gold[fact], fact) + 0.01, 2)
    return {"ssim": {"min": least}, "facts": {fact: {"min": minimum}}}


FUNCTIONS: dict[str, Callable[[EvaluatorCall], EvaluatorPart]] = {
    **dict.fromkeys(VLC, vlc_setting),
    "check_qt_slider_colours": vlc_colours,
    "check_config_status": gimp_setting,
    "file_contains": contains,
    "compare_config": is_config,
    "check_list": lines,
    "check_json": keys,
    "check_json_settings": settings,
    "check_thunderbird_prefs": prefs,
    "check_csv": rows,
    "run_sqlite3": query,
    "check_image_size": picture_size,
    "check_image_file_size": file_size,
    "check_moved_jpgs": convert_listing,
    "match_in_list": preference,
    "check_font_size": preference,
    "is_expected_bookmarks": bookmarks,
    "check_history_deleted": history,
    "is_cookie_deleted": cookies,
    **dict.fromkeys(TEXTS, same_text),
    **dict.fromkeys(("compare_table", "compare_csv"), same_table),
    "compare_archive": same_archive,
    "compare_zip_files": same_archive,
    "compare_pptx_files": same_slides,
    **dict.fromkeys(_PICTURES, picture),
}
