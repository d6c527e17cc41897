"""`milestoned export --form html`: one file an episode that needs nothing else, says what is not
known, and shows what agent and page wrote as text."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import orjson
import pytest

from agentd.masking import MASK
from api.cli.main import main
from api.exporting.rows import Exported
from api.pages.standalone import MAX_LINES, render_episode
from api.rewards.scored_episode import task_bytes
from detectors.task.task_json import task_from_json
from tests.api.service import TASK, events, frames
from tests.rescoring.corpus import record, rescore, written
from tests.support.logs import Said, clicked, episode, filled, titled, went

GAP: Said = ("gap.began", {"source": "cdp", "reason": "browser gone"})
BACK: Said = ("gap.ended", {"source": "cdp"})
EVIL = (
    "</style></title><script>alert(1)</script><img src=//evil.test/x onerror=alert(1)>\"'&{{7*7}}"
)


def export(*arguments: object) -> int:
    return main(["export", *map(str, arguments)])


def rendered(*steps: list[Said], task: dict[str, Any] = TASK) -> str:
    """The file of an episode of these steps."""
    said = events("ep_x", *episode(*steps))
    content = b"".join(frames(said, [1] * len(said)))
    return render_episode(Exported("x", content, task=task_bytes(task_from_json(task))))


class Seen(HTMLParser):
    """What a browser would make of a file: its elements, its links, its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def check_alone(text: str) -> Seen:
    """A file that loads nothing and runs nothing; every link leads to a place in it."""
    seen = Seen(text)
    assert not seen.tags & {"script", "img", "link", "iframe", "object", "form", "base", "embed"}
    names = {name for name, _ in seen.attributes}
    assert not {name for name in names if name.startswith("on")} | names & {
        "src",
        "style",
        "srcset",
    }
    places = {f"#{value}" for name, value in seen.attributes if name == "id"}
    links = {str(value) for name, value in seen.attributes if name == "href"}
    assert links <= places, links - places
    assert "url(" not in text.replace("url(#hatch)", "")
    assert "default-src 'none'" in text
    return seen


def test_recordings_become_a_file_each_with_what_a_rescore_says(tmp_path: Path) -> None:
    corpus, task = record(tmp_path / "corpus", 7), written(tmp_path / "task.yaml", TASK)
    assert export(corpus, "--task", task, "--form", "html", "--out", tmp_path / "out") == 0
    said = tmp_path / "out.jsonl"
    assert rescore(corpus, "--task", task, "--out", said, "--workers", 1) == 0
    results = [orjson.loads(line)["result"] for line in said.read_bytes().splitlines()[1:]]
    files = sorted((tmp_path / "out").iterdir())
    assert [path.name for path in files] == [f"{number:05}.html" for number in range(7)]
    for path, result in zip(files, sorted(results, key=lambda r: r["episode"]), strict=True):
        seen = check_alone(path.read_text())
        total = "Rewardnot known" if result["total"] is None else f"Reward{result['total']:g}"
        assert total in seen.text.replace("\n", "")
        for milestone in (one for reward in result["rewards"] for one in reward["milestones"]):
            for number in milestone["evidence"]:
                assert ("href", f"#e{number}") in seen.attributes
    blind = files[6].read_text()
    assert "Not known" in blind
    assert "not paid: the step is masked" in blind


def test_a_step_that_is_not_known_is_null_and_its_gap_is_named() -> None:
    seen = check_alone(rendered([went("/cart"), GAP], [BACK, clicked("Buy")], [GAP]))
    text = " ".join(seen.text.split())
    assert "Not known, masked (unobserved): cdp saw nothing" in text
    assert "browser gone" in text
    assert "null" in text
    gaps = text.split("What was not observed")[1].split("What happened")[0]
    assert gaps.count("all of it") == 2
    assert ("event" in gaps.split("browser gone")[0], "the end" in gaps) == (True, True)
    whole = " ".join(check_alone(rendered([went("/cart")], [clicked("Buy")])).text.split())
    assert "No source reports a gap." in whole
    assert "Not known" not in whole


def test_what_stands_beside_a_penalty_in_a_step_that_is_not_known_was_not_paid() -> None:
    """Of such a step the penalty alone is known; the milestone's 0 would be a number for what
    nobody knows."""
    rude = {"id": "rude", "when": {"element_clicked": {"name": "Rude"}}, "penalty": 0.5}
    task = {**TASK, "milestones": [*TASK["milestones"], rude]}
    seen = check_alone(rendered([GAP, BACK, clicked("Rude"), clicked("Buy")], task=task))
    text = " ".join(seen.text.split())
    assert "0 at step 0, not paid: only a penalty is known of the step" in text
    assert "buy not paid: only a penalty is known of the step" in text
    assert "−0.5 at step 0" in text
    assert "−0.5 at step 0, not paid" not in text


def test_what_was_not_seen_to_be_reached_may_have_been_where_a_step_is_not_known() -> None:
    unknown = "not reached in a step that is known"
    assert unknown in " ".join(check_alone(rendered([went("/cart"), GAP], [BACK])).text.split())
    known = " ".join(check_alone(rendered([went("/cart")], [])).text.split())
    assert "not reached" in known
    assert unknown not in known


def test_what_agent_and_page_wrote_is_text() -> None:
    """Also what is a template, closes the style or begins a script."""
    evil = {**TASK, "instruction": EVIL}
    acted: Said = ("step.began", {"step": 1, "action": {"type": EVIL}})
    text = rendered([titled(EVIL), clicked(EVIL), went("/?" + EVIL), acted], task=evil)
    seen = check_alone(text)
    assert seen.text.count("<script>alert(1)</script>") >= 5, "it can be read, and does nothing"
    assert "<script" not in text
    assert "{{7*7}}" in seen.text


def test_what_was_masked_stays_masked() -> None:
    """A password field has no value in the log; elsewhere the mask stands where a secret stood."""
    said = [filled("Password", None, has_value=True), went(f"/?token={MASK}")]
    text = check_alone(rendered(said)).text
    assert f"/?token={MASK}" in text
    assert "textbox “Password”" in text


def test_a_long_step_is_cut_but_never_its_evidence() -> None:
    many = [went(f"/{number}") for number in range(MAX_LINES + 50)]
    seen = check_alone(rendered([*many, went("/cart")], [clicked("Buy")]))
    assert "lines are not in this file" in seen.text
    assert "http://shop.test/cart" in seen.text


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--min-total", 1), "--min-total: got 1 with --form html; expected --form sft"),
        (("--gamma", 1, "--gamma", 0.5), "--gamma: got 2 values with --form html; expected one"),
        (("--credit-to", "cause"), "--credit-to: got cause with --form html; expected as_paid"),
    ],
)
def test_options_of_other_forms_are_refused(
    more: tuple[object, ...], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, task = record(tmp_path / "corpus", 1), written(tmp_path / "task.yaml", TASK)
    arguments = (corpus, "--task", task, "--form", "html", "--out", tmp_path / "out")
    assert export(*arguments, *more) == 2
    assert says in capsys.readouterr().err


def test_two_recordings_of_one_name_are_two_files(tmp_path: Path) -> None:
    task = written(tmp_path / "task.yaml", TASK)
    for name in ("a", "b"):
        record(tmp_path / "corpus" / name, 1)
    out = tmp_path / "out"
    assert export(tmp_path / "corpus", "--task", task, "--form", "html", "--out", out) == 0
    assert sorted(path.name for path in out.iterdir()) == ["00000-2.html", "00000.html"]
