"""`milestoned task rubric TASK`: criteria drafted from a task's instruction, and their
confirmation."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import orjson

from api.cli.common import Overrides, read_share
from api.cli.corpus import RECORDINGS_ALONE, Stored
from api.db.database import Database
from api.labelling.majority import majority_labels
from api.labelling.rubric_check import (
    MINIMUM,
    CriteriaAnswers,
    LabelledQuestion,
    ask_criteria,
    check_rubric,
    labelled_questions,
    read_criteria_lines,
)
from api.labelling.store import Preferences
from api.rescoring.stored import episodes
from api.stages.judge.ballot import Bill
from api.stages.judge.drafting import SCHEMA, DraftError, RubricDraft, draft_rubric
from api.stages.judge.endpoint import Endpoint
from api.stages.judge.judge import Judge
from api.stages.judge.settings import JudgeSettings, judge_settings
from api.stages.peer import RefusedError, UnreachableError
from api.tasks.task_files import BadTaskError, load_task_file
from common.command_line import option
from common.output_file import why_not_new
from common.regular_file import NotRegularError, read_regular
from detectors.model.codec import canonical, sha256
from detectors.model.json_value import (
    JsonObject,
    JsonTypeError,
    read_object,
    require_list,
    require_object,
)

NOT_CONFIRMED, USAGE = 1, 2
MAX_BYTES = 1 << 20


def run(
    file: Annotated[Path, option("the task file", "TASK")],
    /,
    *,
    set_: Overrides = (),
    out: Annotated[Path | None, option("write the draft there instead of here", "FILE")] = None,
    confirm: Annotated[
        Path | None, option("print this draft's rubric for the task file, as confirmed", "DRAFT")
    ] = None,
    by: Annotated[str, option("with --confirm: who has read it", "NAME")] = "",
    by_labels: Annotated[
        bool, option("with --confirm and --stored: ask the draft of labelled episodes instead")
    ] = False,
    minimum: Annotated[
        float,
        option(
            f"with --by-labels: share of labels to repeat (default: {MINIMUM})",
            "SHARE",
            read_share,
        ),
    ] = MINIMUM,
    stored: Stored = RECORDINGS_ALONE,
) -> int:
    """Draft a rubric from a task's instruction by the judge's endpoint (MILESTONED_JUDGE_URL), or
    confirm a draft by a person or by labels. 0; 1 where the labels do not confirm it; 2 with what
    is wrong."""
    problem = None if out is None else why_not_new(out)
    if problem is not None:
        print(f"--out {problem}", file=sys.stderr)
        return USAGE
    try:
        instruction = load_task_file(file, dict(set_)).instruction
        if confirm is not None and by_labels:
            return _confirm_by_labels(confirm, instruction, stored, minimum)
        if confirm is not None:
            print(_confirmed(confirm, instruction, by))
            return 0
        draft = asyncio.run(_draft(_judge(), instruction))
    except BadTaskError as error:
        print("\n".join(f"{file}: {problem}" for problem in error.problems), file=sys.stderr)
        return USAGE
    except (DraftError, JsonTypeError, ValueError, OSError) as error:
        print(str(error), file=sys.stderr)
        return USAGE
    text = orjson.dumps(draft.as_json(), option=orjson.OPT_INDENT_2).decode()
    if out is None:
        print(text)
        return 0
    out.write_text(text + "\n")
    print(f"{out}: a draft of {len(draft.goal)} criteria of the goal, {len(draft.step)} of steps")
    for one in draft.dropped:
        print(f"left out {one.id}: {one.why}")
    return 0


def _judge() -> JudgeSettings:
    """Return the judge's settings. Raises `DraftError` where the environment has none."""
    settings = judge_settings()
    if settings is None:
        raise DraftError("MILESTONED_JUDGE_URL: not set; expected the endpoint that drafts")
    return settings


async def _draft(settings: JudgeSettings, instruction: str) -> RubricDraft:
    """Let the judge draft a rubric. Raises `DraftError` where it can't be asked."""
    endpoint = Endpoint(settings)
    try:
        return await draft_rubric(endpoint, settings.model, instruction, Bill())
    except (UnreachableError, RefusedError) as error:
        raise DraftError(f"the endpoint can't be asked: {error}") from None
    finally:
        await endpoint.peer.close()


