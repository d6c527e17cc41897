"""Episodes that a service had judged, as the files that it exports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from api.cli.main import main
from detectors.model.codec import canonical
from tests.api.service import Service
from tests.cascade.test_escalation import final
from tests.rescoring.corpus import written
from tests.support.logs import Said, episode


async def recorded(
    service: Service, spec: dict[str, Any], path: Path, *steps: Sequence[Said]
) -> list[bytes]:
    """The rewards of an episode that is told and decided; its recording is at ``path``, its task
    beside it."""
    id, token = await service.open(spec)
    await service.tell(id, token, *episode(*steps), sizes=[3])
    rewards = [await final(service, id, step) for step in range(len(steps))]
    await save(service, id, path)
    written(path.with_suffix(".yaml"), spec)
    return [canonical(one) for one in rewards]


async def save(service: Service, id: str, path: Path) -> None:
    """Its recording, as anybody gets it."""
    answer = await service.get(f"/v1/episodes/{id}/recording")
    assert answer.status_code == 200
    _put(path, answer.content)


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def milestoned(*arguments: object) -> int:
    """The command line, in this process."""
    return main([str(one) for one in arguments])


def lines(path: Path) -> list[Any]:
    """A results file."""
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]
