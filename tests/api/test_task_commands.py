"""`milestoned task new|check|explain|test`, and a registry that takes no task without its
recordings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from api.cli.main import main
from api.replay.task_tests import BadTestError, bundle_recordings, read_events, run_tests
from api.rewards.explaining import of_events
from api.rewards.rendering import tiers_in_words
from api.tasks.task_files import load_task_file, read_task_file
from api.tasks.task_warnings import warnings_of
from detectors.model.codec import GENESIS, encode_segment
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_to_json
from examples.desktop.record import FOLDER, RECORDINGS, lines
from tests.api.service import TASK, Service, Store, running
from tests.support.logs import Said, clicked, episode, filled, finished, log, ruleset, went
from tests.support.preloaded import run

ROOT = Path(__file__).parent.parent.parent
AT = {"any": [{"address": "http://shop.test/a"}]}
DESKTOP = sorted((ROOT / "examples" / "desktop").glob("*.yaml"))


def milestoned(*args: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "api.cli.main", "task", *map(str, args)]
    return run(command, cwd=ROOT, env=os.environ)


def test_a_new_task_is_a_good_one_and_overwrites_none(tmp_path: Path) -> None:
    """What the template says can be checked and explained as it is."""
    file = tmp_path / "buy.yaml"
    assert milestoned("new", file).returncode == 0
    assert "buy version 1, 3 milestones" in milestoned("check", file).stdout
    assert "request_accepted: A request is answered" in milestoned("explain", file).stdout
    again = milestoned("new", file)
    assert (again.returncode, "File exists" in again.stderr) == (1, True)
    alone = milestoned("test", file)
    assert (alone.returncode, "an oracle test and an adversarial test" in alone.stderr) == (1, True)


A = {"id": "a", "when": {"url_reached": {"url": "/a"}}}
DONE = {"url_reached": {"url": "/done", "loaded": False}}
GOAL = {"id": "g", "when": {"goal": {"requires": ["a"]}}}
TOOLS = {"expected": [{"tool": "search"}]}


@pytest.mark.parametrize(
    ("milestones", "top", "told"),
    [
        pytest.param(
            "goal", {"weights": {"nav": 0.4, "goal": 0.6}}, [], id="all of 1, most of it the goal's"
        ),
        pytest.param("goal", {"weights": {"nav": 0.5, "goal": 0.5}}, [], id="as much as the rest"),
        pytest.param(
            "goal",
            {},
            [
                "(nav 0.1, goal 0.2) sum to 0.3, not 1; an episode can be worth at most 0.3; in the same"
                " proportions: weights: {nav: 0.333, goal: 0.667}"
            ],
            id="too little",
        ),
        pytest.param(
            "goal",
            {"weights": {"nav": 0.5, "goal": 1}},
            [
                "(nav 0.5, goal 1) sum to 1.5, not 1; an episode can be worth at most 1.5; in the same"
                " proportions: weights: {nav: 0.333, goal: 0.667}"
            ],
            id="too much",
        ),
        pytest.param(
            "goal",
            {"weights": {"nav": 0.7, "goal": 0.3}},
            [
                "nav is worth 0.7, more than reaching the goal (0.3); without the goal 0.7 of 1 is attainable"
            ],
            id="a goal that is not the largest",
        ),
        pytest.param(
            "goal",
            {"weights": {"nav": 1, "goal": 0}, "outcome": {"success": 2}},
            [],
            id="the outcome is the goal's",
        ),
        pytest.param(
            "goal",
            {"weights": {"nav": 1, "goal": 0}, "outcome": {"success": 2, "alpha": 0.9}},
            [
                "nav is worth 0.9, more than reaching the goal (0.2); without the goal 0.9 of 1.1 is attainable"
            ],
            id="by its part",
        ),
        pytest.param(
            "goal", {"weights": {"goal": 0}, "tools": TOOLS}, [], id="the preset weighs by itself"
        ),
        pytest.param("no goal", {"weights": {"nav": 1}}, [], id="nothing to be the largest"),
    ],
)
def test_pay_that_its_author_may_not_have_meant_is_a_warning(
    milestones: str, top: dict[str, Any], told: list[str]
) -> None:
    """No refusal: it says what is attainable."""
    found = list(warnings_of(ruleset(A, *([GOAL] if milestones == "goal" else []), **top)))
    assert [one for one in found if not any(part in one for part in told)] == []
    assert len(found) == len(told)


@pytest.mark.parametrize(
    ("when", "warns"),
    [
        (DONE, True),
        ({"address_says": {"text": {"contains": "done"}, "loaded": False}}, True),
        ({"observed": {"kind": "page.navigated", "where": {"url": {"contains": "done"}}}}, True),
        ({"url_reached": {"url": "/done"}}, False),
        ({"observed": {"kind": "page.navigated", "where": {"same_document": False}}}, False),
        ({"page_loaded": {"url": "/done"}}, False),
        ({"page_loaded": {"url": "/done", "loaded": False}}, True),
        ({"all_of": [DONE, {"page_loaded": {"url": "/done"}}]}, False),
        ({"all_of": [DONE, {"url_reached": {"url": "/b", "loaded": False}}]}, True),
        ({"any_of": [DONE, {"page_loaded": {"url": "/done"}}]}, True),
        ({"goal": {"requires": ["address"]}}, True),
        ({"goal": {"requires": ["address", "page"]}}, False),
        ({"goal": {"requires": ["page"]}}, False),
    ],
    ids=[
        "an address alone",
        "the text of one",
        "the event of one",
        "of a document",
        "the event of a document",
        "a page",
        "a page of any document",
        "an address and more",
        "two addresses",
        "an address or more",
        "a goal that requires an address",
        "a goal that requires an address and more",
        "a goal that requires a page",
    ],
)
def test_a_goal_that_rests_on_an_address_alone_is_a_warning(
    when: dict[str, Any], warns: bool
) -> None:
    """Script in the page can put it there by pushState."""
    found = list(
        warnings_of(
            ruleset(
                {"id": "address", "component": "nav", "when": DONE},
                {"id": "page", "component": "nav", "when": {"page_loaded": {"url": "/done"}}},
                {"id": "g", "component": "goal", "when": when},
                weights={"goal": 0.8, "nav": 0.2},
            )
        )
    )
    assert ["rests on an address alone" in one for one in found] == [True] * warns


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, False),
        ({"penalty": 0.5}, False),
        ({"penalty": 0.5, "after": ["address"]}, True),
        ({"before": ["address"]}, True),
        ({"after": ["address"]}, False),
    ],
)
@pytest.mark.parametrize("loaded", [None, True, False])
def test_an_address_that_pays_and_guards_says_how_it_counts(
    loaded: bool | None, more: dict[str, Any], told: bool
) -> None:
    """Where it pays a document is asked for by default, where it guards none: it can't be both."""
    said = {} if loaded is None else {"loaded": loaded}
    address = {"url_reached": {"url": "/a", **said}}
    other = {"id": "other", "component": "ui", "when": {"element_clicked": {"name": "Go"}}, **more}
    rules = ruleset({"id": "address", "when": address}, other, weights={"nav": 0.5, "ui": 0.5})
    found = any("and it guards too" in one for one in warnings_of(rules))
    assert found is (told and loaded is None)


