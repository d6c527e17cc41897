"""Features of windows, widgets, files, programs, the clipboard, probes and tools: what is told
apart, and that what is kept is bounded."""

from __future__ import annotations

import copy
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import yaml

from api.cascade.stages import stages_of
from api.core.settings import StageSettings
from api.stages.model.desk import MAX_FILES, MAX_WIDGETS, digest_of
from api.stages.model.edits import compare
from api.stages.model.features import FeatureReader, extract
from api.stages.model.folder import BUILTIN, ModelError, load, save
from api.stages.model.requirements import read_requirements
from api.stages.model.schema import NAMES
from api.stages.model.stage import ModelStage
from api.stages.model.trajectory_score import trajectory_score
from detectors.model.memory import size_of
from detectors.model.types import Event
from examples.desktop.record import RECORDINGS
from examples.desktop.record import lines as lines_of_example
from tests.support.logs import Said, log, sealed
from tests.training.conftest import Made
from tests.training.random_desks import draw_desk

EXAMPLES = Path(__file__).parents[2] / "examples" / "desktop"
ADD = 'Add the line "Amber river" to the end of notes.txt and save it.'


def last_row(
    instruction: str, *steps: list[Said], before: tuple[Said, ...] = ()
) -> dict[str, float]:
    """The last row of such an episode, by name."""
    said = list(before)
    for number, step in enumerate(steps):
        said += [("step.began", {"step": number, "action": None}), *step, sealed(number)]
    said.append(("episode.closed", {"reason": "done"}))
    return dict(zip(NAMES, extract(instruction, log(*said))[-1], strict=True))


def file(kind: str, text: str, path: str = "notes.txt", **more: Any) -> Said:
    return f"file.{kind}", {
        "root": "h", "path": path, "name": path, "size": len(text), "sha256": digest_of(text), **more,
    }  # fmt: skip


def shown(text: str, **more: Any) -> Said:
    widget = {"role": "text", "name": "", "path": [0]}
    return "widget.text_changed", {
        "app": "a",
        "window": "1",
        "widget": widget,
        "text": text,
        **more,
    }


def window(title: str, role: str = "frame", kind: str = "opened") -> Said:
    return f"window.{kind}", {"app": "a", "window": "1", "role": role, "title": title}


def tool(command: str) -> Said:
    return "agent.tool_called", {"call": "c", "tool": "shell", "arguments": {"command": command}}


