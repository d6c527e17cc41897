"""Of which requests a plan asks the bodies: by address and, where a rule says it, by method and by
how they ended."""

from __future__ import annotations

from collections.abc import Iterable

from detectors.matchers.plain import text_key
from detectors.matchers.url import url_matches
from detectors.matchers.values import StatusMatch
from detectors.model.errors import SpecError

_KEYS = frozenset(("url", "methods", "refused"))
_REFUSAL = 400


def plan_entry(
    url: object, methods: Iterable[str] | None, status: StatusMatch
) -> dict[str, object]:
    """An entry of a plan. ``url``: an address as `url_matches` takes it; ``methods``: index keys,
    None for any; ``status``: what the rule may count, of which the daemon is told only whether a
    refusal is among it."""
    refused = any(high >= _REFUSAL for _, high in status.ranges)
    return {"url": url, "refused": refused} | (
        {} if methods is None else {"methods": sorted(methods)}
    )


class Asked:
    """An entry of a plan as the daemon reads it; an address alone asks for any method and any
    end."""

    __slots__ = ("_methods", "_origin", "_spec", "refused")

    def __init__(self, entry: object, origin: str | None) -> None:
        """Raises `SpecError` for an entry that is none."""
        about = (
            entry if isinstance(entry, dict) and "url" in entry else {"url": entry, "refused": True}
        )
        methods = about.get("methods")
        if set(about) - _KEYS or not (methods is None or isinstance(methods, list)):
            raise SpecError(
                (),
                entry,
                "an address, or {url: an address or null for any, methods?: [methods], refused?:"
                " true or false}",
            )
        self._spec, self._origin = about["url"], origin
        self._methods = None if methods is None else frozenset(map(str, methods))
        self.refused = about.get("refused") is not False
        if self._spec is not None:
            url_matches(self._spec, "http://spec.example/", origin)

    def takes(self, method: str, url: str) -> bool:
        """Whether it asks for what is sent by ``method`` to ``url``."""
        taken = self._methods is None or text_key(method) in self._methods
        return taken and (self._spec is None or url_matches(self._spec, url, self._origin))