@pytest.mark.parametrize(
    ("when", "fields"),
    [
        ({"request_accepted": {"url": "/a", "body": {"user": "ada", "user.password": "x"}}}, ["user.password"]),
        ({"request_accepted": {"url": "/a", "answer": {"token": "x"}}}, ["token"]),
        ({"request_accepted": {"url": "/a", "body": {"token": {"glob": "*"}}}}, []),
        ({"request_accepted": {"url": "/a", "body": {"cards.0.cvc": "1", "tokens": "2"}}}, ["cards.0.cvc"]),
        ({"request_answered": {"url": AT, "body": [{"name": "pwd", "is": {"string": ["x"]}}]}}, ["pwd"]),
        ({"request_answered": {"url": AT, "body": [{"name": "pwd", "is": None}]}}, []),
        ({"request_answered": {"url": AT, "cookies": [{"name": "sid", "is": {"string": ["x"]}}]}}, ["sid"]),
        ({"state_accepted": {"url": "/a", "facts": [{"path": "$.user['apiKey']", "value": "x"}]}}, ["$.user['apiKey']"]),
        ({"state_accepted": {"url": "/a", "facts": [{"path": "$.token"}]}}, []),
        ({"form_submitted": {"fields": {"card_number": "4111", "city": "Rome"}}}, ["card_number"]),
        ({"form_submitted": {"fields": {"card_number": True}}}, []),
        ({"all_of": [{"request_accepted": {"url": "/a", "body": {"otp": "1"}}}]}, ["otp"]),
    ],
)  # fmt: skip
def test_a_field_that_is_always_masked_is_warned_of(when: Any, fields: list[str]) -> None:
    rules = ruleset({"id": "m", "component": "form", "when": when}, weights={"form": 1})
    found = [one for one in warnings_of(rules) if "masked as a secret" in one]
    assert [
        f"m compares {field}, whose" in one for field, one in zip(fields, found, strict=True)
    ] == [True] * len(fields)


