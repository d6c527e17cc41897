"""Tasks drafted from an instruction: what is read of a model's words, that they stay drafts, and
what recordings confirm of them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from api.cli.main import main
from api.proposal.drafting import (
    DRAFT_MARK,
    MAX_ANSWER,
    MAX_MILESTONES,
    TaskDraftError,
    draft_schema,
    draft_task,
    find_named_origin,
    for_drafting,
    read_draft,
    write_draft,
)
from api.proposal.writing import TaskHead
from api.stages.judge.answers import UnreadableError
from api.stages.judge.ballot import Bill
from api.stages.judge.endpoint import Endpoint
from api.stages.judge.settings import JudgeSettings
from api.stages.peer import PeerSettings
from api.tasks.task_files import BadTaskError, load_task_file, load_task_yaml
from detectors.model.codec import encode_event
from tests.judge.serving import MODEL_PYTHON, ROOT, Served, serving
from tests.support.logs import Said, clicked, episode, filled, finished, log, went

INSTRUCTION = "At http://shop.test order 2 of the lamp."
HEAD = TaskHead("shop/order", INSTRUCTION, "http://shop.test")


def milestone(id: str, when: dict[str, Any], why: str = "") -> dict[str, Any]:
    return {"id": id, "why": why, "when": when}


CART = milestone("cart", {"url_reached": {"url": "/cart"}}, "It is\n# bought there")
AMOUNT = milestone("amount", {"field_filled": {"field": "Amount", "value": "2"}})
BUY = milestone("buy", {"element_clicked": {"role": "button", "name": "Buy"}})
SENT = milestone("sent", {"request_accepted": {"method": "POST", "url": "/orders/*"}})
WISHED = milestone("wished", {"url_reached": {"url": "/wishes"}})
PROPOSED = {"milestones": [CART, WISHED, AMOUNT, BUY, SENT], "goal": ["sent"]}


@pytest.fixture(scope="module")
def standin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The scripted endpoint, a process of its own."""
    with serving(tmp_path_factory.mktemp("standin")) as served:
        yield served


def answering(standin: Served, answer: object) -> None:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    (standin.folder / "draft.json").write_text(text)


def settings(url: str, model: str = "honest", **more: Any) -> JudgeSettings:
    return for_drafting(JudgeSettings(PeerSettings(url, pause_s=0.01, **more), model))


async def asked(url: str, model: str = "honest", **more: Any) -> str:
    endpoint = Endpoint(settings(url, model, **more))
    try:
        return await draft_task(endpoint, model, HEAD, Bill())
    finally:
        await endpoint.peer.close()


def test_a_draft_is_a_task_that_says_what_it_is() -> None:
    text = write_draft(HEAD, read_draft(json.dumps(PROPOSED)), "a model\nid: evil")
    assert text.startswith(
        f"{DRAFT_MARK}: written by a model id: evil from the instruction alone.\n"
    )
    assert "  # the model says: It is # bought there\n  - id: cart\n" in text
    task = load_task_yaml(text)
    assert (task.version, task.origin) == ("1-draft", "http://shop.test")
    assert [one.id for one in task.milestones] == [
        *("cart", "wished", "amount", "buy", "sent", "done"),
    ]  # fmt: skip
    assert task.milestones[-1].when.args == {"requires": ["sent"]}
    components = {one.component for one in task.milestones}
    assert sum(task.weights[name] for name in components) == pytest.approx(1)


def test_texts_become_conditions_and_empty_ones_are_left_out() -> None:
    rows = [
        milestone("a", {"element_clicked": {"role": "", "name": "Buy"}}),
        milestone("b", {"text_visible": {"text": "Thanks"}}),
        milestone("c", {"file_matches": {"name": "report-*.csv"}}),
        milestone("d", {"field_filled": {"field": "Name", "value": ""}}),
    ]
    read = read_draft(json.dumps({"milestones": rows, "goal": ["a", "b", "a"]}))
    assert [one.when for one in read.milestones] == [
        {"element_clicked": {"name": "Buy"}},
        {"text_visible": {"text": {"contains": "Thanks"}}},
        {"file_matches": {"name": {"glob": "report-*.csv"}}},
        {"field_filled": {"field": "Name"}},
    ]
    assert read.goal == ["a", "b"]


