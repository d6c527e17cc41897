"""Immunity 14 for matchers: whatever an agent or a page says, each answers yes or no, throws
nothing, and ends soon."""

from __future__ import annotations

import subprocess
import sys

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from detectors.matchers.lenient_kinds import KINDS as LENIENT
from detectors.matchers.text import MODES
from detectors.matchers.typed import TYPES as TYPED
from tests.fuzz.hostile_matchers import KINDS, TEXTS, asked, matchers
from tests.support.examples import examples

MATCHERS = dict(matchers())
PIECES = [
    *"0123456789.,:;+-/%$\u20ac\u00a3()[]{}\"'`#*_\\ \t\n\0",
    "\u00b0",
    "\u2013",
    "\u2019",
    "\u0301",
    "\u202e",
    "\u200d",
    "\ud800",
    "\uff11",
    "\u0663",
    "1e999",
    "NaN",
    "-inf",
    "1,111",
    "9" * 30,
    "AM",
    " h ",
    " min",
    "km",
    "May ",
    "2024",
    "-05-",
    "T10:00",
    "USD",
    "percent",
    "true",
    "null",
    "two hundred",
    "http://",
    "shop.test",
    "//",
    "?a=",
    "&b=",
    "%61",
    "%",
    "#",
    "--x\r\n",
    'name="a"',
    "\r\n\r\n",
    '{"a":',
    '"b"',
    "[[",
    "]]",
    "}",
    "```",
    "48.5",
    "N",
    "W",
]
MADE_UP = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=24).map("".join),
    st.tuples(st.sampled_from(PIECES), st.integers(1, 3_000), st.sampled_from(PIECES)).map(
        lambda of: of[0] * of[1] + of[2]
    ),
    st.text(max_size=60),
    st.recursive(
        st.none()
        | st.booleans()
        | st.floats(allow_nan=False)
        | st.integers(-(2**63), 2**63 - 1)
        | st.sampled_from(["a", "3"]),
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abk"), inner, max_size=4)
        ),
    ).map(lambda value: orjson.dumps(value).decode()),
)


def test_no_kind_of_matcher_is_left_out() -> None:
    """Modes and typed forms of a text by their first key, lenient kinds by their names."""
    named = {next(iter(spec)) if isinstance(spec, dict) else "equals" for spec in TEXTS.values()}
    assert named == set(MODES) | set(TYPED)
    assert set(KINDS) == set(LENIENT)


@pytest.mark.parametrize("name", MATCHERS)
@settings(max_examples=examples(60))
@given(MADE_UP)
@example("1" + "0" * 28 + "H")  # hours with more digits than a decimal's precision
@example("/***")  # an address of which the daemon masked scheme and host
def test_a_made_up_text_gets_an_answer(name: str, text: str) -> None:
    """The same one again, and nothing is caught on the way: a matcher that throws is to be
    mended."""
    answer, faults = asked(MATCHERS[name], text)
    assert isinstance(answer, bool)
    assert faults == []
    assert asked(MATCHERS[name], text) == (answer, [])


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_hostile_texts_end_in_bounded_time_and_memory(every: int) -> None:
    """Each matcher and each of the texts, a ninth of the pairs or all, in a process whose memory the
    system limits."""
    told = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.hostile_matchers", str(every)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert told.returncode == 0, f"{told.stdout[-4000:]}{told.stderr[-2000:]}"