def test_a_warning_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It stands beside the word that the task is right."""
    file = tmp_path / "task.yaml"
    spec = {
        "id": "t",
        "version": "1",
        "instruction": "Go.",
        "origin": "http://shop.test",
        "milestones": [A, GOAL],
    }
    file.write_text(yaml.safe_dump(spec))
    assert main(["task", "check", str(file)]) == 0
    said = capsys.readouterr()
    assert "ok: t version 1, 2 milestones, at most 0.3" in said.out
    assert said.err.startswith(f"{file}: warning: weights: ")


@pytest.mark.parametrize(
    ("name", "id"),
    [("my task", "my-task"), ("2024", "2024"), ("Ünï", "n"), ("日本", "task"), ("null", "null")],
)
def test_a_new_task_has_an_id_whatever_its_file_is_called(
    name: str, id: str, tmp_path: Path, capsys: Any
) -> None:
    """What is written is what its own check takes."""
    file = tmp_path / f"{name}.yaml"
    assert main(["task", "new", str(file)]) == 0
    capsys.readouterr()
    assert main(["task", "check", str(file)]) == 0
    assert f": ok: {id} version 1" in capsys.readouterr().out


def test_every_example_passes_its_own_tests() -> None:
    """The six of examples/desktop: the oracle has it all, claims have nothing."""
    done = milestoned("test", *DESKTOP)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(DESKTOP) == 6
    assert done.stdout.count(": oracle ") == 6
    assert done.stdout.count("claims.jsonl: ok, total 0 of") == 6


def test_the_recordings_made_by_hand_are_what_their_maker_writes() -> None:
    """`python -m examples.desktop.record` would change nothing."""
    for name, (before, steps) in RECORDINGS.items():
        assert (FOLDER / f"{name}.jsonl").read_bytes().splitlines() == lines(before, steps), name


GO = {"id": "go", "when": {"element_clicked": {"role": "button", "name": "Add to cart"}}}
FORM = {"id": "form", "when": {"form_filled": {"fields": {"Name": "Ada", "Mail": "a@b"}}}}
POST = {
    "id": "post",
    "when": {"request_accepted": {"method": "POST", "url": "/orders", "status": 201}},
}
WHY: dict[str, tuple[dict[str, Any], list[list[Said]], str]] = {
    "paid": (GO, [[clicked("Add to cart")]], "paid +0.2 in step 0 (events 3)"),
    "the name is another": (GO, [[clicked("Buy")], [clicked("Add to basket")]], "nearest: event 5 in step 1: name is “Add to basket”, wanted “Add to cart”"),
    "the role is another": (GO, [[clicked("Add to cart", role="link")], [clicked("x", role="link")]], "event 3 in step 0: role is “link”, wanted “button”"),
    "script clicked": (GO, [[clicked("Add to cart", trusted=False)]], "event 3 in step 0: page script did it (`trusted` is false), and only a user's own act counts: element.clicked"),
    "a library selected": ({"id": "m", "when": {"field_filled": {"field": "N", "value": "1"}}}, [[filled("N", "1", trusted=False)]], "automation libraries set values so, as by `select_option`: `trusted: false` in the condition counts them"),
    "a fact of many": ({"id": "m", "when": {"observed": {"kind": "element.right_clicked", "where": {"element.name": "Row", "element.role": "cell"}}}}, [[("element.right_clicked", clicked("Row", role="row")[1])]], "event 3 in step 0: where.element.role is “row”, wanted “cell”"),
    "a tool's argument": ({"id": "m", "component": "ui", "when": {"tool_called": {"tool": "edit", "arguments": {"file": "a", "line": 3}}}}, [[("agent.tool_called", {"call": "c", "tool": "edit", "arguments": {"file": "a", "line": 4}})]], "arguments.line is 4, wanted 3"),
    "observed by script": ({"id": "m", "when": {"observed": {"kind": "element.right_clicked", "where": {"element.name": "Row"}}}}, [[("element.right_clicked", clicked("Row", trusted=False)[1])]], "`trusted: false` in `where` asks for it"),
    "an expression": ({"id": "m", "when": {"cel": {"kind": "page.navigated", "expression": "data.main == false"}}}, [[went("/a")]], "event 3 in step 0, for which cel is not true as the task has it"),
    "nothing happened": (GO, [[went("/a")]], "element_clicked: no event that this rule reads is in the log"),
    "the status": (POST, [[finished("POST", "/orders", 500)]], "status is 500, wanted 201"),
    "half a form": (FORM, [[filled("Name", "Ada")]], "did not pay: 50% of it came true"),
    "too early": ({**GO, "after": ["a"]}, [[clicked("Add to cart")], [went("/a")]], "came true before a (event 5), and not again after it"),
    "never after": ({**GO, "after": ["a"]}, [[clicked("Add to cart")]], "came true, but a, which must come first, was not reached"),
    "too late": ({**GO, "before": ["a"]}, [[went("/a")], [clicked("Add to cart")]], "came true only after a (event 3)"),
    "a gate": ({**GO, "only_if": {"field_filled": {"field": "N", "value": "1"}}}, [[clicked("Add to cart"), filled("N", "2")]], "value is “2”, wanted “1”"),
    "not at the end": ({"id": "m", "must_hold_at_end": True, "when": {"url_reached": {"url": "/a"}}}, [[went("/a")], [went("/b")]], "was true, but not any more at the end"),
    "a window": ({**GO, "within": {"steps": 1}}, [[], [clicked("Add to cart")]], "pays within 1 steps of the start only"),
    "a goal": ({"id": "g", "when": {"goal": {"requires": ["a"]}}}, [[]], "requires a, which was not reached"),
    "a goal, and nobody looked at what it requires": ({"id": "g", "when": {"goal": {"requires": ["a"]}}}, [[("gap.began", {"source": "cdp", "reason": "r"})]], "requires a, which may have been reached"),
    "never seen after": ({**GO, "after": ["a"]}, [[clicked("Add to cart"), ("gap.began", {"source": "cdp", "part": "page", "reason": "r"})]], "came true, but a, which must come first, may have been reached"),
    "part of all": ({"id": "m", "component": "ui", "when": {"all_of": [GO["when"], A["when"]]}}, [[went("/a"), clicked("x")]], "name is “x”, wanted “Add to cart”"),
    "no penalty": ({**GO, "penalty": 0.5}, [[]], "did not happen: no penalty"),
    "unobserved": (GO, [[clicked("Add to cart"), ("gap.began", {"source": "cdp", "reason": "r"})]], "came true in step 0 (events 3), worth +0.2; not paid, since the step is null: cdp saw nothing from event 4: r"),
    "nobody looked": (GO, [[("gap.began", {"source": "cdp", "part": "element", "reason": "r"})], []], "not known whether it came true: nothing of cdp:element was observed from event 3 on: r (steps 0 to 1 are null)"),
    "a penalty, and nobody looked": ({**GO, "penalty": 0.5}, [[("gap.began", {"source": "cdp", "part": "element", "reason": "r"})]], "not known whether it came true"),
    "a goal, and nobody looked": ({"id": "g", "when": {"goal": {"requires": ["a"]}}}, [[("gap.began", {"source": "cdp", "reason": "r"})]], "not known whether it came true: nothing of cdp was observed from event 3 on: r (step 0 is null)"),
    "a recording of another task": ({"id": "m", "when": {"text_visible": {"text": "x"}}}, [[went("/a")]], "text.appeared: recorded only if the task of the recording asks for it, and that was another one"),
    "a kept value": ({"id": "m", "when": {"field_filled": {"field": "Password", "value": "s3cret"}}}, [[filled("Password", None, has_value=True)]], "not known whether it came true: event 3: field_filled: the field's value is a secret, kept back, or a text that the page took or refused at once (step 0 is null)"),
    "another site": (GO, [[went("http://other.test/"), clicked("Add to cart")]], "event 4 in step 0 would fulfil it on the task's own site: element.clicked button “Add to cart” trusted: yes (its page is not of http://shop.test)"),
    "an address of script": (A, [[went("/"), went("/a", same_document=True)], [went("/b", same_document=True)]], "(only page script put that address there: its document was loaded from http://shop.test/; `loaded: false` counts it, as single-page applications need it)"),
    "an address that a service worker answers": (A, [[went("/"), went("/a", document="about:service-worker")], [went("/b")]], "(a service worker made its document, and no server did: let the milestone wait for what the server answered, as `request_accepted` does; `loaded: false` counts whatever the page's script makes up)"),
    "a click at an address of script": ({"id": "m", "when": {"element_clicked": {"name": "Buy", "url": "/a"}}}, [[went("/"), went("/a", same_document=True), clicked("Buy")]], "event 5 in step 0 would fulfil it, were its document loaded there"),
    "another click at an address of script": ({"id": "m", "when": {"element_clicked": {"name": "Buy", "url": "/a"}}}, [[went("/"), went("/a", same_document=True), clicked("Sell")]], "name is “Sell”, wanted “Buy”"),
    "lost events": (GO, [[("events.dropped", {"source": "cdp", "count": 3, "reason": "r"})]], "event 3: 3 observations of cdp were lost: r (step 0 is null)"),
    "another source was blind": ({"id": "f", "when": {"file_created": {"name": "x"}}}, [[("gap.began", {"source": "cdp", "reason": "r"})]], "did not pay"),
}  # fmt: skip


@pytest.mark.parametrize("name", WHY)
def test_why_a_milestone_paid_or_did_not(name: str) -> None:
    """The nearest miss, with the event that failed and how."""
    milestone, steps, said = WHY[name]
    rules = ruleset(milestone, *([] if milestone["id"] == "a" else [A]))
    explained, _ = of_events(rules, log(*episode(*steps)), "ep_1")
    assert said in "\n".join(explained[0].became)


RUDE = {"id": "rude", "when": {"element_clicked": {"name": "Rude"}}, "penalty": 0.5}
BLINK: list[Said] = [
    ("gap.began", {"source": "cdp", "reason": "r"}),
    ("gap.ended", {"source": "cdp"}),
]


def test_a_step_of_which_only_a_penalty_is_known_pays_nothing_else() -> None:
    """What came true in it was not paid, and what did not is not known; the penalty was."""
    rules = ruleset(GO, A, RUDE)
    said = episode([*BLINK, clicked("Rude"), clicked("Add to cart")], BLINK, [])
    explained, _ = of_events(rules, log(*said), "ep_1")
    go, a, rude = (one.became for one in explained)
    assert go == (
        "came true in step 0 (events 6), worth +0.2; not paid, since only a penalty is known of the"
        " step: cdp saw nothing from event 3: r",
    )
    assert a[0].endswith(
        "(of step 0 only a penalty is known); nothing of cdp was observed from event 8 on: r (step 1 is null)"
    )
    assert rude == ("took -0.5 in step 0 (events 5)",)


TEXT = {"text_visible": {"text": "x"}}


@pytest.mark.parametrize("when", [TEXT, {"goal": {"when": TEXT}}])
def test_a_kind_that_the_daemon_was_not_asked_for_is_named(when: dict[str, Any]) -> None:
    """What depends on it is not known, and no milestone of it "did not pay"."""
    _, *since = episode([clicked("x")])
    opened: Said = ("episode.opened", {"task": "t", "digest": "d", "asked": []})
    explained, playback = of_events(ruleset({"id": "m", "when": when}), log(opened, *since), "ep_1")
    assert playback.rewards[0].reward is None
    assert (
        explained[0]
        .became[0]
        .startswith(
            "not known whether it came true: no text.appeared was recorded: the daemon reports it only"
        )
    )


@pytest.mark.parametrize(
    ("escalation", "told"),
    [
        pytest.param(None, [], id="rules alone"),
        pytest.param({"escalate": "never"}, [], id="nobody is asked"),
        pytest.param(
            {"share": 0.5, "escalate": ["unscored", "goal"]},
            [
                "steps: 0.3 in all by model and judge, 0.03 a step over 10 steps, nothing once the goal is reached "
                "(share 0.5 of 0.6)",
                "the goal: what is left of its worth, less what steps were offered",
            ],
            id="a cascade",
        ),
        pytest.param(
            {"route": "blend"},
            [
                "steps: 0.06 in all by model and judge, 0.006 a step over 10 steps, nothing once the goal is reached "
                "(share 0.2 of 0.6)",
                "steps: 0.5 rule + 0.3 model + 0.2 judge",
            ],
            id="a blend",
        ),
    ],
)
def test_what_tiers_may_add_is_explained(
    escalation: dict[str, Any] | None,
    told: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In units of reward, before anything runs; also by the command."""
    top: dict[str, Any] = {} if escalation is None else {"escalation": escalation}
    rules = ruleset(A, GOAL, weights={"goal": 0.6}, limits={"steps": 10}, **top)
    assert list(tiers_in_words(rules)) == told
    file = tmp_path / "task.json"
    file.write_bytes(orjson.dumps(task_to_json(rules.task)))
    assert main(["task", "explain", str(file)]) == 0
    _, _, beyond = capsys.readouterr().out.partition("beyond the rules\n")
    assert [line.strip() for line in beyond.splitlines()][: len(told) or 1] == told


