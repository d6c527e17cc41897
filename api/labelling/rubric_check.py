"""A drafted rubric against people's labels: a judge answers its criteria on labelled episodes, and
code compares (docs/judge.md, *Rubrics that are drafted*)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from api.cascade.evidence import EpisodeEvidence
from api.core.intervals import wilson
from api.labelling.majority import Item
from api.replay.recordings import read_frames
from api.rescoring.corpus import StoredEpisode
from api.rewards.scored_episode import ruleset_of
from api.stages.base import Criterion, Opinion, Question, Stage
from detectors.engine.engine import Engine
from detectors.model.json_value import (
    JsonValue,
    read_object,
    read_text,
    require_list,
    require_object,
)
from detectors.task.task_json import task_to_json

MINIMUM = 0.8
"""The share of labels that a rubric must surely repeat, of successes and of failures."""
GOAL = "goal"
YES, NO, UNCLEAR = "yes", "no", "unclear"


class NoAnswerError(ValueError):
    """The judge's endpoint can't be asked; the message says why."""


class LabelledQuestion(NamedTuple):
    """A rubric as a question about one episode, and whether people call the episode a success."""

    question: Question
    success: bool


class CriteriaAnswers(NamedTuple):
    """What a judge says of each criterion of one episode: yes, no or unclear."""

    met: Mapping[str, str]
    success: bool


class LabelShare(NamedTuple):
    """The ``right`` ones of ``total``, with the ends of Wilson's 95 % interval of their share."""

    right: int
    total: int
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.right} of {self.total} [{self.low:.3f}, {self.high:.3f}]"


class RubricCheck(NamedTuple):
    """``successes`` and ``failures``: of the labelled ones those that the rubric calls so; what it
    leaves unclear counts as neither. ``met``: of the successes those in which each criterion is
    met, with its count in failures."""

    successes: LabelShare
    failures: LabelShare
    met: Mapping[str, tuple[LabelShare, int]]
    minimum: float

    @property
    def is_confirmed(self) -> bool:
        """Whether both shares are surely at least the minimum."""
        return min(self.successes.low, self.failures.low) >= self.minimum

    def lines(self) -> Iterator[str]:
        """Describe it for people, a line a figure."""
        yield f"labelled successes that the rubric calls so: {self.successes}"
        yield f"labelled failures that the rubric calls so: {self.failures}"
        for id, (share, in_failures) in self.met.items():
            failures = f"{in_failures} of {self.failures.total}"
            yield f"{id}: met in {share} successes, in {failures} failures"


def labelled_questions(
    episodes: Iterable[StoredEpisode],
    labels: Mapping[Item, bool],
    instruction: str,
    criteria: Sequence[Criterion],
) -> Iterator[LabelledQuestion]:
    """Yield the rubric as a question about each stored episode of this instruction whose goal
    people labelled."""
    of_goal = {episode: success for (episode, _, item), success in labels.items() if item == GOAL}
    for episode in episodes:
        success = of_goal.get(str(episode.row.id))
        if success is None:
            continue
        question = _goal_question(episode, tuple(criteria))
        if question is not None and question.task["instruction"] == instruction:
            yield LabelledQuestion(question, success)


def _goal_question(episode: StoredEpisode, criteria: tuple[Criterion, ...]) -> Question | None:
    """The criteria as a question about a whole episode; None where it has no sealed step."""
    name = str(episode.row.id)
    rules = ruleset_of(episode.task)
    seen = EpisodeEvidence(rules, Engine(rules, name), task_to_json(rules.task))
    for segment in read_frames(episode.content, name):
        seen.feed(segment.events)
    if not seen.rewards:
        return None
    last = max(seen.rewards)
    return Question(
        episode=name,
        step=last,
        about="goal",
        terminal=True,
        task=seen.task,
        criteria=criteria,
        events=seen.events[: seen.rewards[last].through],
        rewards=list(seen.rewards.values()),
    )


async def ask_criteria(judge: Stage, labelled: LabelledQuestion) -> CriteriaAnswers:
    """Return what the judge says of each criterion: of those on which its votes differ it is
    unclear. Raises `NoAnswerError`."""
    opinion = await judge.ask(labelled.question)
    if opinion.again:
        raise NoAnswerError(f"the endpoint can't be asked: {opinion.verdict.why}")
    ids = [criterion.id for criterion in labelled.question.criteria]
    return CriteriaAnswers(_answers_of(opinion, ids), labelled.success)


def _answers_of(opinion: Opinion, ids: Sequence[str]) -> dict[str, str]:
    """Return the judge's joint answer to each criterion."""
    votes = [
        require_object(vote, "vote") for vote in require_list(opinion.record["votes"], "votes")
    ]
    return {id: _joint_answer([_answer_of(vote, id) for vote in votes]) for id in ids}


def _answer_of(vote: Mapping[str, JsonValue], id: str) -> str:
    if "criteria" not in vote:
        return UNCLEAR
    return read_text(read_object(read_object(vote, "criteria"), id), "met")


def _joint_answer(answers: Sequence[str]) -> str:
    return answers[0] if len(set(answers)) == 1 else UNCLEAR


def check_rubric(
    answers: Sequence[CriteriaAnswers], criteria: Sequence[Criterion], minimum: float = MINIMUM
) -> RubricCheck:
    """Compare what a judge said by a rubric with labels. Raises ValueError unless some are of
    successes and some of failures."""
    successes = [one.met for one in answers if one.success]
    failures = [one.met for one in answers if not one.success]
    if not successes or not failures:
        raise ValueError(
            f"{len(successes)} labelled successes and {len(failures)} labelled failures of this"
            " instruction; expected some of both"
        )
    required = [one.id for one in criteria if one.required]
    met = {
        one.id: (
            _share(Counter(said[one.id] for said in successes)[YES], len(successes)),
            Counter(said[one.id] for said in failures)[YES],
        )
        for one in criteria
    }
    right = sum(_is_success(said, required) is True for said in successes)
    caught = sum(_is_success(said, required) is False for said in failures)
    return RubricCheck(_share(right, len(successes)), _share(caught, len(failures)), met, minimum)


def _is_success(met: Mapping[str, str], required: Sequence[str]) -> bool | None:
    """What a rubric says of an episode, as a judge's verdict does; None where anything is
    unclear."""
    if UNCLEAR in met.values():
        return None
    return all(met[id] == YES for id in required)


def _share(count: int, total: int) -> LabelShare:
    return LabelShare(count, total, *wilson(count / total, total))


def read_criteria_lines(lines: Sequence[JsonValue]) -> list[Criterion]:
    """Read the criteria of a draft's rubric. Raises `JsonTypeError`."""
    rows = [require_object(line, "criterion") for line in lines]
    return [
        Criterion(read_text(row, "id"), read_text(row, "text"), row.get("required", True) is True)
        for row in rows
    ]