def test_the_schema_is_of_the_task_language() -> None:
    """Each rule and argument that the schema offers is one that the language takes."""
    schema = draft_schema()
    Draft202012Validator.check_schema(schema)
    assert not list(Draft202012Validator(schema).iter_errors(PROPOSED))
    offered = schema["properties"]["milestones"]["items"]["properties"]["when"]["anyOf"]
    rows = [
        milestone(f"m{n}", {rule: dict.fromkeys(arguments["properties"], "/a*")})
        for n, one in enumerate(offered)
        for rule, arguments in one["properties"].items()
    ]
    assert len(rows) == 9
    proposed = {"milestones": rows, "goal": ["m0"]}
    assert not list(Draft202012Validator(schema).iter_errors(proposed))
    task = load_task_yaml(write_draft(HEAD, read_draft(json.dumps(proposed)), "m"))
    for row, made in zip(rows, task.milestones, strict=False):
        [(rule, arguments)] = row["when"].items()
        assert (made.when.rule, set(made.when.args)) == (rule, set(arguments))


BIG = "x" * 401
REFUSED: dict[str, tuple[object, str]] = {
    "prose": ("Sure, here it is.", "not one JSON object"),
    "nothing": ("", "wanted one JSON object"),
    "a list": ([CART], "a list, wanted an object"),
    "too long": ('{"a":"' + "x" * MAX_ANSWER + '"}', "expected at most 32000"),
    "too deep": ('{"milestones":' * 2_000 + "1" + "}" * 2_000, "expected a list|not one JSON"),
    "no milestones": ({"milestones": [], "goal": ["a"]}, "a list of 1 to 12"),
    "too many": (
        {
            "milestones": [{**CART, "id": f"a{n}"} for n in range(MAX_MILESTONES + 1)],
            "goal": ["a0"],
        },
        "a list of 1 to 12",
    ),
    "no goal": ({"milestones": [CART], "goal": []}, "goal: .*ids of the milestones"),
    "another goal": ({"milestones": [CART], "goal": ["x"]}, "goal: .*ids of the milestones"),
    "two of one id": ({"milestones": [CART, CART], "goal": ["cart"]}, "the same id"),
    "an unknown key": ({"milestones": [{**CART, "weight": 9}], "goal": ["cart"]}, "id, why and when"),
    "an unknown rule": (
        {"milestones": [milestone("a", {"cel": {"expression": "1"}})], "goal": ["a"]},
        "expected one of url_reached",
    ),
    "a pattern": (
        {"milestones": [milestone("a", {"url_reached": {"url": {"regex": "(a+)+$"}}})],
         "goal": ["a"]},
        "expected a text of at most 400",
    ),
    "an argument of another rule": (
        {"milestones": [milestone("a", {"url_reached": {"url": "/", "loaded": "x"}})],
         "goal": ["a"]},
        "expected url",
    ),
    "no argument": (
        {"milestones": [milestone("a", {"url_reached": {"url": " "}})], "goal": ["a"]},
        "expected a text in one of url",
    ),
    "a long text": (
        {"milestones": [milestone("a", {"answer_matches": {"text": BIG}})], "goal": ["a"]},
        "at most 400",
    ),
    "a long reason": ({"milestones": [{**CART, "why": BIG}], "goal": ["cart"]}, "at most 400"),
}  # fmt: skip


@pytest.mark.parametrize("answer", REFUSED.values(), ids=list(REFUSED))
def test_what_is_no_draft(answer: tuple[object, str]) -> None:
    given, says = answer
    with pytest.raises(UnreadableError, match=says):
        read_draft(given if isinstance(given, str) else json.dumps(given))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (milestone("a b", {"url_reached": {"url": "/"}}), r"milestones\[0\].id"),
        (milestone("a", {"url_reached": {"url": "cart"}}), r"milestones\[0\].when"),
    ],
    ids=["an id", "an address"],
)
def test_what_the_task_language_refuses_is_no_draft(changed: dict[str, Any], says: str) -> None:
    draft = read_draft(json.dumps({"milestones": [changed], "goal": [changed["id"]]}))
    with pytest.raises(BadTaskError, match=says):
        write_draft(HEAD, draft, "m")