def test_what_was_so_at_the_start_is_told() -> None:
    """Met at baseline, paid nothing."""
    explained, playback = of_events(ruleset(A), log(*episode([], before=[went("/a")])), "ep_1")
    assert "was so at the start, and earned nothing" in explained[0].became[0]
    assert playback.total == 0.0


def test_what_came_true_and_did_not_pay_says_why() -> None:
    """Though nothing of the task held it back."""
    beside = {
        "all_of": {
            "holding": True,
            "of": [{"none_of": [{"element_clicked": {"name": "No"}}]}, GO["when"]],
        }
    }
    gap: list[Said] = [
        ("gap.began", {"source": "cdp", "reason": "x"}),
        ("gap.ended", {"source": "cdp"}),
    ]
    said = episode(gap, [clicked("Add to cart")])
    explained, _ = of_events(
        ruleset({"id": "m", "component": "ui", "when": beside}), log(*said), "ep_1"
    )
    assert (
        explained[0]
        .became[0]
        .startswith("not known whether it came true: nothing of cdp was observed from event 3 on")
    )


def test_explaining_changes_nothing_of_the_rewards() -> None:
    """The same engine, fed one by one."""
    for file in DESKTOP:
        rules = compile_task(load_task_file(file))
        spec, _ = read_task_file(file)
        (oracle,) = run_tests(rules, [spec["tests"][0]], file.parent)
        events = read_events(file.parent / spec["tests"][0]["oracle"])
        _, playback = of_events(rules, events, events[0].episode)
        assert (playback.total, playback.success) == (oracle.total, oracle.success)


