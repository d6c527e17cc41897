"""Functions about the machine: what a command says, what VLC plays, which tabs are open, that a
task can't be done."""

from __future__ import annotations

import html
import shlex
from collections.abc import Callable, Sequence

from detectors.model.json_value import JsonObject, JsonValue, read_list, require_list, require_text
from lab.benchmarks.osworld.base import (
    BUDGET_MS,
    EvaluatorCall,
    EvaluatorPart,
    ExternalError,
    all_of,
    none_of,
    required_value,
    somewhere,
    text,
)
from lab.benchmarks.osworld.files import preference

STATUS = "http://:password@127.0.0.1:8080/requests/status.xml"
"""VLC's own interface, with the password that OSWorld starts it with."""
_COMMANDS = ("vm_command_line", "vm_command_error")


def _command_probe(call: EvaluatorCall) -> JsonObject:
    """The command as a probe, at the close alone. Raises `ExternalError`."""
    call.require_getter(*_COMMANDS)
    argv = _argv(call.result.get("command") or (), in_shell=bool(call.result.get("shell")))
    if call.result["type"] == "vm_command_error":
        argv = ["bash", "-c", f"{shlex.join(argv)} 2>&1 >/dev/null"]
    return {"command": {"argv": argv}, "when": ["close"], "budget_ms": BUDGET_MS}


def _argv(command: JsonValue, *, in_shell: bool) -> list[str]:
    """The words of a command; one for a shell runs in the home, as upstream's server does."""
    if isinstance(command, str):
        return ["bash", "-c", "cd\n" + command]
    if isinstance(command, list) and not in_shell:
        return [str(part) for part in command]
    text = shlex.join(map(str, _parts(command)))
    return ["bash", "-c", "cd\n" + text]


def _parts(command: JsonValue) -> Sequence[JsonValue]:
    return require_list(command, "command")


def _out(call: EvaluatorCall, value: JsonValue, path: str = "out") -> JsonObject:
    return {"probe_answers": {"probe": call.probe, "path": path, "value": value}}


def convert_output(call: EvaluatorCall) -> EvaluatorPart:
    """Texts that a command or a terminal says, and such that it does not."""
    rules = call.rules
    include, exclude = _contained(rules, "include"), _contained(rules, "exclude")
    if call.result.get("type") == "vm_terminal_output":
        said, not_said = map(_in_terminal, include), map(_in_terminal, exclude)
        return EvaluatorPart("event", all_of([*said, *none_of(list(not_said))]))
    probe = _command_probe(call)
    has = [_out(call, text) for text in include if text["contains"].strip()]
    not_ = [_out(call, text) for text in exclude]
    return EvaluatorPart("probe", all_of([*(has or ran(call, not_)), *none_of(not_)]), probe)


def _in_terminal(text: JsonObject) -> JsonObject:
    return {"widget_text": {"role": "terminal", "text": text}}


def _contained(rules: JsonObject, name: str) -> list[dict[str, str]]:
    return [{"contains": require_text(text, name)} for text in read_list(rules, name)]


def ran(call: EvaluatorCall, without: Sequence[JsonObject]) -> list[JsonObject]:
    """That the command came to its end, for a task that only says what it must not say."""
    return [_out(call, {"min": -255}, "exit")] if without else []


def exact(call: EvaluatorCall) -> EvaluatorPart:
    """All that a command says, but for the white space around it; or a setting of Chrome's."""
    if call.result.get("type") not in _COMMANDS:
        return preference(call)
    return EvaluatorPart(
        "probe", _out(call, text(required_value(call.rules, "expected"))), _command_probe(call)
    )


def utc_0(call: EvaluatorCall) -> EvaluatorPart:
    """The time zone that timedatectl names."""
    return EvaluatorPart("probe", _out(call, {"contains": "+0000)"}), _command_probe(call))


def favourites(call: EvaluatorCall) -> EvaluatorPart:
    """GNOME's favourite programs: these, in any order."""
    wanted = read_list(call.rules, "expected")
    if not wanted:
        raise ExternalError("it asks for nothing")
    parts = [_out(call, {"contains": f"'{program}'"}) for program in wanted]
    commas = {"regex": r"^[^,]+" + r"(,[^,]+)" * (len(wanted) - 1) + "$"}
    return EvaluatorPart("probe", all_of([*parts, _out(call, commas)]), _command_probe(call))


