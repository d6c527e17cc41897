"""Tables of yes and of no for the rules on desktop, clipboard, processes, downloads, and on any
event."""

from __future__ import annotations

from typing import Any

from tests.support.logs import ORIGIN, Said, clicked, finished, went

DIALOG = {"app": "gedit", "window": "2", "role": "dialog", "title": "Save As"}
SAVE_AS = {"title": "Save As", "app": "gedit", "role": "dialog"}
LINES = {"role": "check box", "name": "Show lines", "app": "gedit", "path": "0.1"}
CHECKED = {
    "name": "Show lines",
    "state": "checked",
    "app": {"equals": "Gedit", "ignore_case": True},
}
TYPED = {"app": "mousepad", "text": "Hello"}
ANSWER = {"method": "POST", "url": "/api", "answer": {"id": "7"}}


def window(kind: str = "opened", **more: Any) -> Said:
    return (f"window.{kind}", {**DIALOG, **more})


def state(on: bool, state: str = "checked", **more: Any) -> Said:
    return (
        "widget.state_changed",
        {"app": "gedit", "window": "1", "widget": LINES, "state": state, "on": on, **more},
    )


def typed(text: str, **more: Any) -> Said:
    widget = {"role": "text", "name": "", "app": "mousepad", "path": "0.0"}
    return (
        "widget.text_changed",
        {"app": "mousepad", "window": "1", "widget": widget, "text": text, **more},
    )


def copied(text: str | None, **more: Any) -> Said:
    return (
        "clipboard.changed",
        {"selection": "clipboard", "text": text, "app": "Mousepad", **more},
    )


def process(name: str, *arguments: str, kind: str = "started", **more: Any) -> Said:
    return (
        f"process.{kind}",
        {"pid": 7, "parent": 1, "name": name, "arguments": [name, *arguments], **more},
    )


def download(kind: str = "finished", **more: Any) -> Said:
    data = {
        "tab": "T",
        "url": f"{ORIGIN}/invoice/7",
        "name": "invoice-7.csv",
        "download": "g",
        "size": 3,
    }
    return (f"download.{kind}", {**data, **more})


def pasted(text: str, trusted: bool = True) -> Said:
    element = {"role": "textbox", "name": "Note", "tag": "input"}
    return (
        "text.pasted",
        {"tab": "T", "frame": "T", "text": text, "element": element, "trusted": trusted},
    )


PLACED = {"method": "POST", "url": "/orders", "redirect_to": "/orders/*"}
HOP = {"method": "POST", "url": f"{ORIGIN}/orders", "status": 303, "location": "/orders/7"}
PASTED = {"kind": "text.pasted", "where": {"text": "7", "element.name": "Note"}}

YES: dict[str, list[tuple[Any, list[Said], float]]] = {
    "window_opened": [
        (SAVE_AS, [window()], 1),
        (
            {"title": {"contains": "report"}},
            [window("title_changed", title="report.txt - gedit")],
            1,
        ),
    ],
    "widget_state": [
        (CHECKED, [state(True)], 1),
        ({**CHECKED, "initial": True}, [state(True, initial=True)], 1),
        ({"name": "Show lines", "state": "checked", "on": False}, [state(True), state(False)], 1),
        (
            {"name": "Show lines", "state": "selected", "role": "check box"},
            [state(True, "selected")],
            1,
        ),
    ],
    "widget_text": [
        (TYPED, [typed("Hello")], 1),
        ({**TYPED, "initial": True}, [typed("Hello", initial=True)], 1),
        ({"text": {"contains": "ell"}, "role": "text"}, [typed("H"), typed("Hello")], 1),
    ],
    "clipboard_holds": [
        ({"text": "7"}, [copied("7")], 1),
        ({"text": "7", "selection": "primary"}, [copied("7", selection="primary")], 1),
        ({"text": "7", "app": "Mousepad"}, [copied("8"), copied("7")], 1),
    ],
    "process_started": [
        ({"name": "gedit"}, [process("gedit")], 1),
        (
            {"name": "python3", "arguments": {"contains": "report.py"}},
            [process("python3", "report.py", "-v")],
            1,
        ),
    ],
    "download_finished": [
        ({"name": {"glob": "invoice-*.csv"}}, [download()], 1),
        ({"url": "/invoice/7"}, [download("began"), download()], 1),
    ],
    "observed": [
        (PASTED, [pasted("7")], 1),
        ({**PASTED, "url": "/note"}, [went("/note"), pasted("7")], 1),
        ({"kind": "text.pasted", "where": {"trusted": False}}, [pasted("7", trusted=False)], 1),
        ({"kind": "tab.crashed"}, [("tab.crashed", {"tab": "T"})], 1),
        ({"kind": "download.finished", "where": {"size": {"min": 3}}}, [download()], 1),
        (
            {"kind": "process.started", "where": {"arguments.1": "report.py"}},
            [process("python3", "report.py")],
            1,
        ),
        ({"kind": "window.opened", "app": "gedit"}, [window()], 1),
        ({"kind": "request.finished", "where": {"cached": None}}, [finished("GET", "/a", 200)], 1),
    ],
    "request_accepted": [
        ({"url": "/api"}, [finished("GET", "/api", 200, served_from="revalidated")], 1),
        (
            PLACED,
            [finished("GET", "/orders/7", 200, hops=[HOP], cached=True, served_from="disk")],
            1,
        ),
        (
            ANSWER,
            [
                finished(
                    "POST",
                    "/api",
                    200,
                    response={"body": {"text": '{"id": 7}', "mime": "application/json"}},
                )
            ],
            1,
        ),
    ],
}

