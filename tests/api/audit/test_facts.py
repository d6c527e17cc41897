"""What is counted of an episode's log: tables of addresses, errors and reasons, and one log
whole."""

from __future__ import annotations

from typing import Any

import pytest

from api.audit.facts import FactReader, Facts, causes, is_odd, is_syntax_error, names_a_secret
from detectors.engine.engine import Engine
from detectors.model.codec import GENESIS, encode_event, join_segment
from detectors.model.rewards import reward_to_json
from detectors.task.ruleset import Ruleset
from tests.api.service import texts
from tests.support.logs import Said, clicked, episode, log, ruleset, sealed, went

RULES = ruleset(
    {"id": "cart", "when": {"url_reached": {"url": "/cart"}}},
    {"id": "buy", "when": {"element_clicked": {"name": "Buy"}}},
)
FILES = ruleset(
    {"id": "cart", "when": {"url_reached": {"url": "/cart"}}},
    {"id": "csv", "when": {"file_created": {"name": "*.csv"}}},
)


def called(call: str, tool: str = "search", **arguments: Any) -> Said:
    return ("agent.tool_called", {"call": call, "tool": tool, "arguments": arguments})


def returned(call: str, error: str | None = None) -> Said:
    return ("agent.tool_returned", {"call": call, "ok": error is None, "error": error})


def hint(step: int, reward: float | None) -> Said:
    return ("reward.estimated", {"step": step, "reward": reward, "digest": "d"})


def facts_of(*said: Said, sizes: tuple[int, ...] = (), rules: Ruleset = RULES) -> Facts:
    events = log(*said)
    reader = FactReader()
    for text in texts(events, sizes):
        reader.read(text)
    return reader.finish(
        [reward_to_json(one) for one in Engine(rules, "ep_1").feed(events).rewards]
    )


@pytest.mark.parametrize(
    ("url", "odd", "secret"),
    [
        ("file:///srv/gold/answers.json", True, True),
        ("file:///home/agent/downloads/report.pdf", True, False),
        ("view-source:https://shop.test/", True, False),
        ("chrome://version/", True, False),
        ("data:text/html,hello", True, False),
        ("FILE:///var/lib/agentd/journal.sqlite3", True, True),
        ("devtools://devtools/bundled/inspector.html", True, False),
        ("chrome://newtab/", False, False),
        ("chrome://new-tab-page/", False, False),
        ("about:blank", False, False),
        ("https://shop.test/file:///gold", False, True),
        ("", False, False),
    ],
)
def test_addresses(url: str, odd: bool, secret: bool) -> None:
    assert (is_odd(url), names_a_secret(url)) == (odd, secret)


@pytest.mark.parametrize(
    ("error", "syntax"),
    [
        ("SyntaxError: unexpected token", True),
        ("could not parse arguments", True),
        ("Invalid JSON at 3", True),
        ("unknown tool: serch", True),
        ("connection refused", False),
        ("404", False),
        (None, False),
        ({"code": 5}, False),
    ],
)
def test_errors_of_tool_calls(error: Any, syntax: bool) -> None:
    assert is_syntax_error(error) is syntax


def test_causes_of_a_masked_step() -> None:
    reason = (
        "cdp saw nothing from event 12: the browser on port 9222 is gone; ax:app saw nothing from"
        " event 3: empty"
    )
    assert causes(reason) == [("cdp: the browser on port N is gone", 12), ("ax:app: empty", 3)]
    assert causes("event 7: what must hold may have changed") == [
        ("rules: what must hold may have changed", 7)
    ]
    assert causes("the goal may have been reached") == [("the goal may have been reached", 0)]
    # What a daemon was told may look like a number and be none.
    assert causes(f"event {'9' * 5_000}: x") == [("event N: x", 0)]
    assert causes(f"cdp saw nothing from event 5: event {'9' * 5_000}: x") == [
        ("cdp: event N: x", 5)
    ]


@pytest.mark.parametrize("sizes", [(), (1,) * 20, (3, 4)])
def test_a_log_is_counted_however_it_was_cut(sizes: tuple[int, ...]) -> None:
    gap: list[Said] = [
        ("gap.began", {"source": "cdp", "reason": "gone"}),
        ("gap.ended", {"source": "cdp"}),
    ]
    found = facts_of(
        *episode(
            [
                called("1", q="a"),
                returned("1"),
                called("2", q="a"),
                returned("2"),
                went("/cart"),
                sealed(0),
            ],
            [
                called("3", q="b"),
                returned("3", "no route"),
                called("4", q="b"),
                returned("4", "bad json"),
                *gap,
            ],
            [went("file:///srv/gold.json"), went("/"), clicked("Buy"), hint(0, 0.25), hint(1, 0.0)],
        ),
        sizes=sizes,
    )
    assert (found.steps, found.masked, found.calls, found.repeated_calls) == (3, 1, 4, 1)
    assert (found.syntax_errors, found.execution_errors) == (1, 1)
    assert found.masks == {"cdp: gone": [1, 1]}
    assert found.tamper == [[17, 2, "file:///srv/gold.json", True]]
    assert {id: times[0] for id, times in found.milestones.items()} == {"cart": 1, "buy": 1}
    assert found.edge == [[0, 0.25, 0.1, False], [1, 0.0, None, False]]


def test_a_step_that_several_sources_did_not_see_is_counted_once() -> None:
    blind: list[Said] = [
        ("gap.began", {"source": source, "reason": "gone"}) for source in ("cdp", "files")
    ]
    found = facts_of(*episode([went("/"), sealed(0)], [*blind, clicked("Buy")]), rules=FILES)
    assert found.masks == {"cdp: gone": [1, 1], "files: gone": [1, 1]}
    assert (found.masked, found.masked_while_acting) == (1, 1)


def test_a_step_of_which_only_a_penalty_is_paid_counts_with_those_masked_while_acting() -> None:
    rules = ruleset({"id": "bad", "when": {"element_clicked": {"name": "Buy"}}, "penalty": 0.5})
    gap: list[Said] = [
        ("gap.began", {"source": "cdp", "reason": "gone"}),
        ("gap.ended", {"source": "cdp"}),
    ]
    found = facts_of(*episode([went("/"), sealed(0)], [clicked("Buy"), *gap]), rules=rules)
    assert (found.masked, found.masked_while_acting, found.masks) == (0, 1, {"cdp: gone": [1, 1]})


@pytest.mark.parametrize("data", [{}, {"step": []}, {"step": "0"}, {"step": {}, "reward": {}}])
def test_a_hint_that_is_none_is_left_out(data: dict[str, Any]) -> None:
    assert facts_of(*episode([("reward.estimated", data)])).edge == []


def test_text_of_the_agent_that_looks_like_an_event_is_none() -> None:
    assert (
        facts_of(*episode([("agent.answered", {"text": '"agent.tool_called" "url":"file:'})])).calls
        == 0
    )


def test_an_edge_of_an_older_wire_version_is_counted_too() -> None:
    """Lines are found by their bytes, also where their kind has another name now."""
    data = {"step": 0, "reward": 0.5, "digest": "d"}
    line = encode_event(1, "journal", "edge.computed", 1, data)
    reader = FactReader()
    reader.read(join_segment("ep_1", 1, [line], GENESIS, wire=1))
    reward = Engine(RULES, "ep_1").feed(log(*episode([went("/cart")]))).rewards[0]
    assert [row[:2] for row in reader.finish([reward_to_json(reward)]).edge] == [[0, 0.5]]
