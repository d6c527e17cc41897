"""What an operator sets: read from the environment, mistakes named; the breaker; pictures."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from api.stages.judge.facts import Fact
from api.stages.judge.pictures import picture_parts
from api.stages.judge.settings import judge_settings
from api.stages.peer import Breaker

GOOD = {"MILESTONED_JUDGE_URL": "http://a.test/v1", "MILESTONED_JUDGE_MODEL": "m"}


def test_without_an_address_there_is_no_judge(tmp_path: Path) -> None:
    """With one there is; its key may be in a file."""
    assert judge_settings({}) is None
    (tmp_path / "key").write_text("sk-1\n")
    found = judge_settings(
        GOOD
        | {"MILESTONED_JUDGE_KEY_FILE": str(tmp_path / "key"), "MILESTONED_JUDGE_PRICE_IN": "2"}
    )
    assert found is not None
    assert (found.peer.key, found.model, found.cost(500_000, 1)) == ("sk-1", "m", 1.0)


MISTAKES = {
    "no model": ({"MILESTONED_JUDGE_MODEL": ""}, "_MODEL: not set, wanted the model's name"),
    "no address": ({"MILESTONED_JUDGE_URL": "a.test"}, "_URL: 'a.test', wanted an address"),
    "two keys": ({"MILESTONED_JUDGE_KEY": "a", "MILESTONED_JUDGE_KEY_FILE": "b"}, "both are set"),
    "no key file": ({"MILESTONED_JUDGE_KEY_FILE": "/nowhere"}, "'/nowhere' can't be read"),
    "no number": ({"MILESTONED_JUDGE_PRICE_IN": "cheap"}, "_PRICE_IN: 'cheap', wanted a number"),
    "too sure": (
        {"MILESTONED_JUDGE_ACCURACY": "1.5"},
        "_ACCURACY: '1.5', wanted a number from 0 to 1",
    ),
    "no folder": ({"MILESTONED_JUDGE_PICTURES": "/nowhere"}, "'/nowhere' is no folder"),
}


@pytest.mark.parametrize(("env", "says"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_wrong_setting_is_named(env: dict[str, str], says: str) -> None:
    """With its value and what was wanted."""
    with pytest.raises(ValueError, match=says):
        judge_settings(GOOD | env)


def test_a_breaker_opens_tries_and_closes() -> None:
    """After so many failures in a row; then one call a period, until one is well."""
    now = [0.0]
    breaker = Breaker(2, 30.0, lambda: now[0])
    breaker.record(False)
    assert breaker.allows()
    breaker.record(True)
    breaker.record(False)
    breaker.record(False)
    assert not breaker.allows()
    now[0] = 31.0
    assert [breaker.allows(), breaker.allows()] == [True, False], "one tries"
    breaker.record(True)
    assert breaker.allows()


def test_a_picture_is_what_the_log_says_or_none(tmp_path: Path) -> None:
    """Its content has the digest of its name; no name leads out of the folder; the last three are
    shown."""
    right = hashlib.sha256(b"right").hexdigest()
    (tmp_path / f"{right}.png").write_bytes(b"right")
    (tmp_path / f"{'0' * 64}.png").write_bytes(b"swapped")
    names = {f"e{number}": f"e{number}-0" for number in range(9)}

    def shown(*sha256: str) -> int:
        facts = [
            Fact(f"e{n}", n, "screen.captured", 0, {}, True, (), one)
            for n, one in enumerate(sha256)
        ]
        return len(picture_parts(facts, names, tmp_path)) // 2

    assert shown(right) == 1
    assert shown("0" * 64) == shown("../secret") == shown("1" * 64) == 0
    assert shown(*[right] * 5) == 3
