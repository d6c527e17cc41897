"""The calls of a script probe's expression, and those that Chromium refuses though they only read
(docs/probes.md).

Chromium refuses by its own list of what can't change a page. Its error does not say which call it
was, so the call is named from the text: by name, without a parser of JavaScript.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_LITERAL = re.compile(r"""\"(?:\\.|[^"\\\n])*\"|'(?:\\.|[^'\\\n])*'|/\*.*?\*/""", re.DOTALL)
_CALL = re.compile(r"(?<![\w$])(?:new\s+)?\.?[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)*(?=\()")
_OBJECT_SPREAD = re.compile(r"\{\s*\.\.\.|,\s*\.\.\.[^,(\[{}\])]*\}")
_NO_CALLS = frozenset("if for while switch catch function return typeof".split())

INSTEAD: Mapping[str, str] = {
    "getItem": 'localStorage["key"]',
    "getElementById": 'document.querySelector("#id")',
    "closest": "a loop over parentElement",
    "matches": 'Array.from(document.querySelectorAll("selector")).includes(element)',
    "new URL": "location.pathname, location.search, or split on the text",
    "new URLSearchParams": 'location.search.slice(1).split("&")',
    "new FormData": "form.elements.name.value",
    "Object.fromEntries": "reduce, or a loop that fills an object",
    "Object.assign": "a loop that fills an object",
    "document.evaluate": "document.querySelector and a test of textContent",
    "matchAll": "match with the flag g",
    "checkValidity": "validity.valid",
    "checkVisibility": "getComputedStyle(element).display",
    "getPropertyValue": "getComputedStyle(element).display",
    "getClientRects": "getBoundingClientRect()",
    "getRootNode": "element.ownerDocument, or a loop over parentNode",
    "compareDocumentPosition": 'Array.from(document.querySelectorAll("selector")).indexOf(element)',
    "isEqualNode": "a comparison of outerHTML",
    "structuredClone": "JSON.parse(JSON.stringify(value))",
}
"""What Chromium refuses though it only reads, by the last name of the call (where that is not
enough, its whole name), and what can be written instead. A test asks a real Chromium about each."""
SPREAD = "a loop that fills an object"
"""What can be written instead of ``{...object}``."""


def calls_of(expression: str) -> tuple[str, ...]:
    """The names of all that the expression calls, as they are written, each once, in order:
    ``.closest`` where the call is of a value that has no name."""
    found = (" ".join(name.split()) for name in _CALL.findall(_LITERAL.sub('""', expression)))
    return tuple(dict.fromkeys(name for name in found if name not in _NO_CALLS))


def refused_calls(expression: str) -> tuple[tuple[str, str], ...]:
    """Those that are known to be refused: (as it is written, what can be written instead)."""
    found = [
        (name, instead) for name in calls_of(expression) if (instead := _instead(name)) is not None
    ]
    if _OBJECT_SPREAD.search(_LITERAL.sub('""', expression)):
        found.append(("{...object}", SPREAD))
    return tuple(found)


def _instead(name: str) -> str | None:
    return INSTEAD.get(name) or INSTEAD.get(re.split(r"\??\.", name)[-1])


def refusal(expression: str) -> str:
    """Why Chromium refused this expression, in words, with the call named as far as its text
    tells."""
    known = refused_calls(expression)
    said = "the browser refuses the expression for a possible side-effect: "
    if known:
        return said + "; ".join(
            f"{name} may not be called, write {instead}" for name, instead in known
        )
    calls = ", ".join(calls_of(expression))[:200]
    return said + (
        f"it assigns, or one of its calls may change the page: {calls}" if calls else "it assigns"
    )
