"""Ways in which others' rewards went wrong; what can be shown on a log alone. tests/e2e has the
browser's part."""

from __future__ import annotations

import itertools

from api.scoring.fold import RewardFolding, fold
from detectors.engine.engine import Engine
from detectors.engine.resolution import Word, decide
from detectors.model.types import Verdict
from detectors.task.ruleset import Ruleset
from tests.fuzz.hostile_matchers import HOSTILE, TEXTS
from tests.support.logs import (
    ORIGIN,
    Said,
    answered,
    clicked,
    created,
    episode,
    filled,
    finished,
    log,
    ruleset,
    run,
    titled,
    went,
    worth,
)

ANSWER = {"id": "said", "when": {"answer_matches": {"text": "Quest Lumaflex"}}}
PATTERNS = (
    "^.*$",
    ".*",
    "(a+)+$",
    '["^.*$"]',
    "*",
    "?" * 14,
    "%",
    "Quest*",
    "a" * 1_000_000 + "!",
    "\\",
    "",
)


def test_1_agent_text_as_a_pattern() -> None:
    """Nothing from the agent is compiled: a pattern is worth what any wrong answer is."""
    rules = ruleset(ANSWER, weights={"answer": 1})
    for text in PATTERNS:
        assert worth(run(rules, *episode([answered(text)]))) == [0.0], text
    globbed = ruleset(
        {**ANSWER, "when": {"answer_matches": {"text": {"glob": "*a*a*a*a*a*b"}}}},
        weights={"answer": 1},
    )
    assert worth(run(globbed, *episode([answered("a" * 20_000)]))) == [0.0]


def test_2_credit_for_nothing() -> None:
    """Every predicate is true when the episode opens; the agent does nothing."""
    true_before: list[Said] = [
        went("/a", baseline=True),
        titled("Home", baseline=True),
        ("text.appeared", {"tab": "T", "frame": "T", "text": "Done", "baseline": True}),
        filled("Name", "Ada", baseline=True),
        created("a.csv", "file.present", baseline=True),
    ]
    rules = ruleset(
        {"id": "url", "when": {"url_reached": {"url": "/a"}}},
        {"id": "title", "when": {"title_matches": {"title": "Home"}}},
        {"id": "text", "when": {"text_visible": {"text": "Done"}}},
        {"id": "field", "when": {"field_filled": {"field": "Name", "value": "Ada"}}},
        {"id": "form", "when": {"form_filled": {"fields": {"Name": "Ada"}}}},
        {"id": "file", "when": {"file_created": {"name": "a.csv"}}},
        {"id": "content", "when": {"file_matches": {"name": "a.csv", "size": 10}}},
        {"id": "goal", "when": {"goal": {"requires": ["url", "file"]}}},
    )
    engine = Engine(rules, "ep_1")
    out = engine.feed(log(*episode([], [], before=true_before)))
    assert worth(out.rewards) == [0.0, 0.0]
    assert {m.id for m in out.milestones if m.baseline} == {m.id for m in rules.task.milestones}
    assert engine.success is False
    assert engine.total == 0.0


def test_3_claim_only_credit() -> None:
    """The agent only says SUCCESS: paid is an answer that the task weighs on its own, gated on the
    world."""
    rules = ruleset(
        {
            "id": "paid",
            "when": {"request_accepted": {"method": "POST", "url": "/pay"}},
            "component": "goal",
        },
        {"id": "said", "when": {"answer_matches": {"text": "SUCCESS"}}, "after": ["paid"]},
        {"id": "done", "when": {"goal": {"requires": ["paid", "said"]}}},
        weights={"answer": 0.5},
    )
    claimed = run(rules, *episode([answered("SUCCESS")], [answered("SUCCESS")]))
    assert worth(claimed) == [0.0, 0.0]
    assert claimed[-1].success is False
    proved = run(rules, *episode([finished("POST", "/pay", 200)], [answered("SUCCESS")]))
    assert worth(proved) == [0.1, 0.6]


