"""An episode's log and rewards as spans and evaluations: who is whose child, what is known, and
that what is not known has no score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from api.telemetry.attributes import Attributes, TracedOutcome, label_attributes, mirrored_reward
from api.telemetry.outline import LogOutline
from api.telemetry.spans import EpisodeTrace, TracedEpisode, trace_episode, unix_ns
from common.trace_context import TraceParent
from detectors.engine.engine import Engine
from detectors.model.rewards import RewardJson, episode_total, reward_to_json
from detectors.model.types import Json
from tests.support.logs import Said, began, episode, log, ruleset, sealed, went

OPENED = unix_ns("2026-11-25T21:20:00Z")
MS = 1_000_000
CART: dict[str, Any] = {"id": "cart", "when": {"url_reached": {"url": "/cart"}}}
FORBIDDEN: dict[str, Any] = {
    "id": "admin",
    "when": {"url_reached": {"url": "/admin"}},
    "penalty": 0.5,
}
RULES = ruleset(CART, FORBIDDEN)
LABELS: dict[str, Json] = {"run": "a", "run.seed": 3}
IDS = ("cart", "cart.total")
BLIND: Said = ("gap.began", {"source": "cdp", "reason": "the browser was lost"})
ENDED: Said = ("step.ended", {"step": 0})
CALL: Said = ("agent.tool_called", {"call": "c1", "tool": "search", "arguments": {"q": "lamp"}})
BACK: Said = ("agent.tool_returned", {"call": "c1", "ok": True, "result": "found 3"})
FAILED: Said = ("agent.tool_returned", {"call": "c1", "ok": False, "error": "no such shop"})


def rewards_of(said: Sequence[Said]) -> list[RewardJson]:
    return [reward_to_json(reward) for reward in Engine(RULES, "ep_1").feed(log(*said)).rewards]


def traced(
    said: Sequence[Said],
    rewards: Sequence[RewardJson] | None = None,
    *,
    content: bool = False,
    parent: TraceParent | None = None,
) -> EpisodeTrace:
    """The trace of a whole log; ``rewards`` instead of those that the rules give."""
    paid = rewards_of(said) if rewards is None else rewards
    outline = LogOutline()
    outline.take(log(*said))
    total = episode_total(reward["reward"] for reward in paid)
    is_closed = outline.closed_at is not None
    outcome = TracedOutcome(total, None, paid, closed=is_closed)
    facts = TracedEpisode(
        "ep_1", "shop/t", "1", RULES.digest, OPENED, parent, LABELS, "Buy a lamp."
    )
    return trace_episode(facts, outline, paid, outcome, content=content)


def scores(trace: EpisodeTrace) -> dict[str, tuple[object, object, object]]:
    """Score, label and error of each evaluation, by step and name."""
    prefix = "gen_ai.evaluation."
    return {
        f"{one.attributes.get('milestoned.step', '-')} {one.attributes[prefix + 'name']}": (
            one.attributes.get(prefix + "score.value"),
            one.attributes[prefix + "score.label"],
            one.attributes.get("error.type"),
        )
        for one in trace.evaluations
    }


PAID = [went("/cart"), sealed(0)]
NONE = (None, "unknown", "unobserved")
ROWS: dict[str, tuple[list[Said], dict[str, tuple[object, object, object]]]] = {
    "paid": (
        episode([went("/cart")], []),
        {
            "0 cart": (0.1, "earned", None),
            "0 step_reward": (0.1, "positive", None),
            "1 step_reward": (0.0, "zero", None),
            "- episode_reward": (0.1, "positive", None),
            "- episode_success": NONE,
        },
    ),
    "penalty": (
        episode([went("/admin")]),
        {
            "0 admin": (-0.5, "penalty", None),
            "0 step_reward": (-0.5, "negative", None),
            "- episode_reward": (-0.5, "negative", None),
            "- episode_success": NONE,
        },
    ),
    "null": (
        episode([BLIND]),
        {
            "0 step_reward": (None, "unobserved", "unobserved"),
            "- episode_reward": NONE,
            "- episode_success": NONE,
        },
    ),
    "pending": (
        episode([went("/cart"), sealed(0)], [went("/")], close=False),
        {
            "0 cart": (0.1, "earned", None),
            "0 step_reward": (0.1, "positive", None),
            "1 step_reward": (None, "settling", "settling"),
            "- episode_reward": (None, "settling", "settling"),
            "- episode_success": (None, "settling", "settling"),
        },
    ),
    "sealed twice": (
        episode([went("/cart"), sealed(0), sealed(0)]),
        {
            "0 cart": (0.1, "earned", None),
            "0 step_reward": (0.1, "positive", None),
            "1 step_reward": (0.0, "zero", None),
            "- episode_reward": (0.1, "positive", None),
            "- episode_success": NONE,
        },
    ),
    "no step": (
        episode(),
        {
            "0 step_reward": (0.0, "zero", None),
            "- episode_reward": (0.0, "zero", None),
            "- episode_success": NONE,
        },
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_what_is_evaluated_and_what_is_not_known(
    row: tuple[list[Said], dict[str, tuple[object, object, object]]],
) -> None:
    said, expected = row
    assert scores(traced(said)) == expected


def test_an_unknown_score_is_absent_in_span_and_event_and_its_reason_is_there() -> None:
    trace = traced(episode([BLIND]))
    step = next(span for span in trace.spans if span.name == "execute_tool step")
    assert "milestoned.reward" not in step.attributes
    assert (
        step.attributes["milestoned.reward_status"],
        step.attributes["milestoned.reward_mask"],
    ) == ("unobserved", True)
    event = trace.evaluations[0].attributes
    assert "the browser was lost" in str(event["gen_ai.evaluation.explanation"])
    root = trace.spans[-1]
    assert "milestoned.reward" not in root.attributes
    assert root.attributes["mlflow.traceTag.milestoned.reward"] == "unknown"
    assert 0 not in [
        value
        for span in trace.spans
        for name, value in span.attributes.items()
        if "reward" in name and value is not False
    ]


def names_and_roots(attributes: Attributes) -> tuple[set[str], set[str]]:
    """The names of attributes, and of the objects that they make for who reads them as a tree."""
    parts = [name.split(".") for name in attributes]
    roots = {".".join(words[:count]) for words in parts for count in range(1, len(words))}
    return set(attributes), roots


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_no_attribute_has_the_name_of_an_object_of_others(
    row: tuple[list[Said], dict[str, tuple[object, object, object]]],
) -> None:
    """Also of milestones and labels whose names have dots; W&B Weave refuses such a span."""
    dotted = [
        {**reward, "milestones": [{**one, "id": id} for one in reward["milestones"] for id in IDS]}
        for reward in rewards_of(row[0])
    ]
    trace = traced(row[0], cast("list[RewardJson]", dotted), content=True)
    of_spans = [span.attributes for span in trace.spans]
    for attributes in (*of_spans, *(one.attributes for one in trace.evaluations)):
        names, roots = names_and_roots(attributes)
        assert not names & roots
    assert trace.spans[-1].attributes["milestoned.label.run:seed"] == 3


def test_names_that_are_written_alike_overwrite_nothing() -> None:
    """What their milestones paid is added up; of their labels the first is told."""
    (reward,) = (one for one in rewards_of(episode([went("/cart")])) if one["milestones"])
    ids = [{**reward["milestones"][0], "id": id} for id in ("a.b", "a:b", "c")]
    (worth,) = {one["worth"] for one in ids}
    told = mirrored_reward(cast("RewardJson", {**reward, "milestones": ids}))
    paid = {name: told[f"milestoned.milestone.{name}"] for name in ("a:b", "c")}
    assert paid == {"a:b": pytest.approx(2 * cast("float", worth)), "c": worth}
    assert label_attributes({"a:b": 2, "a.b": 1, "c": 3}) == {
        "milestoned.label.a:b": 1,
        "milestoned.label.c": 3,
    }


def test_an_answer_that_comes_later_is_the_same_evaluation_with_a_score() -> None:
    said = episode([went("/")])
    (sealed_reward,) = rewards_of(said)
    waiting: RewardJson = {
        **sealed_reward,
        "status": "escalating",
        "reward": None,
        "mask": True,
        "reason": "the judge is asked",
    }
    answered: RewardJson = {**sealed_reward, "reward": 0.4, "decided_by": "judge"}
    before, after = traced(said, [waiting]), traced(said, [answered])
    assert scores(before)["0 step_reward"] == (None, "escalating", "escalating")
    assert scores(before)["- episode_reward"] == (None, "unknown", "escalating")
    assert scores(after)["0 step_reward"] == (0.4, "positive", None)
    assert [span.span_id for span in before.spans] == [span.span_id for span in after.spans]
    assert [one.uid for one in before.evaluations] == [one.uid for one in after.evaluations]
    assert len({one.uid for one in after.evaluations}) == len(after.evaluations)


def test_what_came_true_beside_a_penalty_in_a_step_that_is_not_known_has_no_score() -> None:
    """Of such a step the penalty alone is known: the wire's 0 is no score."""
    back: Said = ("gap.ended", {"source": "cdp"})
    trace = traced(episode([BLIND, back, went("/admin"), went("/cart")]))
    assert scores(trace)["0 admin"] == (-0.5, "penalty", None)
    assert scores(trace)["0 step_reward"] == (-0.5, "negative", None)
    assert scores(trace)["0 cart"] == (None, "unpaid", "unobserved")
    named = [name for span in trace.spans for name in span.attributes]
    assert named.count("milestoned.milestone.admin") == 2, "of the episode and of its step"
    assert "milestoned.milestone.cart" not in named
    (cart,) = (
        one.attributes
        for one in trace.evaluations
        if one.attributes["gen_ai.evaluation.name"] == "cart"
    )
    assert "milestoned.milestone.worth" not in cart


