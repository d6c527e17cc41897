"""What a task can say of orders in time, of gates, of the whole episode: what it pays and what
not."""

from __future__ import annotations

from typing import Any

import pytest

from detectors.engine.attribution import attribute_rewards, causes_of
from detectors.model.rewards import reward_to_json
from detectors.task.task_json import TaskError, task_from_json, task_to_json
from tests.support.logs import (
    Said,
    clicked,
    created,
    episode,
    filled,
    finished,
    ruleset,
    run,
    sealed,
    titled,
    went,
    worth,
)  # fmt: skip

GO = {"id": "go", "when": {"element_clicked": {"name": "Go"}}}
A = {"id": "a", "when": {"url_reached": {"url": "/a"}}}
DONE = {"id": "done", "when": {"goal": {"requires": ["go"]}}}
DEAD, ALIVE = ("gap.began", {"source": "cdp", "reason": "gone"}), ("gap.ended", {"source": "cdp"})
IDLE: Said = titled("x")


def test_a_gate_pays_as_soon_as_both_are_so_and_not_while_it_is_shut() -> None:
    """In either order; what the gate says must be so at that moment."""
    gated = ruleset({**GO, "only_if": {"field_filled": {"field": "N", "value": "1"}}})
    assert worth(run(gated, *episode([clicked("Go")], [filled("N", "1")]))) == [0.0, 0.2]
    assert worth(run(gated, *episode([filled("N", "1")], [clicked("Go")]))) == [0.0, 0.2]
    assert worth(run(gated, *episode([filled("N", "1")], [filled("N", "2")], [clicked("Go")]))) == [
        0.0,
        0.0,
        0.0,
    ]
    rewards = run(gated, *episode([clicked("Go")], [filled("N", "1")]))
    assert rewards[1].milestones[0].evidence == (3, 5)


def test_a_gate_that_the_same_event_shuts_is_shut_before_anything_is_paid() -> None:
    """Whatever is read first: the click that is one too many pays nothing."""
    clicks = {
        "count": {"of": [{"element_clicked": {"role": "button"}}], "at_least": 1, "at_most": 1}
    }
    gated = ruleset({**GO, "only_if": clicks})
    assert worth(run(gated, *episode([clicked("Go")]))) == [0.2]
    assert worth(run(gated, *episode([clicked("Stop"), clicked("Go")]))) == [0.0]


def test_a_gate_for_a_repeated_milestone_must_be_open_at_each_event() -> None:
    """What came while it was shut is not remembered."""
    each = {
        "id": "each",
        "when": {"element_clicked": {"role": "button"}},
        "repeat": 2,
        "only_if": A["when"],
    }
    assert worth(run(ruleset(each), *episode([clicked("x")], [went("/a")], [clicked("y")]))) == [
        0.0,
        0.0,
        0.1,
    ]


def test_an_open_gate_does_not_undo_the_order() -> None:
    """A click that came before what it must come after is not remembered, gate or not."""
    late = ruleset(
        A, {**GO, "after": ["a"], "only_if": {"field_filled": {"field": "N", "value": "1"}}}
    )
    assert worth(run(late, *episode([clicked("Go")], [went("/a")], [filled("N", "1")]))) == [
        0.0,
        0.1,
        0.0,
    ]
    assert worth(run(late, *episode([went("/a")], [clicked("Go")], [filled("N", "1")]))) == [
        0.1,
        0.0,
        0.2,
    ]


@pytest.mark.parametrize("key", ["must_hold_at_end", "goal", "gate"])
def test_a_window_holds_for_what_is_asked_at_the_end_too(key: str) -> None:
    both = {"all_of": {"within": {"steps": 0}, "of": [GO["when"], A["when"]]}}
    made = {
        "must_hold_at_end": {"id": "x", "when": both, "must_hold_at_end": True},
        "goal": {"id": "x", "when": {"goal": {"when": both}}},
        "gate": {**GO, "id": "x", "must_hold_at_end": True, "only_if": both},
    }[key]
    apart, together = [[clicked("Go")], [IDLE], [went("/a")]], [[clicked("Go"), went("/a")], [IDLE]]
    assert sum(one or 0.0 for one in worth(run(ruleset(made), *episode(*apart)))) == 0.0
    assert sum(one or 0.0 for one in worth(run(ruleset(made), *episode(*together)))) > 0.0


