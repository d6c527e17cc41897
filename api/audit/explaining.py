"""Why a step was worth what it was: one document that leads from the reward down to the events.

Everything in it is stored; nothing is recomputed (`milestoned audit verify` does that). Secrets are
masked in the journal already, before an event is numbered.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from api.audit.facts import of_rules
from api.audit.statement import episode_origin
from api.audit.store import Audits
from api.core.errors import NotFoundError
from api.episodes.rows import EpisodeRow
from api.log.frames import decode_frame
from api.log.reader import event_to_json
from api.rewards.ledger import Ledger
from api.rewards.rendering import number_in_words, unpaid_in_words
from api.rewards.scored_episode import REWARD_FIELDS
from detectors.model.optional_values import pick_keys
from detectors.model.rewards import RewardJson

EDGE = "reward.estimated"
_SEGMENTS_AFTER = 2
"""Stored segments behind a step's seal in which the edge's word on it is looked for."""


class Explainer:
    """Explains sealed rewards; ``signer`` is the name under which this service signs."""

    def __init__(self, audits: Audits, ledger: Ledger, signer: str) -> None:
        self._audits, self._ledger, self._signer = audits, ledger, signer

    async def explain(self, episode: str, step: int) -> dict[str, Any]:
        """The document, also of a step that waits for an answer from beyond the rules: its reward
        is null.

        Raises `NotFoundError` while the step is not sealed.
        """
        body, _ = await self._ledger.stored(episode, step)
        row = await self._audits.episode(episode)
        if body is None or row is None:
            last = await self._ledger.last_step(episode)
            others = "no step has one yet" if last is None else f"the last that has is {last}"
            raise NotFoundError(f"step: {step} has no sealed reward; {others}", last_step=last)
        reward = orjson.loads(body)
        task = orjson.loads((await self._audits.task(row.task_number)).body)
        place = await self._audits.step(episode, step)
        return {
            "episode": episode,
            "step": step,
            "task": {"id": row.task, "version": row.version, "instruction": task["instruction"]},
            "ruleset": reward["digest"],
            "labels": orjson.loads(row.labels),
            "opened": await self._opened(row),
            "began": None if place is None else place.began,
            "ended": None if place is None else place.ended,
            "reward": {name: reward[name] for name in REWARD_FIELDS},
            "milestones": await self._milestones(episode, reward, task),
            "verdicts": reward["verdicts"],
            "said": await self._recorded_verdicts(episode, step),
            "edge": await self._edge(episode, reward),
            "signed": await self._signed(episode),
        }

    async def _milestones(
        self, episode: str, reward: dict[str, Any], task: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """The reward's milestones, each as the task declares it and with the events behind it."""
        declared = {milestone["id"]: milestone for milestone in task["milestones"]}
        evidence = {seq for paid in reward["milestones"] for seq in paid["evidence"]}
        events = await self._events(episode, evidence)
        return [
            {
                **paid,
                "declared": declared.get(paid["id"]),
                "events": [events[seq] for seq in paid["evidence"] if seq in events],
            }
            for paid in reward["milestones"]
        ]

    async def _recorded_verdicts(self, episode: str, step: int) -> list[dict[str, Any]]:
        """What the log of verdicts has of the step: model, prompt, evidence, votes, cost of each
        word."""
        rows = await self._audits.verdicts(episode)
        return [
            {**orjson.loads(bytes(row.body)), "digest": row.digest}
            for row in rows
            if row.step == step
        ]

    async def _opened(self, row: EpisodeRow) -> dict[str, Any]:
        """Return when an episode was opened, and by which token, as far as that is known."""
        opener: dict[str, Any] | None = {"id": row.opened_by} if row.opened_by else None
        token = await self._audits.opener(row.opened_by)
        if token is not None:
            opener = {"id": token.id, "label": token.label, "scope": token.scope}
        return {"at": row.opened_at, "by": opener}

    async def _events(self, episode: str, wanted: Iterable[int]) -> dict[int, dict[str, Any]]:
        """These events, each stored segment read once."""
        found: dict[int, dict[str, object]] = {}
        for seq in sorted(wanted):
            if seq not in found:
                for frame in await self._audits.frames_beyond(episode, seq - 1, 1):
                    found |= {event.seq: event_to_json(event) for event in decode_frame(frame)}
        return pick_keys(found, wanted)

    async def _edge(self, episode: str, reward: RewardJson) -> dict[str, object] | None:
        """What the daemon had computed of the step, if it was told to: a hint that pays nothing."""
        for frame in await self._audits.frames_beyond(episode, reward["through"], _SEGMENTS_AFTER):
            for event in decode_frame(frame):
                if event.kind == EDGE and event.data.get("step") == reward["step"]:
                    said, digest = event.data.get("reward"), event.data.get("digest")
                    differs = said != of_rules(reward)
                    return {"seq": event.seq, "reward": said, "digest": digest, "differs": differs}
        return None

    async def _signed(self, episode: str) -> dict[str, Any] | None:
        """The leaf of the closed episode, and its signed head."""
        leaf = await self._audits.leaf(episode)
        if leaf is None:
            return None
        statement = orjson.loads(leaf.body)
        notes = [
            row.note for row in await self._audits.notes(episode_origin(self._signer, episode))
        ]
        return {"leaf": leaf.number, "statement": statement, "checkpoints": notes}