def extension(call: EvaluatorCall) -> EvaluatorPart:
    """Whether a command lists an extension."""
    kind = call.rules.get("type")
    if kind not in ("contain", "not_contain"):
        raise ExternalError(f"an extension by {kind}")
    when = _out(call, {"contains": str(required_value(call.rules, "expected"))})
    if kind == "not_contain":
        when = all_of([*ran(call, [when]), *none_of([when])])
    return EvaluatorPart("probe", when, _command_probe(call))


def playing(call: EvaluatorCall) -> EvaluatorPart:
    """What VLC plays, by its own interface."""
    call.require_getter("vlc_playing_info")
    rules = call.rules
    key = "file_name" if rules.get("type") == "file_name" else "url"
    name = str(rules.get(key, "")).rpartition("/")[2]
    probe: JsonObject = {"get": {"url": STATUS}, "when": ["step", "close"], "budget_ms": BUDGET_MS}
    values = ("<state>playing</state>", html.escape(name, quote=False))
    parts = [_out(call, {"contains": value}, "body") for value in values]
    return EvaluatorPart("probe", all_of(parts), probe)


def fullscreen(call: EvaluatorCall) -> EvaluatorPart:
    """Whether a program's window is as large as the screen."""
    call.require_getter("vm_screen_size", "vm_window_size")
    name = call.expected.get("app_class_name") or call.result.get("app_class_name")
    window = (
        f"xdotool search --onlyvisible --class {shlex.quote(str(name))} getwindowgeometry"
        " --shell %@"
    )
    size = f"{window} | sed -n 's/^\\(WIDTH\\|HEIGHT\\)=//p' | tail -2 | xargs"
    argv = ["bash", "-c", f'[ "$({size})" = "$(xdotool getdisplaygeometry)" ] && echo full']
    probe: JsonObject = {
        "command": {"argv": argv},
        "when": ["step", "close"],
        "budget_ms": BUDGET_MS,
    }
    return EvaluatorPart("probe", _out(call, "full"), probe)


def infeasible(call: EvaluatorCall) -> EvaluatorPart:
    """A task that can't be done: the agent must say so."""
    return EvaluatorPart(
        "event",
        {"answer_matches": {"text": {"one_of": ["FAIL", "infeasible"], "ignore_case": True}}},
    )


BEHIND = "a tab counts while it stands there, in front or not"


def tabs(call: EvaluatorCall) -> EvaluatorPart:
    """Tabs that are open at these addresses."""
    call.require_getter("open_tabs_info", "active_tab_info", "active_url_from_accessTree")
    rules = call.rules
    urls = list(read_list(rules, "urls"))
    if not urls and "url" in rules:
        urls = [rules["url"]]
    addresses = [str(url) if "://" in str(url) else f"https://{url}" for url in urls]
    is_list = call.result["type"] == "open_tabs_info"
    remark = "other tabs beside these are not refused" if is_list else BEHIND
    # The verdict reads the address bar, whoever put the address there.
    when = all_of([{"url_reached": {"url": url, "loaded": False}} for url in addresses])
    return EvaluatorPart("event", when, remarks=(remark,))


def address(call: EvaluatorCall) -> EvaluatorPart:
    """Patterns that the address of one tab has, all of them, as it stands at the end."""
    call.require_getter("active_url_from_accessTree", "active_tab_info")
    wanted = read_list(call.rules, "expected")
    if not all(isinstance(pattern, str) for pattern in wanted):
        raise ExternalError("a pattern that is no text")
    if not wanted:
        raise ExternalError("it asks for nothing")
    said: JsonObject = {"all_of": [somewhere(pattern) for pattern in wanted]}
    # The verdict reads the address bar, whoever put the address there, of an error page too.
    facts: JsonObject = {"text": said, "loaded": False, "errors": True}
    return EvaluatorPart("event", {"address_says": facts}, remarks=(BEHIND,))


FUNCTIONS: dict[str, Callable[[EvaluatorCall], EvaluatorPart]] = {
    "infeasible": infeasible,
    "check_include_exclude": convert_output,
    "exact_match": exact,
    "is_utc_0": utc_0,
    "check_gnome_favorite_apps": favourites,
    "is_extension_installed": extension,
    "is_vlc_playing": playing,
    "is_vlc_fullscreen": fullscreen,
    "is_expected_tabs": tabs,
    "is_expected_active_tab": tabs,
    "is_expected_url_pattern_match": address,
}
