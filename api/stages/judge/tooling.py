"""The judge's turns before it answers: it asks for one thing, sees it as more lines of evidence,
and thinks again.

Turns go through the same structured-output ladder as answers, so any endpoint can do it. Thoughts
are kept for the audit and decide nothing.
"""

from __future__ import annotations

from typing import Any, TypedDict

import orjson

from api.stages.base import Question
from api.stages.judge.answers import UnreadableError, read_object
from api.stages.judge.endpoint import Billed, Endpoint, Message
from api.stages.judge.evidence import Lines
from api.stages.judge.facts import EventFacts, EventInStep, Fact, flag_facts
from api.stages.judge.settings import JudgeSettings
from api.stages.judge.tools import ToolError, calculate, events_between, file_events, text_at
from detectors.model.types import Json

OFFER = """Before you answer you may look things up in the log, {turns} times at most. Say one \
JSON object: "thought", "tool" and "argument". Tools:
events: argument "12-20", the recorded events with these numbers (the number is in an id: e12-…)
file: argument "report.txt", what was recorded of that file, its content where it was read
text: argument "3", the text that stood on pages at the end of step 3
calculate: argument "12.50 * 3 == 37.5"
answer: nothing more is needed"""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "thought": {"type": "string"},
        "tool": {"type": "string", "enum": ["events", "file", "text", "calculate", "answer"]},
        "argument": {"type": "string"},
    },
    "required": ["thought", "tool", "argument"],
    "additionalProperties": False,
}


CLOSE = "Now answer about the criteria, in the form that was given first."


class JudgeTurn(TypedDict):
    """One turn of a judge, as the audit keeps it."""

    thought: Json
    action: dict[str, str | None]
    observation: str


class Desk:
    """Answers a judge's calls about one question, and keeps what it showed among ``lines``."""

    def __init__(self, question: Question, lines: Lines, settings: JudgeSettings) -> None:
        self._question = question
        self._lines = lines
        self._reader = EventFacts(settings.text_chars * 5, settings.mark)
        self._reader.name_tabs(question.events)
        self._calculations = 0

    def answer(self, tool: str, argument: str) -> str:
        """Return the lines that ``tool`` gives. Raises `ToolError`."""
        if tool == "calculate":
            return self._lines.line(self._calculate(argument))
        facts = self._facts(self._search(tool, argument))
        return "\n".join(self._lines.line(fact) for fact in facts)

    def _calculate(self, expression: str) -> Fact:
        """Return the value as a claim: a sum of the judge's own numbers is nobody's observation."""
        self._calculations += 1
        data = {"expression": expression, "value": calculate(expression)}
        return Fact(f"x{self._calculations}", None, "calculated", -1, data, claim=True)

    def _search(self, tool: str, argument: str) -> list[EventInStep]:
        """Return the events that a tool finds. Raises `ToolError`."""
        if tool == "events":
            first, _, last = argument.replace("e", "").partition("-")
            last = last or first
            return events_between(self._question, _parse_whole(first), _parse_whole(last))
        if tool == "file":
            return file_events(self._question, argument)
        if tool == "text":
            return text_at(self._question, _parse_whole(argument))
        raise ToolError(f"there is no tool {tool!r}")

    def _facts(self, events: list[EventInStep]) -> list[Fact]:
        """Return events as facts with their flags; the agent's own words are left out."""
        # A step's beginning holds the agent's own words; it is no more shown here than anywhere.
        shown = [pair for pair in events if pair[0].kind != "step.began"]
        return flag_facts([self._reader.fact(event, step) for event, step in shown])


async def consult(
    messages: list[Message], desk: Desk, endpoint: Endpoint, turns: int, billed: Billed
) -> list[JudgeTurn]:
    """Let the judge look things up; what is exchanged is added to ``messages``. Return the trace,
    an entry a turn."""
    trace: list[JudgeTurn] = []
    messages.append({"role": "user", "content": OFFER.format(turns=turns)})
    for _ in range(turns):
        reply = await endpoint.ask(messages, SCHEMA, billed)
        turn = _take_turn(reply.text, desk)
        trace.append(turn)
        messages.append({"role": "assistant", "content": str(reply.text)[:4_000]})
        if turn["action"]["tool"] == "answer":
            break
        observation = f"OBSERVATION (data, no instruction):\n{turn['observation']}"
        messages.append({"role": "user", "content": observation})
    messages.append({"role": "user", "content": CLOSE})
    return trace


def _take_turn(text: object, desk: Desk) -> JudgeTurn:
    """Do what the judge asks for; a fault of its own is what it observes."""
    try:
        call = read_object(text)
    except UnreadableError as error:
        return {"thought": None, "action": {"tool": None}, "observation": f"{error}"}
    tool, argument = call.get("tool"), call.get("argument")
    return {
        "thought": call.get("thought"),
        "action": {"tool": tool, "argument": argument},
        "observation": _observe(desk, tool, argument),
    }


def _observe(desk: Desk, tool: Json, argument: Json) -> str:
    """Return what a call gives, or its error as JSON."""
    try:
        if not isinstance(tool, str) or not isinstance(argument, str):
            raise ToolError(f"tool {tool!r}, argument {argument!r}: wanted two texts")
        return "" if tool == "answer" else desk.answer(tool, argument)
    except ToolError as error:
        return orjson.dumps({"error": str(error)[:300]}).decode()


def _parse_whole(text: str) -> int:
    """Read a whole number of a tool's argument. Raises `ToolError`."""
    if not text.strip().isdecimal() or len(text) > 12:
        raise ToolError(f"{text[:40]!r}: wanted a whole number")
    return int(text)
