"""Tasks over the wire: registered once a version, refused with path, value and what was wanted."""

from __future__ import annotations

import yaml

from tests.api.service import ADMIN, TASK, Service


async def test_a_task_is_registered_once_and_never_changed(service: Service) -> None:
    first = await service.post("/v1/tasks", TASK)
    again = await service.post("/v1/tasks", TASK)
    other = await service.post("/v1/tasks", {**TASK, "instruction": "Do something else."})
    newer = await service.post(
        "/v1/tasks", {**TASK, "version": "2", "instruction": "Do something else."}
    )
    assert [a.status_code for a in (first, again, other, newer)] == [201, 200, 409, 201]
    assert again.json() == first.json()
    assert other.json()["digest"] == first.json()["digest"]
    assert newer.json()["digest"] != first.json()["digest"]
    listed = (await service.get("/v1/tasks")).json()["tasks"]
    assert [(one["id"], one["version"]) for one in listed] == [(TASK["id"], "1"), (TASK["id"], "2")]


async def test_yaml_and_json_are_the_same_task(service: Service) -> None:
    headers = {"content-type": "application/yaml; charset=utf-8"}
    text = await service.call(
        "POST", "/v1/tasks", ADMIN, content=yaml.safe_dump(TASK), headers=headers
    )
    assert text.status_code == 201
    assert (await service.post("/v1/tasks", TASK)).status_code == 200


async def test_a_task_is_read_back_by_version_and_the_latest_by_default(service: Service) -> None:
    for version in ("1", "0.9"):
        await service.post("/v1/tasks", {**TASK, "version": version})
    assert (await service.get(f"/v1/tasks/{TASK['id']}")).json()["version"] == "0.9"
    found = (await service.get(f"/v1/tasks/{TASK['id']}", params={"version": "1"})).json()
    assert found["task"]["milestones"][0]["id"] == "cart"
    assert (
        await service.get(f"/v1/tasks/{TASK['id']}", params={"version": "7"})
    ).status_code == 404
    assert (await service.get("/v1/tasks/nobody")).status_code == 404


async def test_a_bad_task_is_refused_with_all_that_is_wrong(service: Service) -> None:
    bad = {**TASK, "version": 1, "milestones": [{"id": "x", "when": {"no_such_rule": {}}}]}
    headers = {"content-type": "application/yaml"}
    text = await service.call(
        "POST", "/v1/tasks", ADMIN, content=yaml.safe_dump(bad), headers=headers
    )
    errors = (await service.post("/v1/tasks", bad)).json()["errors"]
    assert text.status_code == 422
    assert {error["path"] for error in errors} == {"version", "milestones[0].when.no_such_rule"}
    assert all(error["wanted"] and error["value"] for error in errors)
    assert all(error["line"] for error in text.json()["errors"])


async def test_what_is_no_document_is_refused(service: Service) -> None:
    for content, kind in (
        (b"{", "application/json"),
        (b"\xff", "application/yaml"),
        (b"a: [", "application/yaml"),
    ):
        answer = await service.call(
            "POST", "/v1/tasks", ADMIN, content=content, headers={"content-type": kind}
        )
        assert answer.status_code == 422, answer.text


async def test_an_episode_needs_a_registered_task(service: Service) -> None:
    assert (await service.post("/v1/episodes", {"task": "nobody"})).status_code == 404
    await service.post("/v1/tasks", TASK)
    assert (
        await service.post("/v1/episodes", {"task": TASK["id"], "version": "9"})
    ).status_code == 404


async def test_an_episode_keeps_its_labels_and_seed(service: Service) -> None:
    await service.post("/v1/tasks", TASK)
    labels = {"run": "a", "lr": 0.5, "n": 3, "on": True, "none": None}
    opened = (
        await service.post("/v1/episodes", {"task": TASK["id"], "labels": labels, "seed": -(2**63)})
    ).json()
    assert opened["plan"]["episode"] == opened["episode"]
    assert set(opened["plan"]["hears"]) >= {"page.navigated", "element.clicked"}
    found = (await service.get(f"/v1/episodes/{opened['episode']}")).json()
    assert (found["labels"], found["seed"], found["status"], found["through"]) == (
        labels,
        -(2**63),
        "open",
        0,
    )


async def test_a_body_is_refused_by_path_value_and_wanted(service: Service) -> None:
    await service.post("/v1/tasks", TASK)
    body = {"task": TASK["id"], "labels": {"a": {"b": 1}}, "seed": 2**63, "unknown": 1}
    answer = await service.post("/v1/episodes", body)
    assert answer.status_code == 422
    errors = answer.json()["errors"]
    assert {error["path"].split(".")[0] for error in errors} == {"labels", "seed", "unknown"}
    assert all({"path", "value", "wanted"} == set(error) for error in errors)
