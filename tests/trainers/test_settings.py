"""What an adapter is told, and what it carries: tables of what is understood and of what is
refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from milestoned_client.adapters.carried import label_of, last_text, parse_label, plain
from milestoned_client.adapters.settings import AdapterSettings, settings


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the machine's own."""
    for name in ("URL", "TOKEN", "FOLD", "GAMMA", "FALLBACK", "WAIT_S", "MIN_KNOWN", "RESAMPLE"):
        monkeypatch.delenv(f"MILESTONED_{name}", raising=False)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"url": "http://h:1/", "token": "t"}, AdapterSettings("http://h:1", "t")),
        ({"url": "http://any:t%40@h:1/at"}, AdapterSettings("http://h:1/at", "t@")),
        (
            {"url": "https://h", "token": "t", "fold": "last"},
            AdapterSettings("https://h", "t", "last"),
        ),
        (
            {
                "url": "http://h",
                "token": "t",
                "fold": "discounted",
                "gamma": "0.9",
                "fallback": "0",
                "wait_s": 0,
            },
            AdapterSettings("http://h", "t", "discounted", 0.9, 0.0, 0.0),
        ),
        (
            {"url": "http://h", "token": "t", "fold": "known", "min_known": "0.8"},
            AdapterSettings("http://h", "t", "known", min_known=0.8),
        ),
        (
            {"url": "http://h", "token": "t", "resample": "2"},
            AdapterSettings("http://h", "t", resample=2),
        ),
        (
            {"url": "http://h", "token": "t", "mask_causes": "captcha, start_state"},
            AdapterSettings("http://h", "t", mask_causes=("captcha", "start_state")),
        ),
    ],
)
def test_settings_come_from_keywords_or_the_environment(
    given: dict[str, Any], wanted: AdapterSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settings(**given) == wanted
    for name, value in given.items():
        monkeypatch.setenv(f"MILESTONED_{name.upper()}", str(value))
    assert settings() == wanted
    assert settings(wait_s=3).wait_s == 3.0
    assert "token" not in repr(wanted)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"token": "t"}, "url: got none"),
        ({"url": "h:1", "token": "t"}, "url: got"),
        ({"url": "http://h"}, "token: got none"),
        (
            {"url": "http://h", "token": "t", "fold": "mean"},
            "fold: got 'mean'; wanted one of sum, last, discounted, known",
        ),
        ({"url": "http://h", "token": "t", "gamma": 2}, "gamma: got 2"),
        (
            {"url": "http://h", "token": "t", "min_known": -0.1},
            "min_known: got -0.1; wanted 0 to 1",
        ),
        *(
            (
                {"url": "http://h", "token": "t", "resample": wrong},
                f"resample: got {wrong}; wanted a whole number from 0 to 100",
            )
            for wrong in ("-1", "101", "0.5")
        ),
        (
            {"url": "http://h", "token": "t", "fallback": "nan"},
            "fallback: got 'nan'; wanted a finite number",
        ),
        ({"url": "http://h", "token": "t", "fallback": "none"}, "fallback: got 'none'"),
        (
            {"url": "http://h", "token": "t", "mask_causes": "agent"},
            "mask_causes: got 'agent'; wanted some of site_refused, captcha",
        ),
        ({"url": "http://h", "token": "t", "wait_s": -1}, "wait_s: got -1"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, Any], wanted: str) -> None:
    with pytest.raises(ValueError, match=wanted):
        settings(**given)


def test_a_setting_that_there_is_not_is_refused() -> None:
    with pytest.raises(TypeError, match="fallbak: there is no such setting"):
        settings(url="http://h", token="t", fallbak=0)


@pytest.mark.parametrize(
    ("carried", "wanted"),
    [
        (("shop/cart",), "shop/cart"),
        ((None, {}, {"index": 7}, " ep_a "), "ep_a"),
        (
            ({"episode_id": "ep_a", "step": np.int64(3), "image": b"\x00"},),
            {"episode_id": "ep_a", "step": 3},
        ),
        (
            ({"extra_info": {"task_id": "t", "arrays": np.ones(3)}},),
            {"extra_info": {"task_id": "t"}},
        ),
        (({"step": 3}, "t"), "t"),
        ((7, [1], b"x", None), None),
    ],
)
def test_what_is_carried_is_cut_to_the_reference(carried: tuple[Any, ...], wanted: Any) -> None:
    assert label_of(*carried) == wanted


@pytest.mark.parametrize(
    ("label", "wanted"),
    [
        ("ep_a", ("ep_a", None, None)),
        ("shop/cart", (None, "shop/cart", None)),
        ('{"task_id": "t", "version": "2"}', (None, "t", "2")),
        ({"extra_info": {"ground_truth": '{"episode_id": "ep_a"}'}}, ("ep_a", None, None)),
    ],
)
def test_what_a_label_names(label: Any, wanted: Any) -> None:
    assert parse_label(label) == wanted


@pytest.mark.parametrize(
    "label", [None, "", "{", '{"a":' * 9_999, {}, {"step": 1}, {"episode_id": {"rollout_id": "r"}}]
)
def test_a_label_that_names_nothing_is_refused(label: Any) -> None:
    with pytest.raises(
        ValueError, match="wanted a task id, or an object with task_id or episode_id"
    ):
        parse_label(label)


@pytest.mark.parametrize(
    ("completion", "wanted"),
    [
        ("<|im_start|>42<|im_end|>", "42"),
        ([{"role": "assistant", "content": "41"}, {"role": "tool", "content": "x"}], "41"),
        ([{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}], "b"),
        (
            [
                {
                    "role": "assistant",
                    "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
                }
            ],
            "ab",
        ),
        ([{"role": "user", "content": "x"}], ""),
        ("half \ud800 a character", "half ? a character"),
        (None, ""),
    ],
)
def test_what_the_agent_said(completion: Any, wanted: str) -> None:
    assert last_text(completion) == wanted


def test_actions_become_json() -> None:
    action = {"at": np.array([1, 2]), "n": np.int64(3), "deep": (1, {"x": object})}
    assert plain(action) == {"at": [1, 2], "n": 3, "deep": [1, {"x": str(object)}]}
