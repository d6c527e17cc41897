"""A real process: killed twice while segments come in, nothing acknowledged is lost; stopped, it
lets go."""

from __future__ import annotations

import shlex
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from detectors.engine.engine import Engine
from detectors.model.rewards import encode_reward
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from tests.api.processes import Process, milestoned
from tests.api.service import TASK, events, frames
from tests.support.logs import clicked, episode, went


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    """A running service."""
    found = Process(tmp_path / "data", fresh=True)
    found.start()
    yield found
    found.stop_if_running()


def opened(process: Process) -> tuple[httpx.Client, str, str]:
    """A client with the admin's token, an episode and its append token."""
    http = httpx.Client(
        base_url=process.url, headers={"authorization": f"Bearer {process.admin}"}, timeout=30
    )
    assert http.post("/v1/tasks", json=TASK).status_code == 201
    said = http.post("/v1/episodes", json={"task": TASK["id"]}).json()
    return http, said["episode"], said["token"]


def test_killed_twice_nothing_acknowledged_is_lost(process: Process) -> None:
    http, id, token = opened(process)
    said = episode(*[[went("/cart") if n % 2 else clicked("Buy")] * 5 for n in range(40)])
    made = frames(events(id, *said), [3] * len(said))
    acknowledged: list[int] = []
    kills = [len(made) // 3, 2 * len(made) // 3]
    for n, frame in enumerate(made):
        killer = None
        if n in kills:
            # Now the kill falls somewhere into the next appends.
            killer = threading.Thread(target=process.kill)
            killer.start()
        while True:
            try:
                answer = http.post(
                    f"/v1/episodes/{id}/events",
                    content=frame,
                    headers={"authorization": f"Bearer {token}"},
                )
            except httpx.TransportError:
                assert killer is not None
                killer.join()
                process.start()
                assert http.get(f"/v1/episodes/{id}").json()["through"] >= max(
                    acknowledged, default=0
                )
                continue
            assert answer.status_code == 200, answer.text
            acknowledged.append(answer.json()["through"])
            if killer is None or not killer.is_alive():
                break
    rules = compile_task(task_from_json(TASK))
    wanted = [encode_reward(reward) for reward in Engine(rules, id).feed(events(id, *said)).rewards]
    assert [http.get(f"/v1/episodes/{id}/steps/{n}/reward").content for n in range(40)] == wanted
    log = http.get(f"/v1/episodes/{id}/events", params={"limit": 5_000}).json()["events"]
    assert [event["seq"] for event in log] == list(range(1, len(said) + 1))
    http.close()


def test_what_it_keeps_is_nobody_elses(process: Process) -> None:
    for path in process.data.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_stopping_lets_go_of_those_who_wait(process: Process) -> None:
    http, id, _ = opened(process)
    answers: list[httpx.Response] = []

    def wait() -> None:
        answers.append(http.get(f"/v1/episodes/{id}/steps/0/reward", params={"wait_ms": 50_000}))

    waiter = threading.Thread(target=wait)
    waiter.start()
    with httpx.Client(base_url=process.url, headers=http.headers) as other:
        while "milestoned_waiters 1.0" not in other.get("/metrics").text:
            pass
    assert process.stop() == 0
    waiter.join(timeout=20)
    assert answers[0].json()["status"] == "settling"
    http.close()
    process.start()


NOTE = """\
id: note
version: "1"
instruction: Leave a note.
milestones:
  - id: written
    when: {file_created: {name: note.txt}}
  - id: started
    when: {observed: {kind: process.started, where: {name: editor}}}
"""


def _fetch_and_explain(process: Process, folder: Path, id: str, token: str) -> None:
    """An episode's recording is fetched into a new file, and its milestones are explained."""
    at = ["--data", str(process.data)]
    empty = milestoned(folder, "episode", "explain", id, *at)
    assert empty.returncode == 1
    assert id in empty.stderr
    frame = frames(events(id, *episode([went("/cart"), clicked("Buy", trusted=False)])))[0]
    httpx.post(
        f"{process.url}/v1/episodes/{id}/events",
        content=frame,
        headers={"authorization": f"Bearer {token}"},
    ).raise_for_status()
    why = milestoned(folder, "episode", "explain", id, *at)
    assert why.returncode == 0, why.stderr
    assert "page script did it" in why.stdout
    fetch = ["episode", "recording", id, "--out", "got.mrec", *at]
    assert milestoned(folder, *fetch).returncode == 0
    assert milestoned(folder, "recording", "verify", "got.mrec").returncode == 0
    again = milestoned(folder, *fetch)
    assert again.returncode == 1
    assert "--out got.mrec: File exists" in again.stderr
    nobody = milestoned(folder, "episode", "recording", "ep_none", *at)
    assert nobody.returncode == 1
    assert "ep_none" in nobody.stderr


def test_a_task_is_registered_from_the_command_line_and_its_episode_names_its_sources(
    process: Process, tmp_path: Path
) -> None:
    at = ["--data", str(process.data)]
    task = tmp_path / "note.yaml"
    unknown = milestoned(tmp_path, "episode", "open", "note", *at)
    assert "milestoned task register FILE" in unknown.stderr
    task.write_text(NOTE.replace("file_created", "file_made"))
    wrong = milestoned(tmp_path, "task", "register", "note.yaml", *at)
    assert wrong.returncode == 1
    assert "line 6: milestones[0].when.file_made" in wrong.stderr
    task.write_text(NOTE)
    for how in ("registered", "was registered before"):
        done = milestoned(tmp_path, "task", "register", "note.yaml", *at)
        assert done.returncode == 0, done.stderr
        assert f"{how}: note version 1, at most 0.5, ruleset " in done.stdout
    then = shlex.split(done.stdout.splitlines()[1].partition("  #")[0])
    opening = milestoned(tmp_path, *then[1:], *at)
    assert opening.stdout.endswith(" --files DIR\n")
    assert "--cdp" not in opening.stdout
    assert "note: the task needs processes too" in opening.stderr


@pytest.mark.slow
def test_an_episode_is_opened_from_the_command_line(process: Process, tmp_path: Path) -> None:
    http, _, _ = opened(process)
    command = [
        "episode",
        "open",
        TASK["id"],
        "--data",
        str(process.data),
        "--label",
        "run=a",
        "--state",
        "state",
    ]
    done = milestoned(tmp_path, *command)
    assert done.returncode == 0, done.stderr
    words = shlex.split(done.stdout)
    assert words[:4] == ["agentd", "run", "--service", process.url]
    id, token_file = (
        words[words.index("--episode") + 1],
        tmp_path / words[words.index("--token-file") + 1],
    )
    assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
    assert http.get(f"/v1/episodes/{id}").json()["labels"] == {"run": "a"}
    own = {"authorization": f"Bearer {token_file.read_text()}"}
    assert http.get(f"/v1/episodes/{id}/plan", headers=own).status_code == 200
    http.close()
    _fetch_and_explain(process, tmp_path, id, token_file.read_text())
    refused = milestoned(tmp_path, "episode", "open", "nobody", "--data", str(process.data))
    assert refused.returncode == 1
    assert "there is no task nobody" in refused.stderr
