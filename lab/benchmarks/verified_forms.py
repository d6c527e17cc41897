"""The checks that need WebArena-Verified's patched site, which sends a form's draft to an address
of its own.

Here the fields themselves are seen, so no site has to be patched: the form is filled, and not sent.
"""

from __future__ import annotations

from detectors.model.json_value import JsonObject, JsonValue, require_object
from lab.benchmarks.patterns import is_pattern, rewrite_pattern
from lab.benchmarks.verified_sites import Sites

_DRAFT = "dummy_bin"
_ABOUT = frozenset(("form_id",))


def is_draft(config: JsonObject) -> bool:
    """Whether the check waits for the patched site's draft."""
    return _DRAFT in str(require_object(config["expected"], "expected").get("url"))


def draft_fields(config: JsonObject, sites: Sites) -> JsonObject:
    """The fields of the form hold what the draft was to say."""
    fields: dict[str, JsonValue] = {}
    expected = require_object(config["expected"], "expected")
    for name, text in require_object(expected["post_data"], "post_data").items():
        if name in _ABOUT:
            continue
        if is_pattern(text):
            fields[name] = {"regex": rewrite_pattern(text), "ignore_case": True}
        else:
            fields[name] = {"one_of": [text], "ignore_case": True}
    address = f"{sites.urls['shopping'].rstrip('/')}/contact"
    return {"form_filled": {"fields": fields, "url": address}}
