"""How long daemon and service wait before what failed is tried again."""

from __future__ import annotations

import pytest

from common.backoff import retry_pause_s


@pytest.mark.parametrize(
    ("failures", "pause_s"),
    [(0, 0.5), (1, 1.0), (2, 2.0), (3, 4.0), (4, 5.0), (30, 5.0), (10**9, 5.0)],
)
def test_a_pause_doubles_from_failure_to_failure_up_to_the_longest(
    failures: int, pause_s: float
) -> None:
    assert retry_pause_s(failures, first_s=0.5, max_s=5.0) == pause_s
