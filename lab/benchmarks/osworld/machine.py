"""Functions about the machine: what a command says, what VLC plays, which tabs are open, that a
task can't be done."""

from __future__ import annotations

import html
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lab.benchmarks.osworld.base import (
    BUDGET_MS,
    EvaluatorCall,
    EvaluatorPart,
    ExternalError,
    all_of,
    none_of,
    required,
    somewhere,
    text,
)
from lab.benchmarks.osworld.files import preference

STATUS = "http://:password@127.0.0.1:8080/requests/status.xml"
"""VLC's own interface, with the password that OSWorld starts it with."""
_COMMANDS = ("vm_command_line", "vm_command_error")


def _command_probe(call: EvaluatorCall) -> dict[str, Any]:
    """The command as a probe, at the close alone. Raises `ExternalError`."""
    call.require_getter(*_COMMANDS)
    command = call.result.get("command")
    if isinstance(command, list) and not call.result.get("shell"):
        argv = [str(one) for one in command]
    else:  # upstream's server runs in the home
        argv = [
            "bash",
            "-c",
            "cd\n" + (command if isinstance(command, str) else shlex.join(map(str, command or ()))),
        ]
    if call.result["type"] == "vm_command_error":
        argv = ["bash", "-c", f"{shlex.join(argv)} 2>&1 >/dev/null"]
    return {"command": {"argv": argv}, "when": ["close"], "budget_ms": BUDGET_MS}


def _out(call: EvaluatorCall, value: Any) -> dict[str, Any]:
    return {"probe_answers": {"probe": call.probe, "path": "out", "value": value}}


def included(call: EvaluatorCall) -> EvaluatorPart:
    """Texts that a command or a terminal says, and such that it does not."""
    rules = call.rules
    include, exclude = list(rules.get("include", [])), list(rules.get("exclude", []))
    if call.result.get("type") == "vm_terminal_output":
        said = [{"widget_text": {"role": "terminal", "text": {"contains": one}}} for one in include]
        not_said = [
            {"widget_text": {"role": "terminal", "text": {"contains": one}}} for one in exclude
        ]
        return EvaluatorPart("event", all_of([*said, *none_of(not_said)]))
    probe = _command_probe(call)
    has = [_out(call, {"contains": one}) for one in include if one.strip()]
    not_ = [_out(call, {"contains": one}) for one in exclude]
    return EvaluatorPart("probe", all_of([*(has or ran(call, not_)), *none_of(not_)]), probe)


def ran(call: EvaluatorCall, without: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """That the command came to its end, for a task that only says what it must not say."""
    return (
        [{"probe_answers": {"probe": call.probe, "path": "exit", "value": {"min": -255}}}]
        if without
        else []
    )


def exact(call: EvaluatorCall) -> EvaluatorPart:
    """All that a command says, but for the white space around it; or a setting of Chrome's."""
    if call.result.get("type") not in _COMMANDS:
        return preference(call)
    return EvaluatorPart(
        "probe", _out(call, text(required(call.rules, "expected"))), _command_probe(call)
    )


def utc_0(call: EvaluatorCall) -> EvaluatorPart:
    """The time zone that timedatectl names."""
    return EvaluatorPart("probe", _out(call, {"contains": "+0000)"}), _command_probe(call))


def favourites(call: EvaluatorCall) -> EvaluatorPart:
    """GNOME's favourite programs: these, in any order."""
    wanted = call.rules.get("expected", [])
    parts = [_out(call, {"contains": f"'{one}'"}) for one in wanted]
    if not wanted:
        raise ExternalError("it asks for nothing")
    commas = {"regex": r"^[^,]+" + r"(,[^,]+)" * (len(wanted) - 1) + "$"}
    return EvaluatorPart("probe", all_of([*parts, _out(call, commas)]), _command_probe(call))


def extension(call: EvaluatorCall) -> EvaluatorPart:
    """Whether a command lists an extension."""
    if call.rules.get("type") not in ("contain", "not_contain"):
        raise ExternalError(f"an extension by {call.rules.get('type')}")
    has = _out(call, {"contains": str(required(call.rules, "expected"))})
    when = (
        has if call.rules.get("type") == "contain" else all_of([*ran(call, [has]), *none_of([has])])
    )
    return EvaluatorPart("probe", when, _command_probe(call))


def playing(call: EvaluatorCall) -> EvaluatorPart:
    """What VLC plays, by its own interface."""
    call.require_getter("vlc_playing_info")
    rules = call.rules
    key = "file_name" if rules.get("type") == "file_name" else "url"
    name = str(rules.get(key, "")).rpartition("/")[2]
    probe = {"get": {"url": STATUS}, "when": ["step", "close"], "budget_ms": BUDGET_MS}
    values = ("<state>playing</state>", html.escape(name, quote=False))
    parts = [
        {"probe_answers": {"probe": call.probe, "path": "body", "value": {"contains": value}}}
        for value in values
    ]
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
    probe = {"command": {"argv": argv}, "when": ["step", "close"], "budget_ms": BUDGET_MS}
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
    urls = rules.get("urls") or ([rules["url"]] if "url" in rules else [])
    urls = [one if "://" in str(one) else f"https://{one}" for one in urls]
    remark = (
        "other tabs beside these are not refused"
        if call.result["type"] == "open_tabs_info"
        else BEHIND
    )
    return EvaluatorPart(
        "event", all_of([{"url_reached": {"url": one}} for one in urls]), remarks=(remark,)
    )


def address(call: EvaluatorCall) -> EvaluatorPart:
    """Patterns that the address of one tab has, all of them, as it stands at the end."""
    call.require_getter("active_url_from_accessTree", "active_tab_info")
    wanted = call.rules.get("expected", [])
    if not all(isinstance(one, str) for one in wanted):
        raise ExternalError("a pattern that is no text")
    if not wanted:
        raise ExternalError("it asks for nothing")
    said = {"all_of": [somewhere(one) for one in wanted]}
    return EvaluatorPart("event", {"address_says": {"text": said}}, remarks=(BEHIND,))


FUNCTIONS: dict[str, Callable[[EvaluatorCall], EvaluatorPart]] = {
    "infeasible": infeasible,
    "check_include_exclude": included,
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