NO: dict[str, list[tuple[Any, list[Said]]]] = {
    "window_opened": [
        (SAVE_AS, [window(title="Save As...")]),
        (SAVE_AS, [window(app="mousepad")]),
        (SAVE_AS, [window(role="frame")]),
        (SAVE_AS, [window("closed")]),
        (SAVE_AS, [window(baseline=True)]),
    ],
    "widget_state": [
        (CHECKED, [state(True, initial=True)]),
        (CHECKED, [state(False)]),
        (CHECKED, [state(True, "selected")]),
        (CHECKED, [state(True, app="mousepad")]),
        (CHECKED, [state(True, baseline=True)]),
        ({**CHECKED, "role": "radio button"}, [state(True)]),
        ({**CHECKED, "name": "Show"}, [state(True)]),
    ],
    "widget_text": [
        (TYPED, [typed("Hello", initial=True)]),
        (TYPED, [typed("Hello!")]),
        (TYPED, [typed("Hello" * 2_000, cut=True)]),
        (TYPED, [typed("Hello", baseline=True)]),
        (TYPED, [typed("Hello", app="gedit")]),
        ({"text": ".*"}, [typed("Hello")]),
    ],
    "clipboard_holds": [
        ({"text": "7"}, [copied("7", selection="primary")]),
        ({"text": "7"}, [copied("77")]),
        ({"text": "7"}, [copied(None)]),
        ({"text": "7", "app": "Gedit"}, [copied("7")]),
        ({"text": "7"}, [copied("7", baseline=True)]),
    ],
    "process_started": [
        ({"name": "gedit"}, [process("gedit-helper")]),
        ({"name": "None"}, [("process.started", {"pid": 7})]),
        ({"name": "gedit"}, [process("gedit", kind="ended")]),
        ({"name": "gedit"}, [process("gedit", baseline=True)]),
        (
            {"name": "python3", "arguments": {"contains": "report.py"}},
            [process("python3", "other.py")],
        ),
    ],
    "download_finished": [
        ({"name": "invoice-7.csv"}, [download("began"), download("canceled")]),
        ({"name": "invoice-7.csv"}, [download(name="invoice-7.csv.exe")]),
        ({"url": "/invoice"}, [download()]),
    ],
    "observed": [
        (PASTED, [pasted("77")]),
        (PASTED, [pasted("7", trusted=False)]),
        ({**PASTED, "url": "/note"}, [went("/"), pasted("7")]),
        ({"kind": "element.double_clicked"}, [clicked("Go")]),
        ({"kind": "download.finished", "where": {"size": {"min": 4}}}, [download()]),
        (
            {"kind": "process.started", "where": {"arguments.9": "report.py"}},
            [process("python3", "report.py")],
        ),
        ({"kind": "window.opened", "app": "gedit"}, [window(app="mousepad")]),
    ],
    "request_accepted": [
        (
            ANSWER,
            [
                finished(
                    "POST",
                    "/api",
                    200,
                    response={"body": {"text": '{"id": 8}', "mime": "application/json"}},
                )
            ],
        ),
        (ANSWER, [finished("POST", "/api", 200)]),
        ({"url": "/api"}, [finished("GET", "/api", 200, cached=True, served_from="disk")]),
        (
            {"url": "/api"},
            [finished("GET", "/api", 200, served_from="worker", via="service_worker")],
        ),
    ],
}
