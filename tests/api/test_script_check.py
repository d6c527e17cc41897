"""`milestoned task check` of script probes: each expression is tried in a real Chromium, where
there is one."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

import orjson
import pytest

from api.cli.main import main
from api.tasks import script_check
from api.tasks.script_check import NotTriedError, try_expressions, try_on_page
from api.tasks.task_files import check_task
from examples.page_server import serve_pages
from tests.support.chromium import needs_chromium

TASK = {
    "id": "t",
    "version": "1",
    "instruction": "Read it",
    "origin": "http://127.0.0.1:8000",
    "milestones": [{"id": "a", "when": {"probe_answers": {"probe": "it", "value": 1}}}],
}


PROBE = {"id": "it", "script": {"url": "/cart", "expression": "document.title"}}


def checked(folder: Path, expression: str) -> int:
    """Exit status of the check of a task with this one script probe."""
    file = folder / "t.json"
    file.write_bytes(
        orjson.dumps(
            TASK | {"probes": [{"id": "it", "script": {"url": "/*", "expression": expression}}]}
        )
    )
    return main(["task", "check", str(file)])


@pytest.mark.browser
@needs_chromium
@pytest.mark.parametrize(
    ("expression", "status", "wanted"),
    [
        ("document.title", 0, ""),
        ("document.querySelector('#total').textContent", 0, ""),
        ("document.body.remove()", 1, "(probe it): the browser refuses the expression"),
        ("document.body.remove()", 1, "document.body.remove"),
        ("document.body.closest('p')", 1, "document.body.closest may not be called, write a loop"),
        ("document.title =", 1, "wanted a JavaScript expression, got SyntaxError"),
        (
            "document.querySelector('#a').closest('p')",
            0,
            "warning: probes[0].script.expression (probe it): .closest may",
        ),
    ],
)
def test_an_expression_that_is_refused_is_said_before_anything_runs(
    expression: str, status: int, wanted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What an empty page lacks is no problem; a refused call behind it is a warning."""
    assert checked(tmp_path, expression) == status
    said = capsys.readouterr()
    assert wanted in said.err
    assert ("probe it" in said.err) == bool(wanted)
    assert (": ok: " in said.out) == (status == 0)


SHOP = b"""<!doctype html><title>Cart</title><p id=total>2 items</p><ul><li>Lamp<li>Rug</ul><script>
window.secret = 7; setTimeout(() => { document.body.dataset.theme = "dark" }, 400)</script>"""
ON_PAGE = [
    ("document.querySelector('#total').textContent", "2 items", ""),
    ("Array.from(document.querySelectorAll('li')).map(li => li.textContent)", ["Lamp", "Rug"], ""),
    ("document.body.dataset.theme.length", 4, ""),
    ("window.secret", None, ""),
    ("document.querySelector('#none').textContent", None, "the expression threw TypeError: Cannot"),
    ("document.querySelector('#total').closest('body').tagName", None, "write a loop"),
    ("document.body.remove()", None, "the browser refuses the expression"),
    ("() => 1", None, "the expression is worth a function, which is no JSON"),
    ("(() => { while (true); })()", None, "the browser gave no answer: Execution was terminated"),
    ("[1n]", None, "the browser gave no answer: Object couldn't be returned by value"),
    ("'x'.repeat(65535)", None, "got a value of 65537 bytes, expected at most 65536"),
    ("undefined", None, ""),
    (r"'\ud800!'", "\ufffd!", ""),
]
"""An expression, what it is worth on the page, or what is wrong with it. What is drawn late is
waited for; what the page's own script keeps is not seen."""


@pytest.mark.browser
@needs_chromium
@pytest.mark.parametrize(("expression", "value", "problem"), ON_PAGE)
def test_an_expression_is_tried_on_the_author_s_own_page(
    expression: str, value: object, problem: str
) -> None:
    probes = [{"id": "it", "script": {"url": "/cart", "expression": expression}}]
    with serve_pages(lambda _: SHOP) as origin:
        task = check_task(TASK | {"origin": origin, "probes": probes})
        (trial,) = try_on_page(task, f"{origin}/cart?from=mail")
    assert trial.path == "probes[0].script.expression (probe it)"
    assert problem in trial.problem
    assert bool(trial.problem) == bool(problem)
    if not problem:
        assert orjson.loads(trial.answer) == value


