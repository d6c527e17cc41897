"""The ways of asking without a browser, each against the real thing: files, programs, an HTTP
site."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentd.sources.probes.get import _site
from tests.cdp.site import Answer, Asked, Site
from tests.probes.asking import asking

JSON = (("content-type", "application/json"),)


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as one:
        yield one


def get(url: str) -> dict[str, Any]:
    return {"id": "it", "kind": "get", "url": url}


def python(code: str, **more: Any) -> dict[str, Any]:
    """A command, with a budget in which Python starts on a busy machine, too."""
    return {
        "id": "it",
        "kind": "command",
        "argv": [sys.executable, "-c", code],
        "budget_ms": 4000,
        **more,
    }


async def test_get_reads_json_and_text_and_names_itself(site: Site) -> None:
    """One GET under a name of its own; a path below the task's origin, whatever the status but the
    server's failure."""
    site.page("/api/cart", Answer('{"items": [{"id": 7}]}', headers=JSON))
    site.page("/text", Answer("plain", status=404, headers=(("content-type", "text/plain"),)))
    async with asking(get("/api/cart"), origin=site.url) as asked:
        assert await asked.value() == {"status": 200, "body": {"items": [{"id": 7}]}}
    assert {(one.method, one.path, one.headers["user-agent"]) for one in site.asked} == {
        ("GET", "/api/cart", "milestoned-probe/1")
    }
    async with asking(get(site.url + "/text")) as asked:
        assert await asked.value() == {"status": 404, "body": "plain"}


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("http://a.example:80/y", True),
        ("HTTP://A.example/", True),
        ("http://u:p@a.example/", True),
        ("http://a.example:8000/", False),
        ("https://a.example/", False),
        ("http://b.example/", False),
        ("http://[::1]/", False),
    ],
)
def test_a_site_is_known_by_scheme_host_and_port(url: str, same: bool) -> None:
    assert (_site(url) == _site("http://a.example/x")) is same
    assert _site("http://[::1]:80/") == _site("http://[::1]/") == "http://[::1]"


async def test_get_goes_to_no_other_site(site: Site) -> None:
    """A redirect within the site is followed, one out of it is not, nor one without end."""
    site.page("/here", Answer(status=302, headers=(("location", "/there"),)))
    site.page("/there", Answer('{"there": true}', headers=JSON))
    site.page("/out", Answer(status=302, headers=(("location", site.other + "/there"),)))
    site.page("/round", Answer(status=302, headers=(("location", "/round"),)))
    site.page("/nowhere", Answer(status=302, headers=(("location", "http://a]b/"),)))
    async with asking(get("/here"), origin=site.url) as asked:
        assert await asked.value() == {"status": 200, "body": {"there": True}}
    before = len(site.asked)
    async with asking(get("/out"), origin=site.url) as asked:
        assert "another site" in await asked.reason()
    assert {one.path for one in site.asked[before:]} == {"/out"}
    async with asking(get("/round"), origin=site.url) as asked:
        assert "more than 5 times" in await asked.reason()
    async with asking(get("/nowhere"), origin=site.url) as asked:
        assert "ValueError" in await asked.reason()


async def test_get_is_bounded_and_a_servers_failure_is_no_answer(site: Site) -> None:
    """Neither a body without end nor a broken one, nor 500, nor nobody there."""

    def flood(asked: Asked) -> Answer:
        return Answer("x" * 200_000, headers=(("content-type", "text/plain"),))

    site.page("/flood", flood)
    site.page("/broken", Answer('{"a": ', headers=JSON))
    site.page("/down", Answer(status=503))
    async with asking(get("/flood"), origin=site.url) as asked:
        ((_, data),) = await asked.at(0)
        assert (data["value"], data["cut"]) == (None, True)
    for path, why in (("/broken", "no JSON"), ("/down", "answered 503")):
        async with asking(get(path), origin=site.url) as asked:
            assert why in await asked.reason()
    async with asking(get("http://127.0.0.1:9/")) as asked:
        assert "ConnectError" in await asked.reason()


async def test_a_file_is_read_where_it_stands(tmp_path: Path) -> None:
    """Its text, its JSON, null where there is none; no link, no pipe, and its times stay."""
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_text("secret")
    (root / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(root / "pipe")
    (root / "a.json").write_text('{"a": [1]}')
    os.utime(root / "a.json", ns=(10**18, 2 * 10**18))

    def probe(path: str, as_: str = "text") -> dict[str, Any]:
        return {"id": "it", "kind": "file", "root": "home", "path": path, "as": as_}

    answers = (
        ("a.json", "json", {"a": [1]}),
        ("a.json", "text", '{"a": [1]}'),
        ("none/x", "text", None),
    )
    for path, as_, value in answers:
        async with asking(probe(path, as_), given={"files": {"home": root}}) as asked:
            assert await asked.value() == value
    for path in ("link", "pipe"):
        async with asking(probe(path), given={"files": {"home": root}}) as asked:
            assert "no plain file" in await asked.reason()
    assert (root / "a.json").stat().st_atime_ns == 10**18


async def test_a_command_runs_only_where_the_operator_agreed() -> None:
    """A task is no authority over the machine."""
    async with asking(python("print('ran')")) as asked:
        assert await asked.reason() == "the daemon was not started with --allow-commands"


async def test_a_command_answers_with_its_code_and_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No shell, no input, none of the daemon's own secrets."""
    monkeypatch.setenv("AGENTD_TOKEN", "geheim")
    allowed = {"allow_commands": True}
    code = (
        "import os, sys; print('$HOME', sys.stdin.read(), 'AGENTD_TOKEN' in os.environ);"
        " sys.exit(3)"
    )
    async with asking(python(code), given=allowed) as asked:
        assert await asked.value() == {"exit": 3, "out": "$HOME  False\n"}
    async with asking(python("print('[1]')", **{"as": "json"}), given=allowed) as asked:
        assert await asked.value() == {"exit": 0, "out": [1]}
    async with asking(
        {"id": "it", "kind": "command", "argv": ["no-such-program"]}, given=allowed
    ) as asked:
        assert "No such file" in await asked.reason()
    async with asking(python("while True: print('x' * 1000)"), given=allowed) as asked:
        ((_, data),) = await asked.at(0)
        assert (data["value"], data["cut"]) == (None, True)


def runs(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_what_a_command_started_ends_with_its_budget(tmp_path: Path) -> None:
    """The child of a child too: nothing of a probe stays."""
    pid = tmp_path / "pid"
    code = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open({str(pid)!r}, "w").write(str(child.pid))
time.sleep(60)
"""
    async with asking(python(code, budget_ms=3000), given={"allow_commands": True}) as asked:
        assert await asked.reason() == "no answer within 3000 ms"
        async with asyncio.timeout(20):
            while runs(int(pid.read_text())):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.01)