OLD = (file("present", "First\n", baseline=True), shown("First\n", initial=True))
WHOLE = "First\nAmber river"
TOLD: dict[str, tuple[str, tuple[Said, ...], list[Said], dict[str, float]]] = {
    "a line is added and saved": (
        ADD, OLD, [shown(WHOLE), file("modified", WHOLE)],
        {"edit_whole": 1, "edits_saved": 1, "names_touched": 1, "texts_shown": 1, "desk_wrong": 0},
    ),
    "it is not saved": (
        ADD, OLD, [shown(WHOLE), window("*notes.txt")],
        {"edits_saved": 0, "names_touched": 0, "titles_marked": 1, "desk_wrong": 1},
    ),
    "another line is added": (
        ADD, OLD, [shown("First\nAmber rivr"), file("modified", "First\nAmber rivr")],
        {"edit_whole": 0, "edit_off": 1, "texts_shown": 0},
    ),
    "upper and lower case are others": (ADD, OLD, [shown("First\nAMBER RIVER")], {"edit_whole": 0}),
    "all else is replaced": (ADD, OLD, [shown("Amber river")], {"edit_whole": 1, "edit_lost": 1}),
    "the file that the goal asks to delete": (
        "Delete the file notes.txt.", OLD, [file("deleted", "")],
        {"gone_named": 1, "gone_off": 0, "desk_done": 1, "desk_wrong": 0},
    ),
    "another file is deleted": (
        "Delete the file agenda.txt.", OLD, [file("deleted", "")], {"gone_named": 0, "gone_off": 1},
    ),
    "a file is copied under the name of the goal": (
        "Copy notes.txt to copy.txt.", OLD, [file("created", "First\n", "copy.txt")],
        {"files_copied": 1, "copies_named": 1, "originals_named": 1, "files_off": 0},
    ),
    "a file holds the quoted text alone": (
        'Write "Amber river" into a.txt.', (), [file("created", "Amber river\n", "a.txt")],
        {"texts_kept": 1, "desk_keeping": 1, "files_empty": 0},
    ),
    "a tool is called with the goal's words, twice, and fails": (
        "Rename a.txt to b.txt.", (),
        [tool("mv a.txt b.txt"), tool("mv a.txt b.txt"), ("agent.tool_returned", {"call": "c", "ok": False})],
        {"tool_calls": 2, "tool_goal": 1, "tool_repeated": 1, "tool_failed": 1},
    ),
    "the answer is what a widget shows": (
        "Work out 12 times 3.", (), [shown("12*3\n36"), ("agent.answered", {"text": "36"})],
        {"answer_shown": 1, "answer_goal": 0},
    ),
    "another answer": (
        "Work out 12 times 3.", (), [shown("12*3\n36"), ("agent.answered", {"text": "37"})],
        {"answer_shown": 0},
    ),
    "the clipboard holds what the goal names": (
        'Copy the text "Amber river".', (),
        [("clipboard.changed", {"selection": "clipboard", "text": "Amber river"})],
        {"copied": 1, "clip_goal": 1},
    ),
    "a dialog is open": ("Do it.", (), [window("Save?", "dialog")], {"win_dialogs": 1, "dialogs_open": 1}),
    "a program starts that the goal names": (
        "Start mousepad.", (), [("process.started", {"pid": 1, "name": "mousepad"})],
        {"programs": 1, "program_goal": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOLD)
def test_what_was_done_is_told(name: str) -> None:
    """Each by its own numbers."""
    instruction, before, step, wanted = TOLD[name]
    row = last_row(instruction, step, before=before)
    assert {key: row[key] for key in wanted} == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("right", "wrong", "task"),
    [("document", "unsaved", "document"), ("settings", "switched-back", "settings")],
)
def test_the_shipped_pairs_of_desktops_differ(right: str, wrong: str, task: str) -> None:
    """What is right keeps more of what the goal asks for, and has nothing wrong."""
    said = yaml.safe_load((EXAMPLES / f"{task}.yaml").read_text())["instruction"]
    rows = [
        dict(zip(NAMES, extract(said, _example(name))[-1], strict=True)) for name in (right, wrong)
    ]
    assert rows[0]["desk_wrong"] == 0 < rows[1]["desk_wrong"]
    assert rows[0]["desk_purity"] > rows[1]["desk_purity"]


def _example(name: str) -> list[Event]:
    lines = map(orjson.loads, lines_of_example(*RECORDINGS[name]))
    return [Event("ep_1", seq, source, kind, at, data) for seq, at, source, kind, data in lines]


def test_what_stands_at_the_close_is_told() -> None:
    """A file that is settled after the last seal is still of the last row."""
    said: list[Said] = [("step.began", {"step": 0, "action": None}), sealed(0)]
    said += [file("created", "Amber river", "a.txt"), ("episode.closed", {"reason": "done"})]
    row = dict(zip(NAMES, extract('Write "Amber river" into a.txt.', log(*said))[-1], strict=True))
    assert row["desk_keeping"] == 1


EDITS = {
    ("", "a b"): ("a b", ""),
    ("one\n", "one\ntwo words"): ("two words", ""),
    ("in Oslo now", "in Porto now"): ("Porto", "Oslo"),
    ("same", "same"): ("", ""),
    ("a b c", "a c"): ("", "b "),
}


@pytest.mark.parametrize(("before", "after"), EDITS)
def test_an_edit_is_of_whole_words(before: str, after: str) -> None:
    """What came stands in place of what went."""
    assert compare(before, after) == EDITS[before, after]


def test_what_a_goal_wants() -> None:
    """Names of files are no texts; a folder is named behind its word."""
    wanted = read_requirements(
        'Save "Amber river" as notes.txt in the folder backup, not in draft.md.'
    )
    assert wanted.names == ("notes.txt", "backup", "draft.md")
    assert (wanted.texts, wanted.raw) == (("amber river",), ("Amber river",))


def test_a_reader_of_a_desktop_does_not_grow_without_end() -> None:
    """Ten times as many files and widgets take no more memory than their bounds."""
    reader = FeatureReader(ADD)
    said: list[Said] = []
    for number in range(MAX_FILES * 3):
        said.append(file("created", f"text {number}", f"{number}.txt"))
        widget = {"role": "text", "name": "", "path": [number]}
        said.append(
            ("widget.text_changed", {"app": "a", "window": "1", "widget": widget, "text": "x" * 50})
        )
    reader.feed(log(*said))
    assert len(reader._desk.desk.files) == MAX_FILES
    assert len(reader._desk.desk.widgets) == MAX_WIDGETS
    assert size_of([reader]) < 8 << 20


def test_rows_do_not_depend_on_how_the_log_is_cut() -> None:
    """Event by event, and all at once."""
    for seed in range(12):
        instruction, events = draw_desk(seed)
        reader = FeatureReader(instruction)
        for event in events:
            reader.feed([copy.deepcopy(event)])
        assert repr(reader.rows) == repr(extract(instruction, events))


@pytest.mark.slow
def test_a_model_of_older_features_is_refused_by_name(made: Made, tmp_path: Path) -> None:
    """The message has the version that the model has and the one that this build wants."""
    folder = tmp_path / "old"
    save(folder, made.model)
    features = folder / "features.json"
    old = features.read_bytes().replace(b"log_features/3", b"log_features/2")
    _change(folder, "features.json", old)
    with pytest.raises(ModelError, match=r"log_features/2.*log_features/3.*train the model again"):
        load(folder)


def _change(folder: Path, name: str, content: bytes) -> None:
    """Write a part, with its digest in the card."""
    (folder / name).write_bytes(content)
    card = orjson.loads((folder / "card.json").read_bytes())
    card["digests"][name] = hashlib.sha256(content).hexdigest()
    (folder / "card.json").write_bytes(orjson.dumps(card))


def test_the_model_of_the_package_is_served_by_its_name() -> None:
    """Its features are this build's, its card has what it must not be used for, and no path of the
    machine that trained it."""
    stage = stages_of(StageSettings(model="builtin"), {}).by_tier["model"][0]
    card = (BUILTIN / "card.json").read_text()
    assert isinstance(stage, ModelStage)
    assert stage.model.card["not for"]
    assert stage.model.card["kept"]["desktop"]
    assert "/tmp" not in card
    assert sum(file.stat().st_size for file in BUILTIN.iterdir()) < 300_000


def test_the_model_of_the_package_tells_the_shipped_pairs_apart() -> None:
    """Right above wrong, by what it was never trained on."""
    model = load(BUILTIN)
    for right, wrong, task in (
        ("document", "unsaved", "document"),
        ("settings", "switched-back", "settings"),
    ):
        said = yaml.safe_load((EXAMPLES / f"{task}.yaml").read_text())["instruction"]
        rows = [np.asarray(extract(said, _example(name))) for name in (right, wrong)]
        scores = [trajectory_score(model.heads["success"].score(some)) for some in rows]
        assert scores[0] > scores[1], task