TESTED = {
    **TASK,
    "id": "tested",
    "milestones": [{"id": "go", "when": {"goal": {"when": {"element_clicked": {"name": "Go"}}}}}],
}


def said(*steps: list[Said], close: bool = True) -> dict[str, str]:
    text = encode_segment(log(*episode(*steps, close=close)), GENESIS).splitlines()[1:]
    return {"lines": b"\n".join(text).decode()}


def test_of_what_nobody_saw_no_total_is_told(tmp_path: Path, capsys: Any) -> None:
    """Neither by what explains a recording nor by what tests a task: it is no 0."""
    unseen = said([GAP, clicked("Stop")])
    task, recording = tmp_path / "tested.yaml", tmp_path / "unseen.jsonl"
    task.write_bytes(
        orjson.dumps({**TESTED, "tests": [{"oracle": REACHED}, {"adversarial": unseen}]})
    )
    recording.write_text(unseen["lines"])
    assert main(["task", "explain", str(task), str(recording)]) == 0
    assert "total not known (seen: 0) of 0.2, 1 steps masked" in capsys.readouterr().out
    assert main(["task", "test", str(task)]) == 1
    oracle, adversary = capsys.readouterr().out.splitlines()
    assert oracle.endswith(": ok, total 0.2 of 0.2")
    assert "step 0 is not known: " in adversary
    assert adversary.endswith(", total not known of 0.2")