def test_a_penalty_for_what_may_have_been_done_in_a_gap_is_not_known() -> None:
    """Law 5: a fault never lowers the reward."""
    left_out = {"all_of": {"holding": True, "of": [{"none_of": [GO["when"]]}, A["when"]]}}
    rules = ruleset({"id": "forgot", "when": left_out, "penalty": 0.2})
    assert worth(run(rules, *episode([IDLE], [went("/a")])))[:2] == [0.0, -0.2]
    assert worth(run(rules, *episode([DEAD, ALIVE], [went("/a")])))[:2] == [None, None]


def test_what_stood_at_the_last_steps_end_is_not_paid_again_at_the_close() -> None:
    level = ruleset(A, credit="level")
    assert worth(run(level, *episode([went("/a")]))) == [0.1]
    assert sum(one or 0.0 for one in worth(run(level, *episode([went("/a"), sealed(0)])))) == 0.1


@pytest.mark.parametrize(
    "start",
    [
        pytest.param({"value": "x" * 9000}, id="too long"),
        pytest.param({"value": "x", "cut": True}, id="cut"),
    ],
)
def test_what_has_no_start_to_compare_with_is_not_known(start: dict[str, Any]) -> None:
    gated = ruleset({**GO, "only_if": {"probe_kept": {"probe": "rows"}}}, probes=PROBES)
    answered = (
        "probe.answered",
        {"probe": "rows", "when": "start", "ms": 1, "baseline": True, **start},
    )
    assert worth(run(gated, *episode([clicked("Go")], before=[answered]))) == [None]
    good = (
        "probe.answered",
        {"probe": "rows", "when": "start", "ms": 1, "baseline": True, "value": "x"},
    )
    assert worth(run(gated, *episode([clicked("Go")], before=[good]))) == [0.2]
    assert worth(run(gated, *episode([clicked("Go"), good]))) == [None], (
        "an answer after the start is no start"
    )


GUARDED = {
    "id": "done",
    "when": {"goal": {"requires": ["go"]}},
    "only_if": {
        "all_of": {
            "holding": True,
            "of": [
                {"none_of": [{"other_file_changed": {"allowed": {"path": "out/*"}}}]},
                {"none_of": [{"other_request_made": {"url": "/*", "allowed": ["/orders"]}}]},
                {"probe_kept": {"probe": "rows", "by": "id", "rows": ["2"]}},
            ],
        }
    },
    "must_hold_at_end": True,
}
PROBES = [{"id": "rows", "get": "/api/rows"}]


@pytest.mark.parametrize(
    ("between", "pays"),
    [
        ([], True),
        ([created("out/a")], True),
        ([created("home")], False),
        ([finished("POST", "/orders", 201)], True),
        ([finished("POST", "/users/1:delete", 200)], False),
        (
            [
                (
                    "probe.answered",
                    {"probe": "rows", "when": "step", "value": [{"id": 1}, {"id": 2}], "ms": 1},
                )
            ],
            True,
        ),
        (
            [("probe.answered", {"probe": "rows", "when": "step", "value": [{"id": 2}], "ms": 1})],
            False,
        ),
    ],
)
def test_nothing_else_changed(between: list[Said], pays: bool) -> None:
    """Guards over files, requests and rows, as the gate of a goal that is decided by the close."""
    rules = ruleset(GO, GUARDED, probes=PROBES)
    start = (
        "probe.answered",
        {"probe": "rows", "when": "start", "value": [{"id": 1}], "ms": 1, "baseline": True},
    )
    rewards = run(rules, *episode([clicked("Go")], between, before=[start]))
    assert (rewards[-1].reward, rewards[-1].success) == ((0.2, True) if pays else (0.0, False))


def test_nothing_else_changed_is_not_known_across_a_gap() -> None:
    """Law 5: null, not 0 and not paid."""
    rewards = run(
        ruleset(GO, {**GUARDED, "only_if": GUARDED["only_if"]["all_of"]["of"][1]}, probes=PROBES),
        *episode([clicked("Go")], [DEAD, ALIVE]),
    )
    assert (rewards[-1].reward, rewards[-1].success) == (None, None)