@pytest.mark.parametrize("model", ["honest", "honest+no-schema", "honest+no-format"])
async def test_an_endpoint_drafts_down_the_ladder(standin: Served, model: str) -> None:
    answering(standin, PROPOSED)
    assert load_task_yaml(await asked(standin.url, model)).version == "1-draft"


async def test_what_is_wrong_is_sent_back_once(standin: Served) -> None:
    before = len(standin.requests)
    answering(standin, PROPOSED)
    assert DRAFT_MARK in await asked(standin.url, "honest+prose-once")
    last = standin.requests[before:][-1]["body"]["messages"]
    assert "That could not be read (milestones: expected a list" in last[-1]["content"]
    answering(standin, {"milestones": [{**CART, "id": "a b"}], "goal": ["a b"]})
    with pytest.raises(TaskDraftError, match=r"milestones\[0\].id: got 'a b'"):
        await asked(standin.url)


def test_an_instruction_names_a_site_or_none() -> None:
    assert find_named_origin(INSTRUCTION) == "http://shop.test"
    assert find_named_origin("See https://a.example:8443/x?y now.") == "https://a.example:8443"
    assert find_named_origin("At https://Shop.Example buy.") == "https://shop.example"
    assert find_named_origin("Order the lamp.") is None
    assert find_named_origin("https://user:password@a.example/") is None


def order(*, amount: str = "2", sent: bool = True) -> list[list[Said]]:
    return [
        [went("/cart"), filled("Amount", amount)],
        [clicked("Buy"), *([finished("POST", "/orders/7", 201)] if sent else [])],
    ]


GAP: Said = ("gap.began", {"source": "cdp", "reason": "lost"})


def recorded(path: Path, *steps: Sequence[Said]) -> str:
    events = log(*episode(*steps))
    path.write_bytes(
        b"".join(
            encode_event(one.seq, one.source, one.kind, one.at, one.data) + b"\n" for one in events
        )
    )
    return str(path)


