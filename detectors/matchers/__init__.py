"""Typed matchers. What they compare *with* comes from the task's author; nothing from agent or page
is a pattern."""

from detectors.matchers.answer import ValueMatch
from detectors.matchers.call import AddressesMatch, ContentMatch
from detectors.matchers.facts import FactsMatch
from detectors.matchers.grade import Grade
from detectors.matchers.plain import normal, text_key, text_keys
from detectors.matchers.state import StateMatch
from detectors.matchers.structure import StructureMatch
from detectors.matchers.text import TextMatch
from detectors.matchers.url import AddressTextMatch, UrlMatch, url_matches
from detectors.matchers.values import BodyMatch, IntRange, StatusMatch

__all__ = [
    "AddressTextMatch",
    "AddressesMatch",
    "BodyMatch",
    "ContentMatch",
    "FactsMatch",
    "Grade",
    "IntRange",
    "StateMatch",
    "StatusMatch",
    "StructureMatch",
    "TextMatch",
    "UrlMatch",
    "ValueMatch",
    "normal",
    "text_key",
    "text_keys",
    "url_matches",
]