def test_within_counts_steps_and_seconds_from_the_start_or_from_another_milestone() -> None:
    """The first step is step 1; what comes later than that does not pay."""
    soon = ruleset({**GO, "within": {"steps": 2}})
    assert worth(run(soon, *episode([], [clicked("Go")]))) == [0.0, 0.2]
    assert worth(run(soon, *episode([], [], [clicked("Go")]))) == [0.0, 0.0, 0.0]
    after = ruleset(A, {**GO, "within": {"steps": 1}, "since": "a"})
    assert worth(run(after, *episode([], [], [went("/a")], [clicked("Go")])))[-1] == 0.2
    assert worth(run(after, *episode([went("/a")], [], [clicked("Go")])))[-1] == 0.0
    assert worth(run(after, *episode([clicked("Go")], [went("/a")]))) == [0.0, 0.1]
    quick = ruleset({**GO, "within": {"seconds": 0.003}})
    assert worth(run(quick, *episode([IDLE, clicked("Go")]))) == [0.2]
    assert worth(run(quick, *episode([*[IDLE] * 5, clicked("Go")]))) == [0.0]


def test_limits_stop_pay_but_not_penalties() -> None:
    """What is done after the last allowed step earns nothing, and is still harmful."""
    bad = {"id": "bad", "when": {"element_clicked": {"name": "Delete"}}, "penalty": 0.4}
    rules = ruleset(GO, A, DONE, bad, limits={"steps": 2})
    assert worth(run(rules, *episode([went("/a")], [clicked("Go")]))) == [0.1, 0.4]
    late = run(rules, *episode([went("/a")], [], [clicked("Go"), clicked("Delete")]))
    assert (worth(late), late[-1].success) == ([0.1, 0.0, -0.4], False)
    held = ruleset({**A, "must_hold_at_end": True}, limits={"steps": 1})
    assert worth(run(held, *episode([went("/a"), sealed(0)]))) == [0.0, 0.1]
    assert worth(run(held, *episode([], [went("/a")]))) == [0.0, 0.0]
    assert worth(
        run(ruleset(GO, limits={"seconds": 0.002}), *episode([*[IDLE] * 5, clicked("Go")]))
    ) == [0.0]


def test_a_stability_window_pays_when_it_has_passed() -> None:
    """At the step's boundary that shows it, or as the fact falls; not for what stood there at the
    start."""
    hold = {
        "id": "h",
        "component": "nav",
        "when": {"hold": {"window": {"steps": 2}, "of": [A["when"]]}},
    }
    rules = ruleset(hold)
    assert worth(run(rules, *episode([went("/a")], [], [], []))) == [0.0, 0.0, 0.1, 0.0]
    assert worth(run(rules, *episode([went("/a")], [went("/b")], [], []))) == [0.0, 0.0, 0.0, 0.0]
    assert worth(run(rules, *episode([went("/a")], [], [sealed(2), went("/b")], []))) == [
        0.0,
        0.0,
        0.1,
        0.0,
    ]
    assert worth(run(rules, *episode([], [], [], [], before=[went("/a")]))) == [0.0] * 4
    again = episode([went("/b"), went("/a")], [], [], before=[went("/a")])
    assert worth(run(rules, *again)) == [0.0, 0.0, 0.1]
    timed = ruleset({**hold, "when": {"hold": {"window": {"seconds": 0.004}, "of": [A["when"]]}}})
    assert worth(run(timed, *episode([went("/a"), *[IDLE] * 4, sealed(0)]))) == [0.1, 0.0]
    assert worth(run(timed, *episode([went("/a"), *[IDLE] * 6, went("/b"), IDLE]))) == [0.1]
    assert worth(run(timed, *episode([went("/a")]))) == [0.0]
    assert worth(run(timed, *episode([went("/a"), DEAD, *[IDLE] * 4, ALIVE], [])))[0] is None


def test_at_most_can_become_untrue_again() -> None:
    """Two files, and not a third, decided by the end."""
    two = {
        "count": {
            "at_least": 2,
            "at_most": 2,
            "of": [{"file_created": {"name": {"glob": "*.csv"}}}],
        }
    }
    rules = ruleset({"id": "two", "component": "file", "when": two, "must_hold_at_end": True})
    files = [created(f"{n}.csv") for n in range(3)]
    assert worth(run(rules, *episode(files[:2]))) == [0.3]
    assert worth(run(rules, *episode(files))) == [0.0]