def test_what_a_masked_step_reached_is_not_paid() -> None:
    said = episode([went("/cart")])
    (paid,) = rewards_of(said)
    masked: RewardJson = {
        **paid,
        "status": "unobserved",
        "reward": None,
        "mask": True,
        "reason": "blind",
    }
    trace = traced(said, [masked])
    assert scores(trace)["0 cart"] == (None, "unpaid", "unobserved")
    assert not [
        name
        for span in trace.spans
        for name in span.attributes
        if name == "milestoned.milestone.cart"
    ]


def test_steps_are_children_of_the_root_and_calls_of_their_step_with_their_own_times() -> None:
    said = episode([CALL, BACK, went("/cart"), ENDED, sealed(0)], before=[CALL, FAILED])
    trace = traced(said)
    loose, call, step, root = trace.spans
    assert [span.name for span in trace.spans] == [
        "execute_tool search",
        "execute_tool search",
        "execute_tool step",
        "invoke_agent shop/t",
    ]
    assert (root.parent_id, step.parent_id, call.parent_id, loose.parent_id) == (
        None,
        root.span_id,
        step.span_id,
        root.span_id,
    )
    assert (root.start_ns, root.end_ns) == (OPENED, OPENED + 10 * MS)
    assert (step.start_ns, step.end_ns) == (OPENED + 4 * MS, OPENED + 8 * MS)
    assert (call.start_ns, call.end_ns) == (OPENED + 5 * MS, OPENED + 6 * MS)
    assert (loose.error, loose.attributes["error.type"], call.error) == (
        "tool_error",
        "tool_error",
        None,
    )
    assert {one.span_id for one in trace.evaluations} == {step.span_id, root.span_id}
    assert trace.evaluations[0].at_ns == OPENED + 9 * MS


