"""Addresses as requests to a site are compared: case, a slash at the end and %61 for a do not
count."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import parse_qs, unquote, urlsplit

_PORTS = {"http": ":80", "https": ":443"}


@lru_cache(maxsize=4096)
def base_of(url: str, encoded: bool = False) -> str:
    """Scheme, host, port and path in one writing; "" for what is no address."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    if not parts.scheme or not parts.netloc:
        return ""
    path = "/".join(one for one in parts.path.split("/") if not encoded or _hidden(one) is None)
    host = parts.netloc.removesuffix(_PORTS.get(parts.scheme, "\0"))
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return f"{parts.scheme}://{host}{unquote(path).rstrip('/')}{fragment}".lower()


@lru_cache(maxsize=256)
def query_of(url: str, encoded: bool = False) -> Mapping[str, str]:
    """The last value of each parameter, in small letters and without the white space around it."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return {}
    queries = [
        hidden for one in parts.path.split("/") if encoded and (hidden := _hidden(one)) is not None
    ]
    # No limit of fields: an address that is looked at has at most MAX_URL characters.
    pairs = parse_qs("&".join([*queries, parts.query]), keep_blank_values=True)
    return {name: values[-1].lower().strip() for name, values in pairs.items()}


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