GAP: Said = ("gap.began", {"source": "cdp", "reason": "x"})
REACHED, CLAIMED = said([clicked("Go")]), said([clicked("Stop")])
REFUSED: dict[str, tuple[Any, str]] = {
    "none": (None, "an oracle test and an adversarial test"),
    "no adversary": ([{"oracle": REACHED}], "an adversarial test"),
    "an oracle that fails": ([{"oracle": CLAIMED}, {"adversarial": CLAIMED}], "came to 0, wanted 0.2"),
    "an adversary that wins": ([{"oracle": REACHED}, {"adversarial": REACHED}], "reached the goal"),
    "an adversary nobody saw": ([{"oracle": REACHED}, {"adversarial": said([GAP, clicked("Stop")])}], "step 0 is not known"),
    "an adversary cut short": ([{"oracle": REACHED}, {"adversarial": said([clicked("Stop")], close=False)}], "ends before its episode does"),
    "an adversary that tries nothing": ([{"oracle": REACHED}, {"adversarial": said()}], "has no step"),
    "a file of the service's": ([{"oracle": "/etc/passwd"}, {"adversarial": CLAIMED}], "{frames: base64} or {lines: text}"),
    "no recording": ([{"oracle": {"frames": "AAAA"}}, {"adversarial": CLAIMED}], "a recording"),
    "another key": ([{"oracle": REACHED, "most": 1}, {"adversarial": CLAIMED}], "at_most"),
}  # fmt: skip


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
async def test_a_registry_that_wants_tests(store: Store) -> None:
    """A task that can't be reached, or that claims can have, is refused; one that shows both is
    taken."""
    async with running(store, tasks_need_tests=True) as service:
        for name, (tests, wanted) in REFUSED.items():
            refused = await service.post(
                "/v1/tasks", TESTED if tests is None else {**TESTED, "tests": tests}
            )
            assert refused.status_code == 422, name
            assert wanted in refused.json()["errors"][0]["wanted"], name
        taken = await service.post(
            "/v1/tasks", {**TESTED, "tests": [{"oracle": REACHED}, {"adversarial": CLAIMED}]}
        )
        assert taken.status_code == 201, taken.text