OUTCOME = {"outcome": {"alpha": 0.25}}


def test_process_and_outcome_are_mixed_by_alpha() -> None:
    """r = α·process + (1 − α)·[t = T]·outcome."""
    rules = ruleset(GO, A, DONE, **OUTCOME)
    won = run(rules, *episode([went("/a")], [clicked("Go")]))
    assert worth(won) == [0.025, 0.25 * 0.4 + 0.75]
    assert won[-1].components["outcome"] == 0.75
    assert rules.attainable == pytest.approx(0.25 * 0.5 + 0.75)
    assert worth(run(rules, *episode([went("/a")], []))) == [0.025, 0.0]
    punished = ruleset(GO, DONE, outcome={"success": 10, "failure": -0.5})
    assert worth(run(punished, *episode([])))[-1] == -0.5
    assert worth(run(punished, *episode([clicked("Go")]))) == [10.4]
    assert worth(run(punished, *episode([DEAD, ALIVE], []))) == [None, None]


def test_few_steps_bring_a_bonus_once_the_goal_is_reached() -> None:
    """Whole up to `best`, nothing from `worst` on; the steps after the goal do not count."""
    rules = ruleset(GO, DONE, efficiency={"weight": 0.2, "best": 1, "worst": 3})
    assert worth(run(rules, *episode([clicked("Go")]))) == [0.6]
    assert worth(run(rules, *episode([clicked("Go")], [], []))) == [0.4, 0.0, 0.2]
    assert worth(run(rules, *episode([], [clicked("Go")]))) == [0.0, 0.5]
    assert worth(run(rules, *episode([], [], [clicked("Go")]))) == [0.0, 0.0, 0.4]
    assert worth(run(rules, *episode([]))) == [0.0]


SHAPED = [
    GO,
    {**A, "revoke_on": {"url_reached": {"url": "/undo"}}},
    {"id": "form", "when": {"form_filled": {"fields": {"N": "1", "M": "2"}}}},
    DONE,
]
WAYS: list[list[list[Said]]] = [
    [[went("/a")], [filled("N", "1")], [clicked("Go")]],
    [[went("/a")], [went("/undo")], [went("/a"), filled("N", "1")], [filled("M", "2")], []],
    [[clicked("Go")], [went("/a")]],
    [[], [], []],
]


@pytest.mark.parametrize("way", range(len(WAYS)))
@pytest.mark.parametrize("gamma", [1.0, 0.9, 0.5])
@pytest.mark.parametrize("last", ["open", "sealed"])
def test_potential_shaping_changes_no_return(way: int, gamma: float, last: str) -> None:
    """Σ γᵗ r_t is that of the task without it (Ng, Harada and Russell 1999), whatever the way: Φ is
    0 at both ends. A closing step is added to the last transition."""
    steps = [list(step) for step in WAYS[way]]
    if last == "sealed":
        steps[-1].append(sealed(len(steps) - 1))
    sparse = {m["id"]: m for m in SHAPED}
    plain = ruleset(*sparse.values(), weights={"nav": 0, "form": 0, "ui": 0})
    shaped = ruleset(*SHAPED, shaping={"potential": ["nav", "form", "ui"], "gamma": gamma})
    returns = []
    for rules in (plain, shaped):
        values = [value or 0.0 for value in worth(run(rules, *episode(*steps)))]
        folded = [*values[: len(steps) - 1], sum(values[len(steps) - 1 :])]
        returns.append(sum(gamma**t * value for t, value in enumerate(folded)))
    assert returns[0] == pytest.approx(returns[1], abs=1e-9)


@pytest.mark.parametrize("way", range(len(WAYS)))
@pytest.mark.parametrize("last", ["open", "sealed"])
def test_of_an_episode_that_was_cut_off_the_potential_stays(way: int, last: str) -> None:
    """The return is then that without shaping and γᵀΦ(s_T), which a trainer's value of the last
    state has less (Pardo et al. 2018)."""
    gamma, steps = 0.9, [list(step) for step in WAYS[way]]
    if last == "sealed":
        steps[-1] += [
            sealed(len(steps) - 1),
            filled("M", "late"),
        ]  # what comes after the seal counts as well
    said = [
        *episode(*steps, close=False),
        ("episode.closed", {"reason": "10 steps", "truncated": True}),
    ]
    names = ["nav", "form", "ui"]
    plain = ruleset(*SHAPED, weights=dict.fromkeys(names, 0))
    shaped = ruleset(*SHAPED, shaping={"potential": names, "gamma": gamma})
    returns = []
    for rules in (plain, shaped):
        values = [value or 0.0 for value in worth(run(rules, *said))]
        folded = [*values[: len(steps) - 1], sum(values[len(steps) - 1 :])]
        returns.append(sum(gamma**t * value for t, value in enumerate(folded)))
    left = sum(
        m.worth for r in run(ruleset(*SHAPED), *said) for m in r.milestones if m.component in names
    )
    assert returns[1] - returns[0] == pytest.approx(gamma ** len(steps) * left, abs=1e-9)


