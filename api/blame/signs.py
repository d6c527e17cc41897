"""The marks by which one answer shows that a site stood in the agent's way (docs/blame.md).

Pure. What a site or an agent wrote is compared with the constants here, and is never a pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from detectors.matchers.url import Url, parse_url
from detectors.model.safe_json import mapping
from detectors.model.types import Json
from detectors.sdk.request_facts import is_servers, writes

Cause = Literal[
    "agent",
    "site_refused",
    "captcha",
    "login_wall",
    "rate_limited",
    "infeasible",
    "infrastructure",
    "unknown",
]

CHALLENGE_HEADERS: Mapping[str, Mapping[str, Cause]] = {
    "cf-mitigated": {"challenge": "site_refused"},
    "x-amzn-waf-action": {"challenge": "site_refused", "captcha": "captcha"},
    "x-vercel-mitigated": {"challenge": "site_refused", "deny": "site_refused"},
}
"""Response headers that only a challenge or a block has, and the cause that each value shows."""
CHALLENGE_TITLES = frozenset(
    (
        "just a moment...",
        "attention required! | cloudflare",
        "checking your browser before accessing",
        "ddos-guard",
        "pardon our interruption",
        "human verification",
        "robot check",
        "robot or human?",
        "access to this page has been denied",
    )
)
"""Titles of challenge pages, casefolded. A title alone proves nothing: any page may have it."""
CHALLENGE_PATHS = (
    "/cdn-cgi/challenge-platform/",
    "/_incapsula_resource",
    "/.well-known/sgcaptcha",
    "/.well-known/ddos-guard/",
    "/errors/validatecaptcha",
    "/_sec/cp_challenge/",
)
"""Where a site's protection answers below the site's own origin, in lower case."""
CAPTCHAS = (
    ("https://www.google.com", "/recaptcha/"),
    ("https://www.recaptcha.net", "/recaptcha/"),
    ("https://challenges.cloudflare.com", "/"),
    ("https://hcaptcha.com", "/"),
    ("https://newassets.hcaptcha.com", "/"),
    ("https://geo.captcha-delivery.com", "/"),
    ("https://client-api.arkoselabs.com", "/"),
)
"""Origin and beginning of the path of what shows captchas. Many an ordinary page embeds one too."""
CAPTCHA_PAGES = (
    ("https://www.google.com", "/sorry/"),
    ("https://geo.captcha-delivery.com", "/"),
)
"""Whole pages that a request of a site is redirected to and that hold nothing but a captcha."""
LOGIN_SEGMENTS = frozenset(
    ("login", "log-in", "log_in", "logon", "signin", "sign-in", "sign_in", "sso")
)
LOGOUT_SEGMENTS = frozenset(("logout", "log-out", "log_out", "signout", "sign-out", "sign_out"))
NETWORK_ERRORS = (
    "net::ERR_NAME_NOT_RESOLVED",
    "net::ERR_CONNECTION_",
    "net::ERR_TIMED_OUT",
    "net::ERR_INTERNET_DISCONNECTED",
    "net::ERR_ADDRESS_UNREACHABLE",
    "net::ERR_NETWORK_CHANGED",
    "net::ERR_PROXY_CONNECTION_FAILED",
    "net::ERR_TUNNEL_CONNECTION_FAILED",
    "net::ERR_EMPTY_RESPONSE",
)
"""Beginnings of a browser's errors by which nothing of the site was reached."""
INFEASIBLE_ANSWERS = frozenset(("fail", "infeasible", "[infeasible]"))
INFEASIBLE_TOOL = "report_infeasible"
MAX_COMPARED = 200
_ASKS_FOR_LOGIN = re.compile(
    r"\b(log[ -]?in|sign[ -]?in|log[ -]?on|sign[ -]?up|register|password|credentials?)\b",
    re.IGNORECASE,
)
"""What a task's author writes where an agent is to log in."""


class Sign(NamedTuple):
    """What one answer shows. ``what``: in words of ours; ``is_marked``: by more than a status that
    a single page may have of its own."""

    cause: Cause
    what: str
    is_marked: bool


def status_of(data: Mapping[str, Json]) -> int:
    """The status of an answer; 0 where it is none."""
    status = data.get("status")
    if type(status) is not int:
        return 0
    return status