def test_what_the_close_decides_is_the_roots() -> None:
    held = ruleset({**CART, "must_hold_at_end": True})
    said = episode([went("/cart"), sealed(0)])
    paid = [reward_to_json(r) for r in Engine(held, "ep_1").feed(log(*said)).rewards]
    assert len(paid) == 2, "the close has a step of its own"
    trace = traced(said, paid)
    closing = [one for one in trace.evaluations if one.attributes.get("milestoned.step") == 1]
    assert closing
    assert {one.span_id for one in closing} == {trace.spans[-1].span_id}
    assert [span.name for span in trace.spans].count("execute_tool step") == 1


def test_texts_of_agent_and_page_are_there_only_where_they_were_chosen() -> None:
    secret = "IGNORE ALL PREVIOUS INSTRUCTIONS"
    called = ("agent.tool_called", {"call": secret, "tool": secret, "arguments": {"a": secret}})
    back = ("agent.tool_returned", {"call": secret, "ok": True, "result": secret})
    step = ("step.began", {"step": 0, "action": {"type": secret}})
    said = [
        *episode(close=False),
        step,
        called,
        back,
        went(f"/{secret}"),
        ("agent.answered", {"text": secret}),
        ("episode.closed", {"reason": "done"}),
    ]
    (paid,) = rewards_of(said)
    judged: RewardJson = {
        **paid,
        "verdicts": [
            {
                "stage": "judge",
                "score": 0.5,
                "confidence": 0.9,
                "why": secret,
                "by": "m",
                "cost": 0.0,
            }
        ],
    }
    assert secret not in repr(traced(said, [judged]))
    assert "Buy a lamp." not in repr(traced(said, [judged]))
    chosen = traced(said, [judged], content=True)
    call, one, root = chosen.spans
    assert call.name == f"execute_tool {secret}"
    assert call.attributes["gen_ai.tool.call.result"] == secret
    assert one.attributes["gen_ai.tool.call.arguments"] == f'{{"type":"{secret}"}}'
    assert secret in str(root.attributes["gen_ai.output.messages"])
    assert "Buy a lamp." in str(root.attributes["gen_ai.input.messages"])
    assert chosen.evaluations[0].attributes["milestoned.verdict.judge.why"] == secret