def as_text(explanation: dict[str, object]) -> str:
    """Render `Explainer.explain`'s document as lines for people."""
    return "\n".join(_lines(explanation))


def _lines(explanation: dict[str, Any]) -> Iterable[str]:
    """Yield the explanation as text: the reward, its task and log, milestones, verdicts, and who
    signed it."""
    reward, opened, task = explanation["reward"], explanation["opened"], explanation["task"]
    by = reward["decided_by"]
    value = "null" if reward["reward"] is None else f"{reward['reward']:+.3f}"
    yield (
        f"{explanation['episode']} step {explanation['step']}: {value}, {reward['status']}, "
        f"{'decided by ' + by if by else 'not known'}"
    )
    if reward["reason"]:
        yield f"  {reward['reason']}"
    yield f"  task {task['id']} version {task['version']}, ruleset {explanation['ruleset']}"
    yield f"  opened {opened['at']} by {_opener_in_words(opened['by'])}"
    yield f"  events {explanation['began']} to {reward['through']}"
    for milestone in explanation["milestones"]:
        yield from _milestone_lines(milestone, reward)
    for verdict in explanation["verdicts"]:
        confidence = f"(confidence {verdict['confidence']:g})"
        yield (
            f"  {verdict['stage']}: {_number(verdict['score'])} {confidence}"
            f" by {verdict['by']}: {verdict['why']}"
        )
    for recorded in explanation["said"]:
        yield from _recorded_lines(recorded)
    yield _edge_line(explanation["edge"])
    yield _signed_line(explanation["signed"])


def _opener_in_words(opener: dict[str, object] | None) -> str:
    """Say which token opened an episode."""
    if opener is None:
        return "nobody knows whom"
    label = f" ({opener['label']})" if opener.get("label") else ""
    return f"token {opener['id']}{label}"


def _milestone_lines(paid: dict[str, Any], reward: dict[str, Any]) -> Iterable[str]:
    """Yield a milestone with what it is worth, why it is not paid, and its events."""
    mask, reason = reward["reward"] is None, reward["reason"]
    why = unpaid_in_words(reward["status"], mask=mask, worth=paid["worth"], reason=reason)
    cause = "" if paid["cause_step"] is None else f", set in motion in step {paid['cause_step']}"
    yield (
        f"  {paid['worth']:+.3f} {paid['component']} {paid['id']} by {paid['rule']} version"
        f" {paid['version']}{cause}{f'; {why}' if why else ''}"
    )
    for event in paid["events"]:
        data = orjson.dumps(event["data"]).decode()[:200]
        yield f"      event {event['seq']} {event['source']} {event['kind']} {data}"


def _recorded_lines(recorded: dict[str, Any]) -> Iterable[str]:
    """Yield a recorded verdict with its cost and evidence, or by which verdicts a step was
    decided."""
    verdict, record = recorded.get("verdict"), recorded.get("record", {})
    if verdict is None:
        yield (
            f"  verdict {recorded['seq']}: decided by {recorded['decided_by'] or 'nobody'} of"
            f" verdicts {recorded['verdicts']}"
        )
        return
    source = "kept from before" if recorded["cached"] else "asked"
    audit = ", an audit" if recorded["audit"] else ""
    yield (
        f"  verdict {recorded['seq']} on {recorded['item']}: {verdict['stage']}"
        f" {_number(verdict['score'])} for {verdict['cost']:g}, {source}, prompt"
        f" {str(record.get('prompt'))[:12]}, evidence {recorded['evidence']}{audit}"
    )
    for pointer in record.get("submitted", ()):
        yield f"      submitted as evidence {orjson.dumps(pointer).decode()[:200]}"
    for vote in record.get("votes", ()):
        yield f"      vote {orjson.dumps(vote).decode()[:200]}"


def _number(value: float | None) -> str:
    """Return a number in words, "null" for one that is not known."""
    return "null" if value is None else number_in_words(value)


def _edge_line(edge: dict[str, Any] | None) -> str:
    """Say what the daemon had computed, and whether that is the same."""
    if edge is None:
        return "  the daemon computed no reward of its own (agentd run --edge)"
    verdict = "which DIFFERS" if edge["differs"] else "the same"
    return f"  the edge computed {_number(edge['reward'])} at event {edge['seq']}: {verdict}"


def _signed_line(signed: dict[str, object] | None) -> str:
    """Say as which leaf of the tree an episode is signed, if it is."""
    if signed is None:
        return "  not signed yet"
    return f"  signed as leaf {signed['leaf']} of the tree over all episodes"