def _confirmed(path: Path, instruction: str, by: str) -> str:
    """The draft's rubric as YAML of a task file, with who confirmed it. Raises `DraftError`."""
    if not by.strip() or not by.isprintable():
        raise DraftError("--confirm: expected --by NAME with it: who has read the draft")
    return _rubric_yaml(_draft_of(path, instruction), by.strip())


def _confirm_by_labels(path: Path, instruction: str, stored: Stored, minimum: float) -> int:
    """Ask the draft's criteria of the goal about labelled episodes, and print its rubric if that
    repeats the labels. Raises `DraftError`, ValueError."""
    if not 0 < minimum < 1:
        raise DraftError(f"--minimum: got {minimum:g}, expected a share above 0 and below 1")
    if not stored.stored:
        raise DraftError("--by-labels: expected --stored with it: whose labels are compared")
    draft = _draft_of(path, instruction)
    goal = read_object(draft, "rubric").get("goal", [])
    criteria = read_criteria_lines(require_list(goal, "rubric.goal"))
    chosen, url = stored.selection(()), stored.database_url()
    assert chosen is not None
    labels = majority_labels(asyncio.run(_read_words(url)))
    questions = list(labelled_questions(episodes(url, chosen), labels, instruction, criteria))
    settings = _judge()
    found = check_rubric(asyncio.run(_ask_all(settings, questions)), criteria, minimum)
    name = f"labels of {len(questions)} episodes, judged by {settings.model}"
    if found.is_confirmed:
        print(_rubric_yaml(draft, name, found.lines()))
        return 0
    print(f"not confirmed by {name}: expected surely {minimum:g} or more", file=sys.stderr)
    print("\n".join(found.lines()), file=sys.stderr)
    return NOT_CONFIRMED


async def _read_words(url: str) -> Sequence[object]:
    database = Database(url)
    try:
        return await Preferences(database).everybody()
    finally:
        await database.close()


async def _ask_all(
    settings: JudgeSettings, questions: Sequence[LabelledQuestion]
) -> list[CriteriaAnswers]:
    """Ask the judge one question after the other."""
    judge = Judge(settings)
    try:
        return [await ask_criteria(judge, one) for one in questions]
    finally:
        await judge.close()


def _draft_of(path: Path, instruction: str) -> JsonObject:
    """The draft in a file. Raises `DraftError`, also for another instruction's."""
    draft = _read_draft(path)
    if draft["instruction"] != instruction:
        raise DraftError(f"{path}: it was drafted from another instruction; draft it again")
    return draft


def _rubric_yaml(draft: JsonObject, by: str, figures: Iterable[str] = ()) -> str:
    """A draft's rubric for a task file, below a comment with who confirmed it, and by which
    figures."""
    rubric = require_object(draft["rubric"], "rubric")
    digest = sha256(canonical([SCHEMA, draft["instruction"], rubric]))
    edited = "" if digest == draft["digest"] else ", edited"
    lines = [f"# Drafted by {draft['by']} ({digest[:12]}{edited}), confirmed by {by}."]
    lines += [f"# {figure}" for figure in figures]
    lines += ["escalation:", "  rubric:"]
    for name, criteria in sorted(rubric.items()):
        lines.append(f"    {name}:")
        listed = require_list(criteria, f"rubric.{name}")
        lines += [f"      - {orjson.dumps(one).decode()}" for one in listed]
    return "\n".join(lines)


def _read_draft(path: Path) -> JsonObject:
    """Read a draft that was written before. Raises `DraftError` for anything else."""
    try:
        body = orjson.loads(read_regular(path, MAX_BYTES))
    except (NotRegularError, OSError) as error:
        raise DraftError(f"{path}: can't be read: {error}") from None
    except orjson.JSONDecodeError as error:
        raise DraftError(f"{path}: not JSON: {error}") from None
    wanted = ("instruction", "rubric", "digest", "by")
    if not isinstance(body, dict) or body.get("schema") != SCHEMA or not body.keys() >= {*wanted}:
        raise DraftError(f"{path}: expected {SCHEMA}")
    if not isinstance(body["rubric"], dict):
        raise DraftError(f"{path}: rubric: expected lists of criteria by goal and step")
    return body
