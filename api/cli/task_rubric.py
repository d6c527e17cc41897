"""`milestoned task rubric TASK`: criteria drafted from a task's instruction, and their
confirmation."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import orjson

from api.cli.common import Overrides
from api.stages.judge.ballot import Bill
from api.stages.judge.drafting import SCHEMA, DraftError, RubricDraft, draft_rubric
from api.stages.judge.endpoint import Endpoint
from api.stages.judge.settings import JudgeSettings, judge_settings
from api.stages.peer import RefusedError, UnreachableError
from api.tasks.task_files import BadTaskError, load_task_file
from common.command_line import option
from common.regular_file import NotRegularError, read_regular
from detectors.model.codec import canonical, sha256
from detectors.model.json_value import JsonObject, JsonTypeError, require_list, require_object

USAGE = 2
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
) -> int:
    """Draft a rubric from a task's instruction by the judge's endpoint (MILESTONED_JUDGE_URL), or
    confirm a draft. 0, or 2 with what is wrong."""
    try:
        instruction = load_task_file(file, dict(set_)).instruction
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
    settings = judge_settings()
    if settings is None:
        raise DraftError("MILESTONED_JUDGE_URL: not set; expected the endpoint that drafts")
    return settings


async def _draft(settings: JudgeSettings, instruction: str) -> RubricDraft:
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
    draft = _read_draft(path)
    if draft["instruction"] != instruction:
        raise DraftError(f"{path}: it was drafted from another instruction; draft it again")
    rubric = require_object(draft["rubric"], "rubric")
    digest = sha256(canonical([SCHEMA, draft["instruction"], rubric]))
    edited = "" if digest == draft["digest"] else ", edited"
    lines = [f"# Drafted by {draft['by']} ({digest[:12]}{edited}), confirmed by {by.strip()}."]
    lines += ["escalation:", "  rubric:"]
    for name, criteria in sorted(rubric.items()):
        lines.append(f"    {name}:")
        listed = require_list(criteria, f"rubric.{name}")
        lines += [f"      - {orjson.dumps(one).decode()}" for one in listed]
    return "\n".join(lines)


def _read_draft(path: Path) -> JsonObject:
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