async def test_the_tests_are_no_part_of_the_task(service: Service) -> None:
    """With them or without, it is the same task under the same digest."""
    with_them = await service.post("/v1/tasks", {**TESTED, "tests": [{"oracle": REACHED}]})
    without = await service.post("/v1/tasks", TESTED)
    assert (with_them.status_code, without.status_code) == (201, 200)
    assert with_them.json() == without.json()


async def test_editors_have_the_schema_without_a_token(service: Service) -> None:
    """What `milestoned task schema` prints."""
    answer = await service.get("/v1/schemas/task", None)
    assert answer.status_code == 200
    assert answer.json() == orjson.loads((ROOT / "docs" / "task.schema.json").read_bytes())


def test_a_bundle_carries_its_recordings(tmp_path: Path) -> None:
    """So that a service can run the tests that lie beside the file here."""
    for file in DESKTOP:
        spec = orjson.loads(milestoned("test", "--bundle", file).stdout)
        assert all(
            one.wrong is None
            for one in run_tests(compile_task(load_task_file(file)), spec["tests"], None)
        )
    (tmp_path / "t.yaml").write_text(yaml.safe_dump({**TESTED, "tests": [{"oracle": "none.mrec"}]}))
    missing = milestoned("test", tmp_path / "t.yaml")
    assert (missing.returncode, "none.mrec" in missing.stderr) == (1, True)
    (tmp_path / "odd.jsonl").write_bytes(b"\xff")
    for tests in ([{"oracle": 3}], [{"oracle": "odd.jsonl"}], None, 5):
        with pytest.raises(BadTestError):
            bundle_recordings({"tests": tests}, tmp_path)


def test_a_step_that_nobody_has_decided_is_explained_as_a_replay_has_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No tier was asked: the step is null, and so is the total."""
    task, recording = tmp_path / "task.yaml", tmp_path / "it.jsonl"
    top = {"limits": {"steps": 5}, "escalation": {"escalate": ["unscored"], "tiers": ["judge"]}}
    task.write_bytes(orjson.dumps({**TESTED, **top}))
    recording.write_text(said([clicked("Stop")])["lines"])
    assert main(["task", "explain", str(task), str(recording)]) == 0
    printed = capsys.readouterr().out
    assert "step 0 is null (escalating): asked beyond the rules: step (judge)" in printed
    assert "total not known (seen: 0) of 0.2, 1 steps masked" in printed


def test_a_reader_that_has_enough_ends_the_command_in_silence() -> None:
    """`milestoned … | head`: no traceback, and the status that a shell gives such an end."""
    command = [sys.executable, "-m", "api.cli.main", "task", "schema"]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running_command:
        assert running_command.stdout is not None
        assert running_command.stderr is not None
        running_command.stdout.close()
        assert running_command.stderr.read() == b""
    assert running_command.returncode == 128 + signal.SIGPIPE
