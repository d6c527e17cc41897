"""Slots: what instructions of one template share, and conditions that name its parameters."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from api.cli.main import main
from api.proposal.mining import propose
from api.proposal.slots import NoTemplateError, Values, find_template, read_values
from api.proposal.support import RecordedRun
from api.proposal.writing import RecordingCounts, TaskHead, write_proposal
from detectors.model.codec import encode_event
from tests.support.logs import ORIGIN, Said, clicked, episode, filled, finished, log, went


@pytest.mark.parametrize(
    ("told", "text", "values"),
    [
        pytest.param(
            ['Click on the link "hac".', 'Click on the link "non".'],
            'Click on the link "{link}".',
            [{"link": "hac"}, {"link": "non"}],
            id="a word in quotation marks",
        ),
        pytest.param(
            ["Order 2 of the desk lamp.", "Order 11 of the chair."],
            "Order {order} of the {order_2}.",
            [{"order": 2, "order_2": "desk lamp"}, {"order": 11, "order_2": "chair"}],
            id="numbers are numbers, and several words one value",
        ),
        pytest.param(
            ["Enter 04/11/2010 as the date.", "Enter 8-1-2012 as the date."],
            "Enter {enter} as the date.",
            [{"enter": "04/11/2010"}, {"enter": "8-1-2012"}],
            id="a date is one word",
        ),
        pytest.param(
            ["Amelia first", "Bo first"],
            "{value} first",
            [{"value": "Amelia"}, {"value": "Bo"}],
            id="nothing stands before it",
        ),
        pytest.param(
            ["Click a small circle", "Click a circle"],
            "Click a {click}",
            [{"click": "small circle"}, {"click": "circle"}],
            id="a word that values share is a part of them",
        ),
        pytest.param(["Go.", "Go."], "Go.", [{}, {}], id="nothing differs"),
        pytest.param(
            ["Item 07", "Item 8"], "Item {item}", [{"item": "07"}, {"item": "8"}], id="07"
        ),
    ],
)
def test_words_that_all_share_are_the_template(
    told: list[str], text: str, values: list[Values]
) -> None:
    found = find_template(told)
    assert (found.text, list(found.values)) == (text, values)


def test_instructions_that_share_no_word_are_of_no_template() -> None:
    with pytest.raises(NoTemplateError, match="expected words that all share, got 'Buy it'"):
        find_template(["Buy it", "Sell all"])


def test_a_template_that_is_given_names_its_slots() -> None:
    found = read_values("Order {amount} of {item}.", ["Order 2 of lamps.", "Order 3 of chairs."])
    assert list(found.values) == [{"amount": 2, "item": "lamps"}, {"amount": 3, "item": "chairs"}]
    with pytest.raises(NoTemplateError, match=r"Buy lamps.*expected one that fits"):
        read_values("Order {amount} of {item}.", ["Buy lamps."])


def test_white_space_is_any_white_space() -> None:
    found = read_values(
        "  Order  {amount} of {item}. ", ["Order 2\nof  desk lamps.", " Order 3 of x."]
    )
    assert list(found.values) == [{"amount": 2, "item": "desk lamps"}, {"amount": 3, "item": "x"}]


def test_an_instruction_that_does_not_fit_many_slots_is_refused_at_once() -> None:
    """A pattern that goes back and forth over twenty slots would not come to an end."""
    template = " a ".join(f"{{slot_{number}}}" for number in range(20)) + " end"
    with pytest.raises(NoTemplateError):
        read_values(template, ["b a " * 3_000])


@pytest.mark.parametrize(
    "instruction",
    ["Order 2 of .", "Order of lamps.", "Order 2 of lamps", "Please order 2 of lamps."],
)
def test_a_slot_has_a_value_and_nothing_stands_beside_the_template(instruction: str) -> None:
    with pytest.raises(NoTemplateError):
        read_values("Order {amount} of {item}.", [instruction])


def test_a_slot_that_stands_twice_has_one_value() -> None:
    template = "Move {file} to b, and rename {file}."
    assert read_values(template, ["Move x to b, and rename x."]).values[0] == {"file": "x"}
    with pytest.raises(NoTemplateError):
        read_values(template, ["Move x to b, and rename y."])


_WORDS = st.lists(st.sampled_from(["lamp", "desk", "7", "x9", "Oslo"]), min_size=1, max_size=3)


@given(st.lists(st.tuples(_WORDS, _WORDS), min_size=2, max_size=4))
def test_filling_a_template_gives_each_instruction_again(runs: list[tuple[list[str], ...]]) -> None:
    told = [f"Send {' '.join(one)} over to {' '.join(other)}, please." for one, other in runs]
    found = find_template(told)
    for instruction, values in zip(told, found.values, strict=True):
        assert found.text.format(**values) == instruction


def run(name: str, item: str, amount: int, *, ordered: str | None = None) -> RecordedRun:
    body = f"item={ordered or item}&amount={amount}"
    steps: list[list[Said]] = [
        [went(f"/search?q={item}")],
        [clicked(item), filled("Amount", str(amount))],
        [
            finished(
                "POST",
                "/orders",
                200,
                body={"text": body, "mime": "application/x-www-form-urlencoded"},
            )
        ],
    ]
    return RecordedRun(name, log(*episode(*steps)), {"item": item, "amount": amount})


def test_a_value_of_the_instruction_becomes_its_slot() -> None:
    """In addresses, names, fields and bodies; a failure that ordered another item does not meet
    the goal of its own instruction, though another run's goal is just that."""
    good = [run("a", "lamp", 2), run("b", "chair", 13)]
    found = propose(good, [run("c", "table", 5, ordered="lamp")], ORIGIN)
    assert [one.candidate.when for one in found.milestones] == [
        {"url_reached": {"url": "/search?q={item}"}},
        {"element_clicked": {"role": "button", "name": "{item}"}},
        {"field_filled": {"field": "Amount", "value": "{amount}"}},
        {
            "request_accepted": {
                "method": "POST",
                "url": "/orders",
                "body": {"item": "{item}", "amount": "{amount}"},
            }
        },
    ]
    assert [one.rule for one in found.goal] == ["request_accepted"]
    assert found.is_decided
    head = TaskHead("shop/order", "Order {amount} of {item}.", ORIGIN, good[0].values)
    task = yaml.safe_load(write_proposal(head, found, RecordingCounts(2, 1), ()))
    assert task["parameters"] == {"item": {"example": "lamp"}, "amount": {"example": 2}}