def test_shaping_tells_where_it_goes() -> None:
    """On the way the potential rises; at the end it is paid back."""
    rules = ruleset(*SHAPED, shaping={"potential": ["nav"], "gamma": 0.5})
    rewards = run(rules, *episode([went("/a")], [], [clicked("Go")]))
    assert worth(rewards) == pytest.approx([0.05, -0.05, 0.2 + 0.2 - 0.1])
    assert [m.id for m in rewards[0].milestones] == ["a", "(shaping)"]
    assert rewards[0].milestones[0].worth == 0.0


def test_credit_to_the_cause_names_the_step_where_the_chain_is_known() -> None:
    """The download was set in motion in step 0; sealed rewards never change, so it is a view beside
    them."""
    file = {"id": "file", "when": {"file_created": {"name": "a.csv"}}}
    download = (
        "download.began",
        {"tab": "T", "frame": "T", "url": "u", "name": "a.csv", "download": "g"},
    )
    said = episode([clicked("CSV"), download], [went("/a")], [created("a.csv", via="download")])
    for milestone, wanted in (
        (file, [0.0, 0.1, 0.3]),
        ({**file, "credit_to": "cause"}, [0.3, 0.1, 0.0]),
    ):
        rules = ruleset(milestone, A)
        rewards = run(rules, *said)
        assert worth(rewards) == [0.0, 0.1, 0.3]
        told = [reward_to_json(one) for one in rewards]
        assert list(attribute_rewards(told, causes_of(rules.task)).values()) == wanted
    blind = run(
        ruleset({**file, "credit_to": "cause"}),
        *episode(
            [
                download,
                ("gap.began", {"source": "files", "reason": "r"}),
                ("gap.ended", {"source": "files"}),
            ],
            [created("a.csv")],
        ),
    )
    assert attribute_rewards([reward_to_json(one) for one in blind], causes_of(rules.task)) == {
        0: None,
        1: 0.3,
    }


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "outcome without goal": ({"outcome": {}}, "a milestone with a goal"),
    "alpha": ({"outcome": {"alpha": 2}}, "a number from 0 to 1"),
    "failure above success": ({"outcome": {"failure": 2}}, "a number up to success"),
    "efficiency": ({"efficiency": {"weight": 1, "best": 3, "worst": 3}}, "a whole number above best"),
    "no such component": ({"shaping": {"potential": ["file"]}}, "a list of components with milestones"),
    "shaped and levelled": ({"shaping": {"potential": ["ui"]}, "credit": "level"}, "credited by progress"),
    "a gate without its probe": ({"milestones": [{**GO, "only_if": {"probe_kept": {"probe": "x"}}}]}, "a probe of the task"),
    "odd limits": ({"limits": {"minutes": 3}}, "no such key; there are steps, seconds"),
    "since nobody": ({"milestones": [{**GO, "within": {"steps": 1}, "since": "x"}]}, "another milestone's id"),
    "since alone": ({"milestones": [A, {**GO, "since": "a"}]}, "within:"),
    "a goal of two kinds": ({"milestones": [{"id": "x", "when": {"goal": {"when": GO["when"], "of": [A["when"]]}}}]}, "when or of, not both"),
    "a goal of no condition": ({"milestones": [{"id": "x", "when": {"goal": {"of": []}}}]}, "a list of at least one condition"),
    "a circle": ({"milestones": [{**A, "within": {"steps": 1}, "since": "go"}, {**GO, "after": ["a"]}]}, "circle"),
    "a window of nothing": ({"milestones": [{**GO, "within": {}}]}, "{steps: a whole number}"),
    "hold of nothing": ({"milestones": [{"id": "x", "when": {"hold": {"window": {"steps": 1}, "of": [{"none_of": [GO["when"]]}]}}}]}, "something that happens"),
    "count of conditions": ({"milestones": [{"id": "x", "when": {"count": {"at_least": 1, "of": [{"all_of": [GO["when"]]}]}}}]}, "single rules"),
    "same of conditions": ({"milestones": [{"id": "x", "when": {"same": {"by": "tab", "of": [{"any_of": [GO["when"]]}, A["when"]]}}}]}, "single rules"),
    "count": ({"milestones": [{"id": "x", "when": {"count": {"at_least": 65, "of": [GO["when"]]}}}]}, "below 64"),
    "count of one": ({"milestones": [{"id": "x", "when": {"count": {"at_least": 3, "of": [{"observed": {"kind": "tab.opened"}}]}}}]}, "at most 1, or `distinct`"),
    "count of one and one": ({"milestones": [{"id": "x", "when": {"count": {"at_least": 3, "of": [{"observed": {"kind": "tab.opened"}}, {"cel": {"kind": "tab.closed", "expression": "true"}}]}}}]}, "at most 2, or `distinct`"),
    "repeat of one": ({"milestones": [{"id": "x", "when": {"observed": {"kind": "tab.opened"}}, "repeat": 2}]}, "1, or `distinct` in observed"),
    "same of nothing": ({"milestones": [{"id": "x", "when": {"same": {"by": "nosuch", "of": [A["when"], GO["when"]]}}}]}, "what events of url_reached have"),
    "same of what one lacks": ({"milestones": [{"id": "x", "when": {"same": {"by": "app", "of_first": "frame", "of": [A["when"], GO["when"]]}}}]}, "what events of element_clicked have"),
    "same first of nothing": ({"milestones": [{"id": "x", "when": {"same": {"by": "frame", "of_first": "nosuch.name", "of": [A["when"], GO["when"]]}}}]}, "what events of url_reached have"),
    "the end of a sequence": ({"milestones": [{"id": "x", "when": {"sequence": [A["when"], {"none_of": [GO["when"]]}]}}]}, "what comes last ends a sequence"),
    "a hidden end of one": ({"milestones": [{"id": "x", "when": {"sequence": [A["when"], {"all_of": [{"none_of": [GO["when"]]}]}]}}]}, "what comes last ends a sequence"),
    "cel name": ({"milestones": [{"id": "x", "when": {"cel": {"kind": "page.loaded", "expression": "event.url == ''"}}}]}, "event: no such name"),
    "cel syntax": ({"milestones": [{"id": "x", "when": {"cel": {"kind": "page.loaded", "expression": "data.url =="}}}]}, "Failed to parse"),
    "cel pattern": ({"milestones": [{"id": "x", "when": {"cel": {"kind": "page.loaded", "expression": "url.matches(data.url)"}}}]}, "use the text form"),
    "cel loops": ({"milestones": [{"id": "x", "when": {"cel": {"kind": "page.loaded", "expression": "data.a.all(x, data.b.all(y, data.c.all(z, true)))"}}}]}, "at most 2 of all"),
    "cel depth": ({"milestones": [{"id": "x", "when": {"cel": {"kind": "page.loaded", "expression": "(" * 99 + "true" + ")" * 99}}}]}, "brackets deep"),
    "schema elsewhere": ({"milestones": [{"id": "x", "when": {"tool_called": {"schema": {"$ref": "https://x.test/s"}}}}]}, "without references"),
    "an origin": ({"origin": "shop", "milestones": [GO]}, "origin: got 'shop', wanted an origin .* scheme://host"),
    "a host": ({"hosts": ["http://a.test", "http://*.b.test"]}, r"hosts\[1\]: got .*, wanted an origin .* scheme://host"),
    "no schema": ({"milestones": [{"id": "x", "when": {"tool_called": {"schema": {"type": "texts"}}}}]}, "a JSON Schema"),
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "count of one",
        "repeat of one",
        "same first of nothing",
        "the end of a sequence",
        "an origin",
        "a host",
    ],
)
def test_a_task_that_an_older_build_took_is_still_read(name: str) -> None:
    """Episodes of it can be opened, scored again and verified; nobody registers another one like
    it."""
    change, _ = BAD[name]
    spec = {"id": "t", "version": "1", "instruction": "-", "origin": "http://shop.test"}
    spec |= {"milestones": [GO], **change}
    weights = {"tool": 1, "nav": 1, "ui": 1, "file": 1, "form": 1, "goal": 1}
    with pytest.raises(TaskError):
        task_from_json(spec | {"weights": weights})
    assert task_from_json(spec | {"weights": weights}, stored=True).id == "t"