def test_5a_two_tabs_in_either_order() -> None:
    """A in tab 1, B in tab 2: both milestones."""
    rules = ruleset(
        {"id": "a", "when": {"url_reached": {"url": "/a"}}},
        {"id": "b", "when": {"url_reached": {"url": "/b"}}},
    )
    for order in itertools.permutations((went("/a", "1"), went("/b", "2"))):
        assert worth(run(rules, *episode(order))) == [0.1]


def test_5b_solve_then_wander() -> None:
    """What was earned stays, goal and all."""
    rules = ruleset(
        {"id": "a", "when": {"url_reached": {"url": "/a"}}},
        {"id": "done", "when": {"goal": {"requires": ["a"]}}},
    )
    rewards = run(rules, *episode([went("/a")], [went("/"), went("http://else.test/")]))
    assert worth(rewards) == [0.3, 0.0]
    assert rewards[-1].success is True


def test_5c_background_polling_hides_nothing() -> None:
    """The wanted request first, then a hundred polls."""
    rules = ruleset({"id": "m", "when": {"request_accepted": {"method": "POST", "url": "/orders"}}})
    polls = [finished("GET", "/api/ping", 200) for _ in range(100)]
    assert worth(run(rules, *episode([finished("POST", "/orders", 201), *polls]))) == [0.2]


def test_6_sent_is_not_accepted() -> None:
    """Right body, wrong fate: nothing. Accepted twice: once. Done and undone: taken back where the
    task says so."""
    body = {"text": "item=lamp", "mime": "application/x-www-form-urlencoded"}
    wanted = {
        "method": "POST",
        "url": "/orders",
        "redirect_to": "/orders/*",
        "body": {"item": "lamp"},
    }
    sent: Said = (
        "request.sent",
        {
            "tab": "T",
            "frame": "T",
            "request": "r",
            "method": "POST",
            "url": f"{ORIGIN}/orders",
            "type": "Document",
        },
    )
    hop = {
        "method": "POST",
        "url": f"{ORIGIN}/orders",
        "status": 303,
        "location": "/orders/7",
        "body": body,
    }
    accepted = finished("GET", "/orders/7", 200, hops=[hop])
    fates: dict[str, list[Said]] = {
        "302 to an error page": [
            sent,
            finished("GET", "/error", 200, hops=[{**hop, "status": 302}]),
        ],
        "500": [sent, finished("POST", "/orders", 500, body=body)],
        "cancelled": [
            sent,
            (
                "request.failed",
                {"request": "r", "method": "POST", "url": f"{ORIGIN}/orders", "canceled": True},
            ),
        ],
        "blocked": [
            sent,
            (
                "request.failed",
                {"request": "r", "method": "POST", "url": f"{ORIGIN}/orders", "blocked": "csp"},
            ),
        ],
        "sent, no answer": [sent],
    }
    undo = {"request_accepted": {"method": "POST", "url": "/orders/7/cancel"}}
    rules = ruleset({"id": "order", "when": {"request_accepted": wanted}, "revoke_on": undo})
    for fate, said in fates.items():
        assert worth(run(rules, *episode(said))) == [0.0], fate
    assert worth(run(rules, *episode([sent, accepted], [sent, accepted]))) == [0.2, 0.0]
    undone = [sent, accepted], [finished("POST", "/orders/7/cancel", 200)]
    assert worth(run(rules, *episode(*undone))) == [0.2, -0.2]


def test_7_sixteen_episodes_side_by_side_share_nothing() -> None:
    """Engines of one ruleset, fed in turns, give what each gives alone."""
    rules = ruleset({"id": "a", "when": {"url_reached": {"url": "/a"}}})
    logs = [log(*episode([went("/a" if n % 2 else "/b")]), episode=f"ep_{n}") for n in range(16)]
    engines = [Engine(rules, f"ep_{n}") for n in range(16)]
    paid: list[list[float | None]] = [[] for _ in logs]
    for events in zip(*logs, strict=True):
        for n, event in enumerate(events):
            paid[n] += worth(engines[n].feed([event]).rewards)
    assert paid == [[0.1] if n % 2 else [0.0] for n in range(16)]


