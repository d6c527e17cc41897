"""Tables of yes and of no for the rules on how an element or a text of a page stands now."""

from __future__ import annotations

from typing import Any

from tests.support.logs import Said, went

WRAP = {"role": "checkbox", "name": "Wrap", "tag": "input", "id": "wrap"}


def element(key: str = "1", **states: Any) -> Said:
    """How one element stands; visible unless said otherwise."""
    data = {"tab": "T", "frame": "T", "key": key, "element": WRAP, "visible": True, "in_view": True}
    return ("element.state_changed", data | states)


def shown(text: str, key: str = "1", **more: Any) -> Said:
    return ("text.shown", {"tab": "T", "frame": "T", "key": key, "text": text, **more})


CHECKED = {"role": "checkbox", "name": "Wrap", "checked": True}
SAVED = {"text": {"contains": "Saved"}, "now": True}

YES: dict[str, list[tuple[Any, list[Said], float]]] = {
    "element_state": [
        ({"name": "Wrap"}, [element(initial=True)], 1),
        ({"id": "wrap", "in_view": True}, [element(in_view=False), element()], 1),
        ({"id": "wrap", "visible": False}, [element(), element(visible=False)], 1),
        ({"id": "wrap", "visible": False}, [element(visible=False, gone=True)], 1),
        (CHECKED, [element(checked=False, initial=True), element(checked=True)], 1),
        ({**CHECKED, "initial": True}, [element(checked=True, initial=True)], 1),
        ({**CHECKED, "hidden": True}, [element(checked=True, visible=False)], 1),
        ({"tag": "input", "disabled": False}, [element(disabled=False)], 1),
        ({"selector": "#wrap:checked"}, [element(selectors=["#wrap:checked"])], 1),
        ({"id": "wrap", "css_class": "on"}, [element(classes=["big", "on"])], 1),
        ({"id": "wrap", "url": "/a"}, [went("/a"), element()], 1),
        (
            {"name": "Wrap", "selected": True, "expanded": False, "pressed": True},
            [element(selected=True, expanded=False, pressed=True)],
            1,
        ),
    ],
    "text_visible": [
        (SAVED, [shown("Saved at 10:00")], 1),
        (SAVED, [shown("Saved", initial=True)], 1),
        (SAVED, [shown("Saving"), shown("Saved")], 1),
    ],
}
NO: dict[str, list[tuple[Any, list[Said]]]] = {
    "element_state": [
        ({"name": "Wrap"}, [element(visible=False)]),
        ({"name": "Wrap"}, [element(baseline=True)]),
        ({"name": "Wrap", "in_view": True}, [element(in_view=False)]),
        (CHECKED, [element(checked=False)]),
        (CHECKED, [element()]),
        (CHECKED, [element(checked=True, initial=True)]),
        (CHECKED, [element(checked=True, visible=False)]),
        ({**CHECKED, "initial": False}, [element(checked=True, initial=True)]),
        ({"name": "Wrap", "initial": False}, [element(initial=True)]),
        ({**CHECKED, "role": "switch"}, [element(checked=True)]),
        ({"selector": "#wrap"}, [element(selectors=["#other"])]),
        ({"selector": "#wrap"}, [element()]),
        ({"id": "wrap", "css_class": "on"}, [element(classes=["only"])]),
        ({"id": "wrap", "url": "/b"}, [went("/a"), element()]),
        ({"name": "Wrap"}, [went("http://elsewhere.test/"), element()]),
    ],
    "text_visible": [
        (SAVED, [shown("")]),
        (SAVED, [shown("Saving")]),
        (SAVED, [shown("Saved", baseline=True)]),
        (SAVED, [went("http://elsewhere.test/"), shown("Saved")]),
        (SAVED, [("text.appeared", {"tab": "T", "frame": "T", "text": "Saved"})]),
        ({"text": "Saved"}, [shown("Saved")]),
    ],
}
