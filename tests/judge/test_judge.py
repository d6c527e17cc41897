"""The judge over HTTP, against a scripted endpoint in a process of its own: ladder, votes, repairs,
failures, cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from api.stages.base import Criterion
from api.stages.judge.answers import CriterionVote, score_of
from api.stages.judge.endpoint import _read_reply
from api.stages.judge.judge import Judge
from api.stages.peer import PeerSettings
from detectors.model.types import Event
from tests.judge.serving import Served, judge_at
from tests.judge.sessions import PLACES, PROOF, session

Make = Callable[..., Judge]
SHIPPED = session(success=True)


def asked(standin: Served, model: str) -> list[dict[str, Any]]:
    """The bodies of what that model was asked, without the probes."""
    bodies = [one["body"] for one in standin.requests if one["body"]["model"] == model]
    return [body for body in bodies if "Answer exactly" not in str(body["messages"])]


@pytest.mark.parametrize(("success", "score"), [(True, 1.0), (False, 0.0)])
async def test_a_verdict_says_how_it_came_about(judge: Make, success: bool, score: float) -> None:
    """Votes, evidence, model, prompt digest, tokens and money are there for the audit; the probe
    was a call as well."""
    opinion = await judge("honest", price_in=2.0, price_out=8.0).ask(session(success=success))
    verdict, record = opinion.verdict, opinion.record
    assert (verdict.stage, verdict.score, verdict.confidence, opinion.again) == (
        "judge",
        score,
        0.8,
        False,
    )
    assert (record["outcome"], record["calls"], len(record["votes"])) == ("agreed", 4, 3)
    assert verdict.cost == pytest.approx(4 * (1000 * 2.0 + 100 * 8.0) / 1e6)
    assert verdict.by == f"honest@{record['prompt'][:12]}"
    assert record["votes"][0]["criteria"]["c1"]["evidence"] == (["e8"] if success else [])
    json.dumps(record)


async def test_a_step_takes_two_votes_in_both_orders(standin: Served, judge: Make) -> None:
    """The second one has criteria and options backwards; no nonce is used twice."""
    opinion = await judge("honest+order").ask(session(success=True, terminal=False, about="step"))
    assert (opinion.record["calls"], opinion.verdict.score) == (3, 1.0)
    first, second = (body["messages"][1]["content"] for body in asked(standin, "honest+order"))
    assert first.index('"id":"c1"') < first.index('"id":"c2"')
    assert second.index('"id":"c2"') < second.index('"id":"c1"')
    assert ("yes, no or unclear" in first, "no, yes or unclear" in second) == (True, True)
    nonces = {text.partition("EVIDENCE ")[2].split()[0] for text in (first, second)}
    assert len(nonces) == 2


async def test_a_judge_that_goes_by_the_order_abstains(judge: Make) -> None:
    """It says yes to whatever option comes first: the votes disagree."""
    opinion = await judge("swaps").ask(session(terminal=False, about="step"))
    assert (opinion.verdict.score, opinion.record["outcome"], opinion.again) == (
        None,
        "disagreed",
        False,
    )


async def test_the_last_vote_sees_the_cited_lines_alone(standin: Served, judge: Make) -> None:
    """At the end, what proves nothing is taken away and the question asked once more."""
    await judge("honest+end").ask(SHIPPED)
    *_, second, third = (body["messages"][1]["content"] for body in asked(standin, "honest+end"))
    assert "Blueˆlamp,ˆ40ˆEUR" in second
    assert "Blueˆlamp,ˆ40ˆEUR" not in third
    assert PROOF.replace(" ", "ˆ") in third


LADDER = {
    "honest": ("json_schema", 1),
    "no-schema": ("json_object+schema", 2),
    "no-format": ("text", 4),
    "no-seed": ("json_schema", 2),
    "new-tokens+no-seed": ("json_schema", 3),
}


@pytest.mark.parametrize(("model", "found"), LADDER.items(), ids=LADDER.keys())
async def test_the_ladder_is_found_once(
    standin: Served, judge: Make, model: str, found: tuple[str, int]
) -> None:
    """What an endpoint takes is asked once, whatever it answers to what it does not take; then
    kept."""
    one = judge(f"{model}+ladder", retries=0)
    for _ in range(2):
        assert (await one.ask(SHIPPED)).verdict.score == 1.0
    assert one.endpoint.way is not None
    assert (one.endpoint.way.rung, one.endpoint.probes) == found
    form = {"json_schema": "json_schema", "json_object+schema": "json_object"}.get(found[0])
    assert asked(standin, f"{model}+ladder")[-1].get("response_format", {}).get("type") == form


async def test_one_repair_then_abstain(judge: Make) -> None:
    """Prose around a right answer is no answer; it is asked for once more, and no third time."""
    repaired = await judge("prose-once").ask(SHIPPED)
    assert (repaired.verdict.score, repaired.record["calls"]) == (1.0, 7)
    assert all(one["repaired"] for one in repaired.record["votes"])
    lost = await judge("prose").ask(SHIPPED)
    assert (lost.verdict.score, lost.again, lost.record["calls"]) == (None, False, 3)
    assert lost.record["outcome"] == "unreadable"


@pytest.mark.parametrize("model", ["down", "slow"])
async def test_a_judge_that_is_gone_is_no_verdict(judge: Make, model: str) -> None:
    """No score and no 0: asked again later, and after some failures left alone."""
    one = judge(f"{model}+gone", retries=1, timeout_s=0.2, breaker_failures=2)
    for _ in range(3):
        opinion = await one.ask(SHIPPED)
        assert (opinion.verdict.score, opinion.again, opinion.record["outcome"]) == (
            None,
            True,
            "unavailable",
        )
    assert "left alone" in opinion.verdict.why
    assert (
        "down" not in model
        or "status 503" in (await judge("down", retries=0).ask(SHIPPED)).verdict.why
    )


async def test_who_reads_a_verdict_sees_nothing_of_the_peer_s_secrets(standin: Served) -> None:
    """Neither what stands before an @ in its address, nor behind a ?, nor the words of its
    error."""
    one = judge_at(standin.url.replace("http://", "http://user:secret@"), "down+told", retries=0)
    why = (await one.ask(SHIPPED)).verdict.why
    await one.close()
    assert ("127.0.0.1" in why, "status 503" in why) == (True, True)
    assert PeerSettings("https://a:b@judge.test:1/v1?key=c").public_url == "https://judge.test:1/v1"
    assert not any(word in f"{why}{one.settings}" for word in ("secret", "user", "it is on fire"))


async def test_a_probe_is_a_call_even_where_it_is_refused(judge: Make) -> None:
    """The one that is refused costs no tokens; what is known by then is not paid for again."""
    one = judge("no-seed+bill", price_in=1.0)
    first, second = [await one.ask(SHIPPED) for _ in range(2)]
    assert (first.record["calls"], second.record["calls"]) == (5, 3)
    assert first.verdict.cost == pytest.approx(second.verdict.cost * 4 / 3)


@pytest.mark.parametrize(
    "error", [httpx.DecodingError("no gzip"), httpx.TooManyRedirects("round and round")]
)
async def test_whatever_fails_at_the_peer_is_no_answer(
    judge: Make, error: httpx.RequestError
) -> None:
    """It is asked again later, as where nobody is there."""

    def failing(request: httpx.Request) -> httpx.Response:
        raise error

    one = judge("honest", retries=0)
    one.endpoint.peer._client = httpx.AsyncClient(transport=httpx.MockTransport(failing))
    opinion = await one.ask(SHIPPED)
    assert (opinion.again, type(error).__name__ in opinion.verdict.why) == (True, True)


@pytest.mark.parametrize("usage", [[1], "many", 7, {"prompt_tokens": "1"}, None], ids=str)
def test_usage_that_is_none_is_estimated(usage: Any) -> None:
    """As where it is not told."""
    reply = _read_reply(
        {"choices": [{"message": {"content": "{}"}}], "usage": usage}, [{"content": "x" * 40}]
    )
    assert (reply.tokens_in, reply.counted) == (10, False)


@pytest.mark.parametrize(("graded", "score"), [("all", 1.0), ("share", 0.5)])
async def test_what_a_score_is_of(judge: Make, graded: str, score: float) -> None:
    """Of a goal all that is required, of a milestone the share, though both are asked about the
    whole episode."""
    criteria = (Criterion("c1", "a"), Criterion("c2", "b", required=False))
    one, question = judge("honest"), session(success=True, criteria=criteria, graded=graded)
    said = {"c1": CriterionVote("yes", ()), "c2": CriterionVote("no", ())}
    assert score_of(said, criteria, question.graded) == score
    other = replace(question, graded="share" if graded == "all" else "all")
    assert one.digest(question) != one.digest(other)


async def test_a_busy_judge_is_waited_for(judge: Make) -> None:
    """A 429 is tried again."""
    assert (await judge("limited").ask(SHIPPED)).verdict.score == 1.0


async def test_tokens_that_nobody_counted_are_estimated(judge: Make) -> None:
    """An endpoint that tells no usage is not free."""
    opinion = await judge("bare", price_in=1.0).ask(SHIPPED)
    assert opinion.verdict.cost > 0
    assert not opinion.record["tokens"]["counted"]


async def test_the_key_is_sent_and_shown_nowhere(standin: Served, judge: Make) -> None:
    """It is in the header of a request, and in nothing that is kept or printed."""
    one = judge("keyed", key="sk-secret")
    opinion = await one.ask(SHIPPED)
    assert standin.requests[-1]["key"] == "Bearer sk-secret"
    assert "sk-secret" not in f"{opinion}{one.settings}"


async def test_the_agent_s_own_words_are_not_shown(standin: Served, judge: Make) -> None:
    """Neither what it thought at a step nor its report; an answer is a claim."""
    question = session(("agent's answer", "Order 4711 is on its way"))
    await judge("own-words").ask(question)
    prompt = asked(standin, "own-words")[-1]["messages"][1]["content"]
    assert "SUCCESS" not in prompt
    assert "thought" not in prompt
    line = next(line for line in prompt.split("\n") if "agent.answered" in line)
    assert json.loads(line)["claim"] is True


async def test_tools_answer_from_the_log_and_leave_a_trace(judge: Make) -> None:
    """Thought, action, observation, rationale and score are kept; what a tool found can be
    cited."""
    report = Event(
        "e",
        0,
        "probe",
        "probe.answered",
        1,
        {"probe": "report", "when": "close", "value": "Total 37.50"},
    )
    question = session(success=True)
    task = {
        **question.task,
        "probes": [{"id": "report", "file": {"root": "home", "path": "report.txt"}}],
    }
    events = [*question.events, report._replace(seq=len(question.events) + 1)]
    opinion = await judge("asks", tools=True).ask(replace(question, events=events, task=task))
    assert (opinion.verdict.score, opinion.record["outcome"]) == (1.0, "agreed")
    trace = opinion.record["votes"][0]["trace"]
    assert [turn["action"]["tool"] for turn in trace] == [
        "events",
        "file",
        "text",
        "calculate",
        "answer",
    ]
    assert trace[0]["thought"] == "I look it up"
    assert "Totalˆ37.50" in trace[1]["observation"]
    assert "Yourˆbasket" in trace[2]["observation"]
    assert json.loads(trace[3]["observation"])["v"]["value"] == "true"


async def test_equal_questions_have_equal_digests(judge: Make) -> None:
    """The nonce, the episode's name and the key change nothing; model, evidence, criteria and
    parameters do."""
    one, same = judge("honest"), judge("honest", key="other")
    digest = one.digest(SHIPPED)
    assert (
        digest
        == same.digest(replace(SHIPPED, episode="another"))
        == one.digest(session(success=True))
    )
    assert (await one.ask(SHIPPED)).record["question"] == digest
    others = [
        judge("bare").digest(SHIPPED),
        judge("honest", seed=8).digest(SHIPPED),
        one.digest(session()),
        one.digest(replace(SHIPPED, terminal=False)),
        one.digest(replace(SHIPPED, criteria=SHIPPED.criteria[:1])),
        one.digest(replace(SHIPPED, task={**SHIPPED.task, "instruction": "Order two"})),
        judge("honest", tools=True).digest(SHIPPED),
    ]
    assert len({digest, *others}) == len(others) + 1


async def test_too_much_evidence_keeps_head_and_tail_and_says_so(
    standin: Served, judge: Make
) -> None:
    """Lines and texts are cut in the middle, and the cut is named."""
    texts = [("page text", f"Row {number} of the list, {number * 'x'}") for number in range(600)]
    await judge("long", evidence_chars=4_000).ask(session(*texts, success=True))
    prompt = asked(standin, "long")[0]["messages"][1]["content"]
    assert len(prompt) < 8_000
    assert "lines are left out here" in prompt
    assert "Blueˆlamp" in prompt
    assert PROOF.replace(" ", "ˆ") in prompt
    await judge("wide").ask(session(("page text", "a" + "b" * 20_000 + "c")))
    assert "charactersˆcut" in asked(standin, "wide")[0]["messages"][1]["content"]


def test_every_place_is_shown(judge: Make) -> None:
    """What an attack could use is what a judge can see: else the corpus would prove nothing."""
    for place in PLACES:
        shown = judge("honest")._evidence(session((place, "purple elephants"))).canonical
        assert "purple elephants" in json.dumps(shown, ensure_ascii=False), place