def test_10_toggling_pays_at_most_the_weight() -> None:
    """A hundred times on and off, by hand, by script and by reload."""
    rules = ruleset({"id": "m", "when": {"field_filled": {"field": "Terms", "checked": True}}})
    toggles = [filled("Terms", "on", checked=bool(n % 2)) for n in range(100)]
    assert sum(r or 0.0 for r in worth(run(rules, *episode(*([t] for t in toggles))))) == 0.2


def test_10_clicks_of_page_script_prove_nothing() -> None:
    """`isTrusted: false` is not the agent's."""
    rules = ruleset({"id": "m", "when": {"element_clicked": {"name": "Buy"}}})
    assert worth(run(rules, *episode([clicked("Buy", trusted=False)]))) == [0.0]


def test_14_hostile_text_makes_no_step_null() -> None:
    """Every form of a text against every hostile answer, each in a step of its own: all known, and
    no alarm.

    Time and memory, and every other kind of matcher: tests/fuzz/test_matchers.py.
    """
    forms = [
        {"id": f"m{n}", "component": "answer", "when": {"answer_matches": {"text": spec}}}
        for n, spec in enumerate(TEXTS.values())
    ]
    steps = [[clicked("Delete"), answered(text)] for text in HOSTILE.values()]
    engine = Engine(ruleset(*forms, weights={"answer": 1}), "ep_1")
    outcome = engine.feed(log(*episode(*steps)))
    assert [reward.step for reward in outcome.rewards if reward.reward is None] == []
    assert len(outcome.rewards) >= len(HOSTILE)
    assert outcome.alarms == []


def test_15_silence_pays_less_than_work() -> None:
    """Fifty silent steps that model and judge call perfect, under either route; the goal in one
    step that they dislike.

    For any task that is accepted: tests/detectors/test_stakes.py.
    """
    goal = {"id": "done", "when": {"goal": {"when": {"url_reached": {"url": "/done"}}}}}
    for route in ("cascade", "blend"):
        said = {"route": route, "share": 0.99, "audit": 0}
        rules = ruleset(goal, weights={"goal": 0.3}, escalation=said)
        silent, work = (
            sum(_judged(rules, steps, score))
            for steps, score in (([[went("/x")]] * 50, 1.0), ([[went("/done")]], 0.0))
        )
        assert 0.0 < silent < work, route


def test_15_one_more_null_never_turns_a_known_rollout_into_nothing() -> None:
    """A rollout of which all is known, wherever a step is masked in it; with no least share, any of
    which a step is."""
    known = [0.0, 0.4, 0.0, 0.6]
    for place in range(len(known) + 1):
        masked = [*known[:place], None, *known[place:]]
        assert fold(masked, RewardFolding("known")) == fold(known, RewardFolding("known")) == 1.0
        assert fold([*masked, *[None] * 50], RewardFolding("known", min_known=0.0)) == 1.0


def _judged(rules: Ruleset, steps: list[list[Said]], score: float) -> list[float]:
    """What the steps are worth where both tiers give all of them one score."""
    outcome, found = Engine(rules, "ep_1").feed(log(*episode(*steps))), []
    for reward in outcome.rewards:
        asked = [ask for ask in outcome.asks if ask.step == reward.step]
        verdicts = [Verdict(tier, score, 1.0, "", "m") for tier in ("model", "judge")]  # type: ignore[arg-type]
        words = [Word(ask.item, verdict) for ask in asked for verdict in verdicts]
        found.append(decide(rules, reward, asked, words).reward or 0.0)
    return found
