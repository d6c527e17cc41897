"""Typed matchers. What they compare *with* comes from the task's author; nothing from agent or page is a pattern."""

from detectors.matchers.answer import ValueMatch
from detectors.matchers.facts import FactsMatch
from detectors.matchers.plain import normal, text_key
from detectors.matchers.state import StateMatch
from detectors.matchers.text import TextMatch
from detectors.matchers.url import UrlMatch, url_matches
from detectors.matchers.values import BodyMatch, IntRange, StatusMatch

__all__ = [
    "BodyMatch",
    "FactsMatch",
    "IntRange",
    "StateMatch",
    "StatusMatch",
    "TextMatch",
    "UrlMatch",
    "ValueMatch",
    "normal",
    "text_key",
    "url_matches",
]
