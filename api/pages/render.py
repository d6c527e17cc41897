"""Templates, the headers that every page bears, and the static files.

What agents and sites wrote is escaped by the templates without exception; a Content-Security-Policy
that allows no inline script, no inline style and no other origin is the second wall.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from fastapi import Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from api.core.errors import NotFoundError
from api.episodes.label_index import label_text
from api.rewards.event_text import clip, telling
from api.rewards.rendering import unpaid_in_words
from detectors.model.rewards import MilestoneJson, RewardJson

STATIC = Path(__file__).with_name("static")
_EVENT = re.compile(r"\bevent ([0-9]{1,15})\b", re.ASCII)
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}
_FOREVER = {
    "cache-control": "public, max-age=31536000, immutable",
    "x-content-type-options": "nosniff",
}


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("api.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for filter in (
        number,
        format_change,
        seconds,
        moment,
        clip,
        percent,
        ago,
        label_text,
        telling,
        split_at_events,
    ):
        made.filters[filter.__name__] = filter
    made.globals["static"] = static_path
    made.globals["unpaid"] = unpaid
    return made


def render(name: str, **data: object) -> str:
    """Render the template ``name`` with ``data`` as text."""
    return _environment().get_template(name).render(**data)


def page(
    name: str, status: int = 200, headers: Mapping[str, str] | None = None, **data: object
) -> Response:
    """Render the template ``name`` with ``data`` as a response."""
    return Response(
        render(name, **data), status, {**HEADERS, **(headers or {})}, "text/html; charset=utf-8"
    )


def split_at_events(text: str) -> list[tuple[str, str]]:
    """Split a reason before and after each ``event N`` in it: pairs of a piece and N, which is
    empty for a piece that names no event."""
    pieces = []
    at = 0
    for found in _EVENT.finditer(text):
        pieces += [(text[at : found.start()], ""), (found[0], found[1])]
        at = found.end()
    pieces.append((text[at:], ""))
    return [piece for piece in pieces if piece[0]]


def static_path(name: str) -> str:
    """Where a static file is served, for ever: its digest is part of its path."""
    return f"/static/{_static(name)[0]}/{name}"


def read_static(name: str) -> str:
    """Return a static file as text, for a page that holds it."""
    return _static(name)[1].decode()


@cache
def _packed(name: str) -> bytes:
    return gzip.compress(_static(name)[1], mtime=0)


@cache
def _static(name: str) -> tuple[str, bytes]:
    content = (STATIC / name).read_bytes()
    return hashlib.sha256(content).hexdigest()[:16], content


def static_file(digest: str, name: str, packed: bool) -> Response:
    """A static file; ``packed`` with gzip where its reader takes that. Raises `NotFoundError`."""
    if name not in {path.name for path in STATIC.iterdir()} or Path(name).suffix not in _TYPES:
        raise NotFoundError(f"/static/{digest[:20]}/{name[:80]}: there is no such file")
    known, content = _static(name)
    if digest != known:
        raise NotFoundError(
            f"/static/{digest[:20]}/{name}: the file has another digest now; load the page again"
        )
    if packed:
        return Response(
            _packed(name), 200, {**_FOREVER, "content-encoding": "gzip"}, _TYPES[Path(name).suffix]
        )
    return Response(content, 200, _FOREVER, _TYPES[Path(name).suffix])


def number(value: float | None, digits: int = 3) -> str:
    """A reward for people: without the zeros that say nothing; a dash where it is not known."""
    if value is None:
        return "–"
    text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text.replace("-", "−")


def format_change(value: float | None) -> str:
    """A change: with its sign, but for nothing."""
    text = number(value)
    return f"+{text}" if value is not None and value > 0 and text != "0" else text


def unpaid(milestone: MilestoneJson, reward: RewardJson | None) -> str:
    """Why the worth of a milestone is not what was paid; empty where it is, or nothing was to be
    paid. ``reward``: of its step, if that is sealed."""
    if milestone["baseline"]:
        return ""
    if reward is None:
        return unpaid_in_words(None, mask=True, worth=milestone["worth"])
    return unpaid_in_words(
        reward["status"],
        mask=reward["mask"],
        worth=milestone["worth"],
        reason=reward["reason"],
    )


def ago(seconds: float) -> str:
    """How long ago something was, roughly."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"


def percent(value: float | None) -> str:
    """A rate; a dash where it is not known."""
    return "–" if value is None else f"{value:.1%}".replace("-", "−")


def seconds(nanoseconds: int | None) -> str:
    """Format the time since the episode opened, in seconds."""
    return "–" if nanoseconds is None else f"{nanoseconds / 1e9:.2f} s"


def moment(iso: str | None) -> str:
    """A UTC time to the second."""
    return "–" if iso is None else f"{iso[:10]} {iso[11:19]}"
