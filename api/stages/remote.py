"""A reward model that somebody else serves: the stage `model` over HTTP, in one of three forms.

``classify`` and ``score`` are vLLM's (`POST /classify` of a classifier, `POST /score` of a
cross-encoder), ``openrlhf`` is OpenRLHF's remote reward model (`POST` of query, prompts and
labels). The model is shown what a judge is shown: the task, the criteria and the recorded facts,
cleaned, without the agent's own words and without flagged lines.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import orjson

from api.stages.base import Opinion, Question
from api.stages.judge.evidence import fit_evidence
from api.stages.judge.facts import EventFacts, facts_of
from api.stages.judge.settings import number, peer_settings
from api.stages.peer import Peer, PeerSettings, RefusedError, UnreachableError
from detectors.model.codec import canonical, sha256
from detectors.model.json_value import object_or_empty
from detectors.model.types import Json, Verdict

Form = Literal["classify", "score", "openrlhf"]
VERSION = "remote/1"
"""The version of the text that is sent."""


@dataclass(frozen=True, slots=True)
class RemoteSettings:
    """``positive``: the class of success, by label or index. A raw value s is read as 1 / (1 +
    exp(−(a·s + c))), where ``raw`` (an OpenRLHF reward is one); else it is a probability. Within
    ``doubt`` of a half the stage abstains."""

    peer: PeerSettings
    model: str
    form: Form
    positive: str = "1"
    raw: bool = False
    slope: float = 1.0
    offset: float = 0.0
    doubt: float = 0.25
    evidence_chars: int = 6_000
    text_chars: int = 300


class NoScoreError(ValueError):
    """The scorer's answer has no score of the asked form; the message says what it had."""


class Remote:
    """A scorer behind one address. `close` it when done."""

    name: Literal["model", "judge"] = "model"

    def __init__(self, settings: RemoteSettings) -> None:
        self.settings = settings
        self._peer = Peer(settings.peer)

    async def close(self) -> None:
        """Close the connections to the scorer."""
        await self._peer.close()

    def digest(self, question: Question) -> str:
        """Hash the model, how its answer is read, and the two texts that it is sent."""
        settings = self.settings
        reading = [
            settings.form,
            settings.positive,
            settings.raw,
            settings.slope,
            settings.offset,
            settings.doubt,
        ]
        return sha256(canonical([VERSION, settings.model, reading, *self._texts(question)]))

    async def ask(self, question: Question) -> Opinion:
        """Return the probability of success, its distance from a half as confidence."""
        asked, facts = self._texts(question)
        form = _FORMS[self.settings.form]
        record: dict[str, Json] = {
            "model": self.settings.model,
            "form": self.settings.form,
            "version": VERSION,
        }
        try:
            body = form.body(self.settings.model, asked, facts)
            answer = await self._peer.post(form.path, body)
            score = self._probability(form.read(answer, self.settings.positive))
        except (UnreachableError, RefusedError) as error:
            return self._opinion(None, f"the scorer can't be asked: {error}", record, again=True)
        except NoScoreError as error:
            return self._opinion(None, f"the scorer's answer can't be read: {error}", record)
        record["probability"] = score
        if abs(score - 0.5) < self.settings.doubt:
            why = f"{score:.3f} is within {self.settings.doubt:g} of a half"
            return self._opinion(None, why, record)
        return self._opinion(score, f"{score:.3f} by {self.settings.model}", record)

    def _texts(self, question: Question) -> tuple[str, str]:
        """Return what is asked, and the facts that are not flagged, a line each."""
        reader = EventFacts(self.settings.text_chars, "")
        evidence = fit_evidence(facts_of(question, reader), self.settings.evidence_chars)
        criteria = "\n".join(f"- {criterion.text}" for criterion in question.criteria)
        shown = [fact for fact in evidence.facts if not fact.flags]
        lines = [f"{fact.kind} {orjson.dumps(fact.data).decode()}" for fact in shown]
        return f"{question.task.get('instruction', '')}\n{criteria}".strip(), "\n".join(lines)

    def _probability(self, value: float) -> float:
        """Return a score as a probability, by the settings' curve where it is raw. Raises
        `NoScoreError`."""
        if not math.isfinite(value):
            raise NoScoreError(f"{value} is no score")
        if self.settings.raw:
            power = self.settings.slope * value + self.settings.offset
            # exp overflows beyond some 700, where the answer is plain.
            return 1.0 / (1.0 + math.exp(-max(-700.0, min(700.0, power))))
        if not 0.0 <= value <= 1.0:
            raise NoScoreError(
                f"{value} is no probability; a raw score wants MILESTONED_MODEL_RAW=1"
            )
        return value

    def _opinion(
        self, score: float | None, why: str, record: dict[str, Json], *, again: bool = False
    ) -> Opinion:
        confidence = 0.0 if score is None else abs(2 * score - 1)
        return Opinion(Verdict("model", score, confidence, why, self.settings.model), record, again)


