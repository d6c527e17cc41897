"""What the pages' own wire keeps: who may look, what a browser is told, what is never let
through."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from api.auth.store import Terms
from tests.api.blame.test_causes import shows
from tests.api.service import ADMIN, TASK, Service, Store, running
from tests.support.logs import clicked, episode, went

HTML = {"accept": "text/html"}
FOREIGN = [
    "//evil.test/x",
    "https://evil.test/",
    "/\\evil.test",
    "javascript:alert(1)",
    "",
    "/a\nb",
    "//[",
    "http://[::1",
]


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with running(Store(tmp_path)) as found:
        yield found


async def look(service: Service, path: str, token: str = ADMIN) -> tuple[int, str]:
    """Status and text of a page, as somebody logged in with ``token`` gets it."""
    answer = await service.get(path, None, headers={**HTML, "cookie": f"milestoned={token}"})
    return answer.status_code, answer.text


async def test_whoever_is_not_logged_in_is_asked_to_and_comes_back(service: Service) -> None:
    asked = await service.get("/episodes?status=open", None, headers=HTML)
    assert (asked.status_code, asked.headers["location"]) == (
        303,
        "/login?next=%2Fepisodes%3Fstatus%3Dopen",
    )
    form = await service.call(
        "POST", "/login", None, data={"token": ADMIN, "next": "/episodes?status=open"}, headers=HTML
    )
    assert (form.status_code, form.headers["location"]) == (303, "/episodes?status=open")
    cookie = form.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


async def test_a_program_without_a_token_gets_a_problem_and_no_page(service: Service) -> None:
    asked = await service.get("/episodes", None)
    assert asked.status_code == 401
    assert asked.headers["content-type"] == "application/problem+json"


async def test_a_wrong_token_is_told_beside_the_field_and_opens_nothing(service: Service) -> None:
    form = await service.call("POST", "/login", None, data={"token": "mt_wrong"}, headers=HTML)
    assert form.status_code == 401
    assert "the bearer token is not known" in form.text
    assert "set-cookie" not in form.headers


async def test_a_daemons_token_opens_no_page(service: Service) -> None:
    _, token = await service.open()
    form = await service.call("POST", "/login", None, data={"token": token}, headers=HTML)
    assert form.status_code == 403
    assert (await look(service, "/episodes", token))[0] == 403


@pytest.mark.parametrize("following", FOREIGN)
async def test_a_login_leads_nowhere_else(service: Service, following: str) -> None:
    form = await service.call(
        "POST", "/login", None, data={"token": ADMIN, "next": following}, headers=HTML
    )
    assert form.headers["location"] == "/episodes"


@pytest.mark.parametrize("origin", ["https://evil.test", "null", "", "http://[", "http://a]b"])
@pytest.mark.parametrize("path", ["/login", "/logout"])
async def test_another_sites_form_is_refused(service: Service, path: str, origin: str) -> None:
    headers = {**HTML, "origin": origin}
    form = await service.call("POST", path, None, data={"token": ADMIN}, headers=headers)
    assert form.status_code == 403
    assert "set-cookie" not in form.headers


async def test_another_tenants_episode_is_not_there(service: Service) -> None:
    episode, _ = await service.open()
    _, token = await service.app.state.parts.tokens.create("read", "", Terms("other"))
    assert (await look(service, f"/episodes/{episode}"))[0] == 200
    for path in (f"/episodes/{episode}", f"/episodes/{episode}/live", "/episodes/ep_nobodys"):
        status, text = await look(service, path, token)
        assert status == 404
        assert "there is no episode" in text
    assert episode not in (await look(service, "/episodes", token))[1]


async def test_every_page_allows_only_its_own_scripts_and_styles(service: Service) -> None:
    for path in ("/login", "/episodes", "/episodes?least=x", "/episodes/ep_nobodys"):
        answer = await service.get(path, None, headers={**HTML, "cookie": f"milestoned={ADMIN}"})
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert " style=" not in answer.text
        assert "<script>" not in answer.text


async def test_a_static_file_is_kept_for_ever_under_its_digest_alone(service: Service) -> None:
    _, text = await look(service, "/episodes")
    path = text.split('rel="stylesheet" href="')[1].split('"')[0]
    assert "immutable" in (await service.get(path, None)).headers["cache-control"]
    digest, name = path.split("/")[2:]
    for other in (
        f"/static/{'0' * len(digest)}/{name}",
        f"/static/{digest}/..%2frender.py",
        "/static/x/no.css",
    ):
        assert (await service.get(other, None)).status_code == 404


async def test_a_filter_that_can_not_be_understood_is_a_page_that_says_why(
    service: Service,
) -> None:
    status, text = await look(service, "/episodes?least=much")
    assert status == 422
    assert "least: got &#39;much&#39;, wanted a number" in text


async def test_why_an_episode_failed_is_a_link_away(service: Service) -> None:
    """The panel says the cause, the events that show it and the first point of failure."""
    refused, token = await service.open(TASK)
    await service.tell(refused, token, *episode(shows("/", 403), []))
    reached, token = await service.open(TASK)
    done = [went("/cart"), clicked("Buy", role="button")]
    await service.tell(reached, token, *episode(done))
    link = f'href="/episodes/{refused}?blame=1#why"'
    assert link in (await look(service, f"/episodes/{refused}"))[1]
    assert "blame=1" not in (await look(service, f"/episodes/{reached}"))[1]
    for path in (f"/episodes/{refused}?blame=1", f"/episodes/{refused}/detail?blame=1"):
        status, text = await look(service, path)
        assert status == 200
        assert "<strong>site_refused</strong>: event 4: status 403" in text
        assert "First point of failure: event" in text
        assert "the agent can't have provoked it" in text


@pytest.mark.parametrize("text", [7, None, ["a"], {"type": 4}])
async def test_a_recording_that_is_no_text_shows_nothing_and_is_no_error(
    service: Service, text: object
) -> None:
    """Another recorder's, or a daemon's that was tampered with."""
    found, token = await service.open(TASK)
    data = {"tab": "T", "stream": "s", "sequence": 0, "sent_ms": 1}
    said = [("visual.dom_recorded", {**data, "text": one}) for one in (text, "[]")]
    await service.tell(found, token, *episode([*said, went("/cart")]))
    status, shown = await look(service, f"/episodes/{found}/visual")
    assert status == 200
    assert [message["events"] for message in orjson.loads(shown)["told"]] == [[], []]