@pytest.fixture
def draft(standin: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A draft that the command wrote."""
    answering(standin, PROPOSED)
    monkeypatch.setenv("MILESTONED_JUDGE_URL", standin.url)
    monkeypatch.setenv("MILESTONED_JUDGE_MODEL", "honest")
    out = tmp_path / "draft.yaml"
    words = ["task", "propose", "--instruction", INSTRUCTION, "--id", "shop/order"]
    assert main([*words, "--out", str(out)]) == 0
    assert main(["task", "check", str(out)]) == 0
    assert load_task_file(out).origin == "http://shop.test"
    return out


def test_a_draft_that_has_no_place_is_refused_before_the_judge_is_asked(
    draft: Path, standin: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = len(standin.requests)
    words = ["task", "propose", "--instruction", INSTRUCTION, "--out"]
    assert main([*words, str(draft.parent / "none" / "draft.yaml")]) == 2
    assert "its directory does not exist" in capsys.readouterr().err
    assert main([*words, str(draft)]) == 2
    assert "expected a file that does not exist yet" in capsys.readouterr().err
    assert len(standin.requests) == asked


def test_recordings_confirm_a_draft(
    draft: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What no success reached goes, the rest becomes a task with the recordings as its tests."""
    good, bad = recorded(tmp_path / "good.jsonl", *order()), tmp_path / "bad.jsonl"
    out = tmp_path / "order.yaml"
    recorded(bad, *order(sent=False))
    words = ["--from", good, "--against", str(bad), "--draft", str(draft), "--out", str(out)]
    assert main(["task", "propose", *words]) == 0
    assert capsys.readouterr().err == "left out wished: not reached in good.jsonl\n"
    text = out.read_text()
    assert DRAFT_MARK not in text
    assert text.startswith("# Drafted by a model, confirmed by 1 successes and 1 failures.\n")
    assert "  # in 1 of 1 successes and 0 of 1 failures\n  - id: sent\n" in text
    task = load_task_file(out)
    assert task.version == "1"
    assert [one.id for one in task.milestones] == ["cart", "amount", "buy", "sent", "done"]
    components = {one.component for one in task.milestones}
    assert sum(task.weights[name] for name in components) == pytest.approx(1)
    assert main(["task", "check", str(out)]) == 0
    assert main(["task", "test", str(out)]) == 0
    assert main(["task", "propose", "--from", good, "--draft", str(out)]) == 2
    assert "expected that of a draft, such as 1-draft" in capsys.readouterr().err


def test_a_failure_that_is_not_known_is_counted_as_unknown(
    draft: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is no failure without the milestone, and no test of the task."""
    good, bad = recorded(tmp_path / "good.jsonl", *order()), tmp_path / "bad.jsonl"
    out = tmp_path / "order.yaml"
    recorded(bad, [went("/cart")], [GAP])
    words = ["--from", good, "--against", str(bad), "--draft", str(draft), "--out", str(out)]
    assert main(["task", "propose", *words]) == 0
    text = out.read_text()
    assert "  # in 1 of 1 successes and 1 of 1 failures\n  - id: cart\n" in text
    unknown = "  # in 1 of 1 successes and 0 of 1 failures, unknown in 1 failures\n"
    assert f"{unknown}  - id: sent\n" in text
    assert f"{unknown}  - id: done\n" in text
    assert main(["task", "test", str(out)]) == 1
    assert capsys.readouterr().err.endswith("tests: wanted an adversarial test\n")


def test_a_draft_whose_goal_is_not_reached_is_not_confirmed(
    draft: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not reached, not known, or reached by a failure: it stays a draft, and nothing is written."""
    out = str(tmp_path / "order.yaml")
    good = recorded(tmp_path / "good.jsonl", *order())
    for name, steps, says in (
        ("less", order(sent=False), "done is not reached in less.jsonl"),
        ("blind", [[GAP, went("/cart")], []], "done is not known in blind.jsonl"),
    ):
        path = recorded(tmp_path / f"{name}.jsonl", *steps)
        words = ["--from", good, "--from", path, "--draft", str(draft), "--out", out]
        assert main(["task", "propose", *words]) == 1
        shown = capsys.readouterr().err
        assert says in shown
        assert "missing: sent" in shown
    words = ["--from", good, "--against", good, "--draft", str(draft), "--out", out]
    assert main(["task", "propose", *words]) == 1
    assert "done is reached in good.jsonl, expected no failure to" in capsys.readouterr().err
    assert not Path(out).exists()


def test_what_cannot_be_asked_is_said(
    standin: Served,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("MILESTONED_JUDGE_URL", raising=False)
    assert main(["task", "propose"]) == 2
    assert "--from: expected a recorded success, or --instruction" in capsys.readouterr().err
    assert main(["task", "propose", "--instruction", "x", "--against", "y"]) == 2
    assert main(["task", "propose", "--instruction", "x"]) == 2
    assert "MILESTONED_JUDGE_URL: not set" in capsys.readouterr().err
    monkeypatch.setenv("MILESTONED_JUDGE_URL", standin.url)
    monkeypatch.setenv("MILESTONED_JUDGE_MODEL", "honest")
    answering(standin, "no")
    assert main(["task", "propose", "--instruction", "x"]) == 1
    assert "the endpoint's answer is no task" in capsys.readouterr().err
    monkeypatch.setenv("MILESTONED_JUDGE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("MILESTONED_JUDGE_RETRIES", "0")
    assert main(["task", "propose", "--instruction", "x"]) == 2
    assert "127.0.0.1:9" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(not MODEL_PYTHON.exists(), reason="make test-all sets .venv-judge up")
async def test_a_real_model_drafts_under_the_schema(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SmolLM2 of 135 million parameters knows nothing of tasks: its answer has the schema's shape,
    and what comes of it is a draft that checks, or is refused with what is wrong."""
    monkeypatch.setattr("api.proposal.drafting.TRIES", 1)  # an answer takes minutes of a core
    command = (str(MODEL_PYTHON), str(ROOT / "tests" / "judge" / "small_model.py"))
    with serving(tmp_path_factory.mktemp("small"), command) as served:
        endpoint = Endpoint(settings(served.url, "smollm2", timeout_s=300.0, retries=0))
        bill, began = Bill(), time.monotonic()
        try:
            told = await draft_task(endpoint, "smollm2", HEAD, bill)
            assert load_task_yaml(told).version == "1-draft"
        except TaskDraftError as error:
            told = str(error)
        finally:
            await endpoint.peer.close()
        assert endpoint.way is not None
        assert endpoint.way.rung == "json_schema"
        assert "not one JSON object" not in told
        print(f"\n{told}")
        print(f"{bill}, {time.monotonic() - began:.1f} s")