def _read_classify(answer: Json, positive: str) -> float:
    """Return the positive class's probability, by its index or name. Raises `NoScoreError`."""
    data = _first(answer, "data")
    probabilities: Json = data.get("probs")
    if not _is_list_of_numbers(probabilities):
        raise NoScoreError(f"data[0].probs is {str(probabilities)[:80]}, wanted numbers")
    if positive.isdecimal():
        if int(positive) >= len(probabilities):
            raise NoScoreError(
                f"data[0].probs has {len(probabilities)} classes, and class {positive} is asked for"
            )
        return float(probabilities[int(positive)])
    # Only the likeliest class is named; of two, the other one is what is left.
    if data.get("label") == positive:
        return float(max(probabilities))
    if len(probabilities) == 2:
        return float(min(probabilities))
    raise NoScoreError(
        f"data[0].label is {data.get('label')!r}, and of {positive!r} nothing is said: name its"
        " index"
    )


def _read_score(answer: Json, positive: str) -> float:
    return _number(_first(answer, "data").get("score"), "data[0].score")


def _read_openrlhf(answer: Json, positive: str) -> float:
    """Return OpenRLHF's reward, alone or in a list of one. Raises `NoScoreError`."""
    rewards = object_or_empty(answer).get("rewards")
    if isinstance(rewards, list) and len(rewards) == 1:
        return _number(rewards[0], "rewards[0]")
    return _number(rewards, "rewards")


def _first(answer: Json, name: str) -> Mapping[str, Json]:
    """Return the one object of the list called ``name``. Raises `NoScoreError`."""
    listed = object_or_empty(answer).get(name)
    if not isinstance(listed, list) or len(listed) != 1 or not isinstance(listed[0], Mapping):
        raise NoScoreError(f"{name} is {str(listed)[:80]}, wanted a list of one object")
    return listed[0]


def _is_list_of_numbers(value: Json) -> bool:
    """Whether it is a list of at least one number."""
    if not isinstance(value, list) or not value:
        return False
    return all(type(number) in (int, float) for number in value)


def _number(value: Json, where: str) -> float:
    if type(value) not in (int, float):
        raise NoScoreError(f"{where} is {str(value)[:80]!r}, wanted a number")
    return float(value)


def _classify_body(model: str, asked: str, facts: str) -> dict[str, Json]:
    return {"model": model, "input": f"{asked}\n\n{facts}"}


def _score_body(model: str, asked: str, facts: str) -> dict[str, Json]:
    return {"model": model, "text_1": asked, "text_2": facts}


def _openrlhf_body(model: str, asked: str, facts: str) -> dict[str, Json]:
    return {"query": [f"{asked}\n\n{facts}"], "prompts": [asked], "labels": [""]}


class Wire(NamedTuple):
    """How one form asks, and how its answer is read."""

    path: str
    body: Callable[[str, str, str], dict[str, Json]]
    read: Callable[[Json, str], float]


_FORMS: dict[Form, Wire] = {
    "classify": Wire("/classify", _classify_body, _read_classify),
    "score": Wire("/score", _score_body, _read_score),
    "openrlhf": Wire("", _openrlhf_body, _read_openrlhf),
}


def remote_scorer(url: str, env: Mapping[str, str] = os.environ) -> Remote:
    """Return the scorer at ``url``, as MILESTONED_MODEL_FORM and the others of docs/judge.md say.

    Raises ValueError, which names the variable, its value and what was expected.
    """
    form = env.get("MILESTONED_MODEL_FORM", "classify")
    if form not in _FORMS:
        raise ValueError(f"MILESTONED_MODEL_FORM: {form!r}, wanted one of {', '.join(_FORMS)}")
    raw = env.get("MILESTONED_MODEL_RAW", "1" if form == "openrlhf" else "0")
    if raw not in ("0", "1"):
        raise ValueError(f"MILESTONED_MODEL_RAW: {raw!r}, wanted 0 or 1")
    lowest = float("-inf")
    return Remote(
        RemoteSettings(
            peer=peer_settings("MILESTONED_MODEL", url, env),
            model=env.get("MILESTONED_MODEL_NAME", "") or "remote",
            form=form,
            positive=env.get("MILESTONED_MODEL_POSITIVE", "1"),
            raw=raw == "1",
            slope=number(env, "MILESTONED_MODEL_SLOPE", 1.0, least=lowest),
            offset=number(env, "MILESTONED_MODEL_OFFSET", 0.0, least=lowest),
            doubt=number(env, "MILESTONED_MODEL_DOUBT", 0.25, most=0.5),
        )
    )
