"""True, false, or nobody knows: what is known decides, and no more is asked than decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from detectors.model.three_valued import all_verdict, any_verdict

Verdict = bool | None
TABLE: list[tuple[Sequence[Verdict], Verdict, Verdict]] = [
    # verdicts → whether one of them is true, whether all of them are
    ([], False, True),
    ([True], True, True),
    ([False], False, False),
    ([None], None, None),
    ([True, False], True, False),
    ([False, True], True, False),
    ([None, True], True, None),
    ([None, False], None, False),
    ([False, None, True], True, False),
]


@pytest.mark.parametrize(("verdicts", "one", "each"), TABLE)
def test_what_is_known_decides(verdicts: Sequence[Verdict], one: Verdict, each: Verdict) -> None:
    assert (any_verdict(verdicts), all_verdict(verdicts)) == (one, each)
    with_more = None if one is False else one
    assert any_verdict(verdicts, more=True) is with_more, "one of those may be true"


def test_no_more_is_asked_than_decides() -> None:
    def stops_after(decisive: bool) -> Iterator[Verdict]:
        yield None
        yield decisive
        raise AssertionError("it was decided")

    assert any_verdict(stops_after(True)) is True
    assert all_verdict(stops_after(False)) is False