@pytest.mark.parametrize("name", BAD)
def test_what_makes_no_sense_is_refused(name: str) -> None:
    """With the path and what was wanted."""
    change, wanted = BAD[name]
    milestones = [GO] if name == "outcome without goal" else [GO, DONE]
    top = {"weights": {"tool": 1}, "milestones": milestones, **change}
    with pytest.raises(TaskError, match=wanted.replace("{", r"\{")):
        task_from_json(
            {"id": "t", "version": "1", "instruction": "-", "origin": "http://shop.test", **top}
        )


ORIGINS = {
    "http://shop.test": True,
    "https://shop.test:8443": True,
    "HTTP://Shop.Test/": True,
    "http://[::1]:8000": True,
    "http://shop.test/admin": True,  # what paths resolve against may have one itself
    "file://": True,
    "chrome-extension://abcdefgh": True,
    "shop": False,
    "shop.test": False,
    "localhost:8000": False,
    "//shop.test": False,
    "http:/shop.test": False,
    "http://": False,
    "http:///cart": False,
    "://shop.test": False,
    "http://shop.test:port": False,
    "http://shop test": False,
    "http://*.shop.test": False,
    "http://shop.test?a=1": False,
    "http://shop.test/#top": False,
}


@pytest.mark.parametrize(("origin", "is_one"), ORIGINS.items())
def test_an_origin_is_what_addresses_begin_with(origin: str, is_one: bool) -> None:
    """A bare word was taken, and a rule about pages held nowhere."""
    spec = {"id": "t", "version": "1", "instruction": "-", "milestones": [GO]}
    for change in ({"origin": origin}, {"hosts": [origin], "origin": "http://shop.test"}):
        if is_one:
            assert task_from_json(spec | change).id == "t"
            continue
        with pytest.raises(TaskError) as refused:
            task_from_json(spec | change)
        [problem] = refused.value.problems
        assert problem.value == origin
        assert "scheme://host" in problem.wanted