def hops_of(data: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """The redirects before an answer, in order."""
    hops = data.get("hops")
    if not isinstance(hops, list):
        return []
    return [mapping(hop) for hop in hops]


def is_good(data: Mapping[str, Json]) -> bool:
    """Whether the server answered with what was asked for."""
    return is_servers(data) and 200 <= status_of(data) < 400


def sign_of_document(data: Mapping[str, Json]) -> Sign | None:
    """What the answer to a main document of the site shows, by its headers and its status."""
    headers = _headers(data)
    challenge = _sign_of_headers(headers)
    if challenge is not None:
        return challenge
    status = status_of(data)
    has_retry = "retry-after" in headers
    is_limited = status == 429 or (status in (403, 503) and has_retry)
    if is_limited:
        return Sign("rate_limited", f"status {status}", True)
    if status >= 500 or status == 451:
        return Sign("site_refused", f"status {status}", True)
    if status == 403 and not writes(data):
        return Sign("site_refused", "status 403", False)
    return None


def _sign_of_headers(headers: Mapping[str, str]) -> Sign | None:
    """What a header shows that only a challenge or a block has."""
    for name, causes in CHALLENGE_HEADERS.items():
        cause = causes.get(headers.get(name, ""))
        if cause is not None:
            return Sign(cause, f"a challenge page (header {name})", True)
    return None


def sign_of_background(data: Mapping[str, Json]) -> Sign | None:
    """What the answer to a script's request of the site shows. A 403 is the application's own word
    on what a user may do; a 5xx of a mere read is often noise."""
    status = status_of(data)
    is_retried = status == 503 and "retry-after" in _headers(data)
    if status == 429 or is_retried:
        return Sign("rate_limited", f"status {status} of a script's request", True)
    if status >= 500 and writes(data):
        return Sign("site_refused", f"status {status} of a script's request", True)
    return None


def sign_of_redirect(data: Mapping[str, Json], *, is_login_asked: bool) -> Sign | None:
    """What a main document shows that was reached by redirects from the site, or that wants a user
    and a password (401)."""
    if status_of(data) == 401 and not is_login_asked:
        return Sign("login_wall", "status 401", True)
    addresses = [parse_url(str(hop.get("url"))) for hop in hops_of(data)]
    final = parse_url(str(data.get("url")))
    if final is None or not addresses:
        return None
    if _is_below(final, CAPTCHA_PAGES):
        return Sign("captcha", "a redirect to a captcha", True)
    if is_login_asked or not is_login_page(final):
        return None
    says_nothing = any(map(_is_about_login, addresses))
    return None if says_nothing else Sign("login_wall", "a redirect to a login page", True)


def _is_about_login(url: Url | None) -> bool:
    """Whether a redirect from an address says nothing: a login or logout page's, or of no address
    that can be read."""
    return url is None or is_login_page(url) or _has(url, LOGOUT_SEGMENTS)


def is_login_page(url: Url) -> bool:
    """Whether an address is that of a login page, by a whole segment of its path."""
    return _has(url, LOGIN_SEGMENTS)


def is_captcha(url: Url) -> bool:
    """Whether an address is of what shows captchas."""
    return _is_below(url, CAPTCHAS)


def is_challenge_path(url: Url) -> bool:
    """Whether an address, of the site's own origin, is of its protection."""
    return f"{url.path.lower()}/".startswith(CHALLENGE_PATHS)


def is_challenge_title(title: Json) -> bool:
    """Whether a title is, as a whole, that of a known challenge page."""
    return isinstance(title, str) and _short(title) in CHALLENGE_TITLES


def is_network_error(error: Json) -> bool:
    """Whether the browser reached nothing of the site."""
    return isinstance(error, str) and error.startswith(NETWORK_ERRORS)


def is_infeasible_claim(kind: str, data: Mapping[str, Json]) -> bool:
    """Whether the agent declares with this event that the task can't be done."""
    if kind == "agent.answered":
        return _is_claim(data.get("text"))
    if kind == "agent.tool_called":
        return data.get("tool") == INFEASIBLE_TOOL
    action = data.get("action")
    if not isinstance(action, Mapping):
        return _is_claim(action)
    names = ("action_type", "type", "action")
    return any(_is_claim(action.get(name)) for name in names)


def asks_for_login(task: Mapping[str, Json]) -> bool:
    """Whether a task, as JSON, is about logging in: its instruction or a condition says so."""
    return any(_ASKS_FOR_LOGIN.search(text) for text in _texts(task))


def _texts(task: Mapping[str, Json]) -> Iterator[str]:
    """Yield the texts of a task in which an address may stand."""
    yield str(task.get("instruction", ""))
    for milestone in task.get("milestones", ()):
        yield str(milestone.get("when"))


def _headers(data: Mapping[str, Json]) -> dict[str, str]:
    """The response's headers, as far as the task asked for them; names in lower case."""
    headers = mapping(mapping(data.get("response")).get("headers"))
    return {str(name).lower(): _short(str(value)) for name, value in headers.items()}


def _short(text: str) -> str:
    """A text to compare with constants; empty where it is longer than each of them."""
    if len(text) > MAX_COMPARED:
        return ""
    return text.strip().casefold()


def _is_claim(text: Json) -> bool:
    """Whether a text says that a task can't be done."""
    if not isinstance(text, str):
        return False
    short = _short(text)
    return short in INFEASIBLE_ANSWERS or short.startswith(f"{INFEASIBLE_TOOL}(")


def _is_below(url: Url, places: tuple[tuple[str, str], ...]) -> bool:
    """Whether an address lies in one of the places, each an origin and a path."""
    path = f"{url.path}/"
    return any(url.origin == origin and path.startswith(start) for origin, start in places)


def _has(url: Url, segments: frozenset[str]) -> bool:
    """Whether a part of an address's path has one of these names, whatever stands behind a dot."""
    names = (segment.partition(".")[0] for segment in url.path.lower().split("/"))
    return any(name in segments for name in names)
