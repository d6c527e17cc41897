"""The checks that need WebArena-Verified's patched site, which sends a form's draft to an address
of its own.

Here the fields themselves are seen, so no site has to be patched: the form is filled, and not sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lab.benchmarks.patterns import is_pattern, rewritten
from lab.benchmarks.verified_sites import Sites

_DRAFT = "dummy_bin"
_ABOUT = frozenset(("form_id",))


def is_draft(config: Mapping[str, Any]) -> bool:
    """Whether the check waits for the patched site's draft."""
    return _DRAFT in str(config["expected"].get("url"))


def drafted(config: Mapping[str, Any], sites: Sites) -> dict[str, Any]:
    """The fields of the form hold what the draft was to say."""
    fields: dict[str, Any] = {}
    for name, wanted in config["expected"]["post_data"].items():
        if name not in _ABOUT:
            said = {"regex": rewritten(wanted)} if is_pattern(wanted) else {"one_of": [wanted]}
            fields[name] = {**said, "ignore_case": True}
    return {
        "form_filled": {"fields": fields, "url": f"{sites.urls['shopping'].rstrip('/')}/contact"}
    }