@pytest.mark.browser
@needs_chromium
def test_an_expression_is_tried_where_the_page_goes_on_to_by_itself() -> None:
    """The address that is asked for may only lead to the one that is meant."""
    leads_on = b"<script>setTimeout(() => { location = '/cart' }, 1)</script>"
    with serve_pages(lambda path: SHOP if path == "/cart" else leads_on) as origin:
        task = check_task(TASK | {"origin": origin, "probes": [PROBE]})
        (trial,) = try_on_page(task, f"{origin}/")
    assert (trial.answer, trial.problem) == ('"Cart"', "")


@pytest.mark.browser
@needs_chromium
def test_what_a_page_has_to_draw_is_waited_for_once_not_for_each_probe() -> None:
    """Ten that throw took as long as the whole check may: it ended as if none was tried."""
    script = {"url": "/cart", "expression": "document.querySelector('#none').textContent"}
    probes = [{"id": id, "script": script} for id in ("it", *"abcdefghi")]
    with serve_pages(lambda _: SHOP) as origin:
        task = check_task(TASK | {"origin": origin, "probes": probes})
        trials = list(try_on_page(task, f"{origin}/cart", total_s=20.0))
    assert len([trial for trial in trials if "TypeError" in trial.problem]) == len(probes)


@pytest.mark.browser
@needs_chromium
def test_a_page_that_does_not_load_is_said_to() -> None:
    ended = threading.Event()

    def page_of(path: str) -> bytes:
        if path == "/slow.png":
            ended.wait()
        return b"<img src=/slow.png>"

    with serve_pages(page_of) as origin:
        task = check_task(TASK | {"origin": origin, "probes": [PROBE]})
        try:
            with pytest.raises(NotTriedError, match="/cart: the page did not load in time"):
                list(try_on_page(task, f"{origin}/cart", total_s=5.0))
        finally:
            ended.set()


@pytest.mark.browser
@needs_chromium
def test_the_check_prints_what_a_page_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another page than the probe's, or one that can't be loaded, fails the check."""
    file = tmp_path / "t.json"
    with serve_pages(lambda _: SHOP) as origin:
        file.write_bytes(orjson.dumps(TASK | {"origin": origin, "probes": [PROBE]}))
        assert main(["task", "check", str(file), "--page", f"{origin}/cart"]) == 0
        assert f'{file}: probes[0].script.expression (probe it): "Cart"' in capsys.readouterr().out
        assert main(["task", "check", str(file), "--page", f"{origin}/other"]) == 1
        assert f"it is not asked on {origin}/other: see its url" in capsys.readouterr().err
    assert main(["task", "check", str(file), "--page", f"{origin}/cart"]) == 1
    assert "net::ERR_CONNECTION_REFUSED" in capsys.readouterr().err
    assert main(["task", "check", str(file), "--page", "cart"]) == 1
    assert "cart: this is no address" in capsys.readouterr().err


def test_without_a_browser_the_check_says_that_nothing_was_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is no failure; the text alone still warns."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert checked(tmp_path, "localStorage.getItem('a')") == 0
    said = capsys.readouterr().err
    assert "the script probes were not tried: none of chromium, " in said
    assert (
        "warning: probes[0].script.expression (probe it): localStorage.getItem may not be called"
        in said
    )


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("exit 3", "the browser ended with 3"),
        ("exec /bin/sleep 600", "the browser did not start in time"),
    ],
)
def test_a_browser_that_does_not_come_up_is_waited_for_no_longer_than_its_bound(
    program: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason says what became of it."""
    browser = tmp_path / "chromium"
    browser.write_text(f"#!/bin/sh\n{program}\n")
    browser.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotTriedError, match=reason):
        try_expressions([("probes[0]", "1")], total_s=2.0)


@pytest.mark.browser
@needs_chromium
def test_a_long_folder_of_temporary_files_does_not_end_the_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended with -6: the path of its socket was longer than the system takes."""
    long = tmp_path / ("a" * 100) / ("b" * 100)
    long.mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(long))
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert try_expressions([("p", "document.title")]) == []
    assert list(long.iterdir()) == []


def test_where_no_folder_is_short_enough_that_is_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("a" * 100)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    monkeypatch.setattr(script_check, "_SHORT", ())
    reason = r"^TMPDIR .*: \d+ bytes, expected at most 48"
    with pytest.raises(NotTriedError, match=reason), script_check._browser("/bin/false", 0.0):
        pass


@pytest.mark.browser
@needs_chromium
def test_a_value_that_is_too_large_is_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 300 million letters the check grew by 900 MB."""
    assert checked(tmp_path, "'x'.repeat(5e6)") == 0
    assert "not tried: 'x'.repeat(5e6): got a value of more than 4 MiB" in capsys.readouterr().err
