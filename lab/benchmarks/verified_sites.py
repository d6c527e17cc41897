"""Where a benchmark's sites are: its placeholders in addresses, texts and patterns are replaced by
origins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from detectors.model.json_value import JsonValue
from lab.benchmarks.base import BadSourceError
from lab.benchmarks.patterns import is_pattern

_PLACE = re.compile(r"__([A-Z_]+?)__")


@dataclass(frozen=True, slots=True)
class Sites:
    """Names, lower case, and origins (a path may follow) without a slash at the end."""

    urls: Mapping[str, str]

    def rendered(self, value: JsonValue) -> JsonValue:
        """A text with its placeholders replaced, escaped where it is a pattern; anything else
        stays."""
        if not isinstance(value, str):
            return value
        escape = is_pattern(value)

        def origin(placeholder: re.Match[str]) -> str:
            """Return the origin that a placeholder stands for; itself where no such site is
            known."""
            url = self.urls.get(placeholder[1].lower())
            if url is None:
                return placeholder[0]
            return re.escape(url.rstrip("/")) if escape else url.rstrip("/")

        return _PLACE.sub(origin, value)

    def origin(self, name: str) -> str:
        """The site's origin alone. Raises `BadSourceError` for a site that nobody named."""
        if name not in self.urls:
            raise BadSourceError(
                f"sites: got {name!r}, wanted one of {', '.join(self.urls)}, or --site {name}=URL"
            )
        scheme, _, rest = self.urls[name].partition("://")
        return f"{scheme}://{rest.partition('/')[0]}"

    def scope(self) -> list[str]:
        """Patterns for every address of every site, sorted."""
        return sorted({f"{self.origin(name)}/*" for name in self.urls})