@pytest.mark.parametrize(
    "condition",
    [
        {"count": {"at_least": 1, "of": [{"observed": {"kind": "tab.opened"}}]}},
        {"count": {"at_least": 3, "of": [{"observed": {"kind": "tab.opened", "distinct": "tab"}}]}},
        {"count": {"at_least": 3, "distinct": False, "of": [{"observed": {"kind": "tab.opened"}}]}},
        {"count": {"at_least": 3, "of": [{"observed": {"kind": "tab.opened"}}, GO["when"]]}},
        {"same": {"by": "element.name", "of": [GO["when"], {"element_clicked": {"role": "link"}}]}},
        {
            "same": {
                "by": "file",
                "of": [{"file_created": {"name": "a"}}, {"file_matches": {"name": "a"}}],
            }
        },
        {"sequence": [{"none_of": [A["when"]]}, GO["when"]]},
    ],
)
def test_what_looks_like_it_but_makes_sense_is_taken(condition: dict[str, Any]) -> None:
    """The neighbours of what is refused."""
    assert ruleset({"id": "x", "component": "ui", "when": condition}).components == ("ui",)


def test_the_canonical_form_says_it_all() -> None:
    """Reading, writing out and reading again."""
    shaping = {"potential": ["nav"], "gamma": 0.9}
    top: dict[str, Any] = {
        "limits": {"steps": 9},
        "efficiency": {"weight": 0.1, "best": 1, "worst": 4},
        **OUTCOME,
    }
    gated = {
        **GO,
        "only_if": A["when"],
        "within": {"seconds": 2},
        "since": "a",
        "credit_to": "cause",
    }
    both = {"id": "both", "when": {"goal": {"requires": ["a"], "of": [A["when"], GO["when"]]}}}
    task = ruleset(gated, A, DONE, both, shaping=shaping, **top).task
    assert task_from_json(task_to_json(task)) == task