def changed_mind(name: str, *, back: bool = False) -> RecordedRun:
    fills = [filled("Colour", "red"), *([filled("Colour", "blue")] if back else [])]
    return RecordedRun(name, log(*episode([went("/")], fills, [clicked("Save")])))


def test_what_was_filled_in_has_to_stand_at_the_last_deed() -> None:
    """The failure did all that the successes did, and changed it again before it saved."""
    found = propose([changed_mind("a"), changed_mind("b")], [changed_mind("c", back=True)], ORIGIN)
    (goal,) = found.goal
    assert goal.candidate.when == {
        "sequence": {
            "holding": True,
            "of": [
                {"field_filled": {"field": "Colour", "value": "red"}},
                {"element_clicked": {"role": "button", "name": "Save"}},
            ],
        }
    }
    assert found.is_decided


def in_order(name: str, *names: str) -> RecordedRun:
    return RecordedRun(name, log(*episode(*[[clicked(one)] for one in names])))


def test_the_order_of_what_was_done_may_be_what_failures_lack() -> None:
    good = [in_order("a", "One", "Two"), in_order("b", "One", "Two")]
    found = propose(good, [in_order("c", "Two", "One")], ORIGIN)
    assert [one.rule for one in found.goal] == ["sequence"]
    same = propose(good, [in_order("c", "One", "Two")], ORIGIN)
    assert not same.is_decided
    assert "nothing separates" in same.notes[0]


def test_a_value_that_may_be_anything_decides_nothing() -> None:
    """Two answers that differ by no slot: what the right one is does not show."""
    runs = [
        RecordedRun(name, log(*episode([filled("Answer", answer)], [clicked("Send")])))
        for name, answer in (("a", "seven"), ("b", "nine"))
    ]
    empty = RecordedRun("c", log(*episode([clicked("Send")])))
    found = propose(runs, [empty], ORIGIN)
    assert not found.is_decided
    assert "what it has to be is not known" in found.notes[0]


def _kept(folder: Path, recording: RecordedRun) -> Path:
    path = folder / f"{recording.name}.jsonl"
    events = recording.events
    path.write_bytes(
        b"".join(
            encode_event(one.seq, one.source, one.kind, one.at, one.data) + b"\n" for one in events
        )
    )
    return path


def test_the_command_makes_a_template_of_what_each_run_was_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [run("a", "lamp", 2), run("b", "chair", 13), run("c", "chair", 13, ordered="lamp")]
    paths = [_kept(tmp_path, one) for one in runs]
    told = tmp_path / "told.yaml"
    told.write_text(
        "a.jsonl: Order 2 of lamp.\nb.jsonl: Order 13 of chair.\nc.jsonl: Order 13 of chair.\n"
    )
    given = ["--from", str(paths[0]), "--from", str(paths[1]), "--against", str(paths[2])]
    out = tmp_path / "order.yaml"
    asked = ["task", "propose", *given, "--instructions", str(told), "--out", str(out)]
    assert main([*asked, "--instruction", "Order {amount} of {item}."]) == 0
    task = yaml.safe_load(out.read_text())
    assert task["instruction"] == "Order {amount} of {item}."
    assert task["parameters"]["item"] == {"example": "chair"}, "of which there is a failure too"
    assert [next(iter(one.values())) for one in task["tests"]] == ["b.jsonl", "c.jsonl"]
    assert main(["task", "test", str(out)]) == 0
    capsys.readouterr()

    told.write_text("a.jsonl: Order 2 of lamp.\n")
    assert main([*asked[:-1], str(tmp_path / "other.yaml")]) == 2
    assert "told.yaml: b.jsonl: got 'None', expected the text of its instruction" in (
        capsys.readouterr().err
    )
