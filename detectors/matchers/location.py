"""Addresses as requests to a site are compared: case, a slash at the end and %61 for a do not
count."""

from __future__ import annotations

import base64
import binascii
import inspect
from collections.abc import Mapping
from sys import getsizeof
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from detectors.model.caches import cache_by_size, cache_short
from detectors.model.memory import size_of

MAX_SPLIT = 2_048
"""Characters of an address that the standard library's own cache, of 128, may keep."""
_PORTS = {"http": ":80", "https": ":443"}


@cache_short(1024, 512)
@cache_by_size(16 << 20, lambda base, *_: getsizeof(base))
def base_of(url: str, encoded: bool = False) -> str:
    """Scheme, host, port and path in one writing; "" for what is no address."""
    try:
        parts = _split(url)
    except ValueError:
        return ""
    if not parts.scheme or not parts.netloc:
        return ""
    path = "/".join(one for one in parts.path.split("/") if not encoded or _hidden(one) is None)
    host = parts.netloc.removesuffix(_PORTS.get(parts.scheme, "\0"))
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return f"{parts.scheme}://{host}{unquote(path).rstrip('/')}{fragment}".lower()


@cache_short(256, 512)
@cache_by_size(4 << 20, lambda query, *_: size_of([query]))
def query_of(url: str, encoded: bool = False) -> Mapping[str, str]:
    """The last value of each parameter, in small letters and without the white space around it."""
    try:
        parts = _split(url)
    except ValueError:
        return {}
    queries = [
        hidden for one in parts.path.split("/") if encoded and (hidden := _hidden(one)) is not None
    ]
    # No limit of fields: an address that is looked at has at most MAX_URL characters.
    pairs = parse_qs("&".join([*queries, parts.query]), keep_blank_values=True)
    return {name: values[-1].lower().strip() for name, values in pairs.items()}


def _split(url: str) -> SplitResult:
    return urlsplit(url) if len(url) <= MAX_SPLIT else inspect.unwrap(urlsplit)(url)


def _hidden(segment: str) -> str | None:
    """The query that a part of a path is, in base64; None where it is none."""
    if len(segment) < 4 or not segment.rstrip("=").replace("-", "a").replace("_", "a").isalnum():
        return None
    try:
        raw = base64.urlsafe_b64decode(segment.rstrip("=") + "=" * (-len(segment.rstrip("=")) % 4))
        said = unquote(raw.decode()).strip()
    except (binascii.Error, ValueError):
        return None
    return said.lstrip("?&") if "=" in said else None


def location_key(url: str) -> str:
    """Origin, path, query and fragment of an address in one writing; "" for what is no address."""
    place, mark, fragment = url.partition("#")
    base = base_of(place)
    pairs = "&".join(f"{name}={value}" for name, value in sorted(query_of(place).items()))
    return base and f"{base}{'?' if pairs else ''}{pairs}{mark}{fragment}"