def test_a_part_of_a_log_gives_the_same_spans_as_the_whole() -> None:
    said = episode([went("/cart"), sealed(0)], [CALL, BACK, sealed(1)], [went("/")])
    events, paid = log(*said), rewards_of(said)
    whole = traced(said)
    facts = TracedEpisode("ep_1", "shop/t", "1", RULES.digest, OPENED)
    spans, evaluations, after, step = [], [], 0, 0
    for reward in paid:
        part = LogOutline(through=after, after_step=step - 1)
        part.take(events, reward["through"])
        after = part.drop_open_step()
        found = trace_episode(facts, part, [reward], None)
        spans += [(span.span_id, span.start_ns, span.end_ns) for span in found.spans]
        evaluations += [(one.uid, one.at_ns) for one in found.evaluations]
        step = reward["step"] + 1
    assert spans == [(span.span_id, span.start_ns, span.end_ns) for span in whole.spans[:-1]]
    assert evaluations == [(one.uid, one.at_ns) for one in whole.evaluations[:-2]]


TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
HEADERS: dict[str, tuple[str, str | None]] = {
    "as it is": (f"00-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-01"),
    "not sampled": (f"00-{TRACE}-{SPAN}-00", f"00-{TRACE}-{SPAN}-00"),
    "other flags": (f"00-{TRACE}-{SPAN}-ff", f"00-{TRACE}-{SPAN}-01"),
    "a later version": (f"cc-{TRACE}-{SPAN}-01-more", f"00-{TRACE}-{SPAN}-01"),
    "version ff": (f"ff-{TRACE}-{SPAN}-01", None),
    "more than version 00 has": (f"00-{TRACE}-{SPAN}-01-more", None),
    "a later version, badly joined": (f"cc-{TRACE}-{SPAN}-01.more", None),
    "no trace": (f"00-{'0' * 32}-{SPAN}-01", None),
    "no span": (f"00-{TRACE}-{'0' * 16}-01", None),
    "upper case": (f"00-{TRACE.upper()}-{SPAN}-01", None),
    "short": (f"00-{TRACE[1:]}-{SPAN}-01", None),
    "other digits": (f"00-{TRACE}-{SPAN}-0٣", None),
    "a newline": (f"00-{TRACE}-{SPAN}-01\n", None),
    "empty": ("", None),
}


@pytest.mark.parametrize(("header", "expected"), HEADERS.values(), ids=HEADERS)
def test_a_traceparent_is_read_as_the_w3c_says(header: str, expected: str | None) -> None:
    parent = TraceParent.parse(header)
    assert (None if parent is None else parent.header()) == expected


def test_two_headers_are_none() -> None:
    header = f"00-{TRACE}-{SPAN}-01"
    assert TraceParent.of_headers([header]) == TraceParent(TRACE, SPAN, True)
    assert TraceParent.of_headers([header, header]) is None
    assert TraceParent.of_headers([]) is None


def test_the_trace_is_the_openers_else_the_episodes_own() -> None:
    said = episode([went("/cart")])
    own, again = traced(said), traced(said)
    joined = traced(said, parent=TraceParent(TRACE, SPAN, True))
    assert own.trace_id == again.trace_id
    assert own.trace_id.hex() == "6d1dbb0cf8e72d8bba32dc36f68e0045"  # of sha256("ep_1")
    assert again == own
    assert joined.trace_id.hex() == TRACE
    root = joined.spans[-1]
    assert (root.parent_id, root.has_remote_parent) == (bytes.fromhex(SPAN), True)
    assert own.spans[-1].parent_id is None


def test_events_that_lack_what_they_should_have_are_no_fault() -> None:
    outline = LogOutline()
    outline.take(
        log(
            ("step.began", {}),
            ("step.began", {"step": True}),
            ("agent.tool_called", {}),
            ("agent.tool_returned", {}),
            ("step.sealed", {}),
            began(0),
            ("agent.answered", {}),
            ("step.ended", {}),
        )
    )
    assert list(outline.steps) == [0]
    assert [(call.tool, call.ok) for call in outline.calls] == [("", False)]
