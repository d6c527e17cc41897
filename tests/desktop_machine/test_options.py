"""The machine's options: refused with what was wanted, before anything is started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentd.core.errors import UsageError
from agentd.core.extras import display_for, require_extra
from agentd.core.settings import DaemonSettings, RecordSettings, parse_settings
from agentd.session.supervisor import unwatched_sources
from tests.desktop_machine.conftest import ROOT

WRONG: dict[str, tuple[tuple[str, str], str]] = {
    "no selection": (
        ("--clipboard", "primary,both"),
        "--clipboard: expected clipboard, primary",
    ),
    "nothing to tell": (("--clipboard", "unread"), "--clipboard: expected"),
    "no camera": (("--screen", "png"), "--screen: expected x11 or cdp"),
    "no browser": (("--screen", "cdp"), "--screen cdp: wanted --cdp or --profile too"),
    "no size": (("--screens-max", "big"), "--screens-max: expected a number of bytes"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_options_are_named(what: str) -> None:
    given, words = WRONG[what]
    with pytest.raises(UsageError) as error:
        parse_settings(RecordSettings, ["--out", "x.mrec", *given])
    assert words in str(error.value)


def test_what_is_given_is_read() -> None:
    given = "--out x --processes ada --clipboard primary,clipboard --screen cdp --cdp http://c"
    settings = parse_settings(RecordSettings, [*given.split(), "--screens-max", "1G"])
    assert settings.processes == "ada"
    assert settings.clipboard == frozenset(("clipboard", "primary"))
    assert (settings.screen, settings.screens_max) == ("cdp", 1 << 30)


def test_a_missing_extra_is_named_with_its_option() -> None:
    require_extra("--screen", "desktop", "json")
    with pytest.raises(
        UsageError, match=r"^--screen: No module named 'no_such'; wanted: .*milestoned\[desktop\]"
    ):
        require_extra("--screen", "desktop", "json", "no_such")


def test_a_missing_display_is_named_with_its_option() -> None:
    assert display_for("--clipboard", {"DISPLAY": ":7"}) == ":7"
    with pytest.raises(UsageError, match=r"^--clipboard: DISPLAY is not set"):
        display_for("--clipboard", {})


@pytest.mark.parametrize(
    "options", [("--clipboard", "clipboard"), ("--screen", "x11")], ids=lambda one: one[0]
)
def test_the_daemon_says_so_and_ends(tmp_path: Path, options: tuple[str, str]) -> None:
    """Exit code 2, as for every wrong option."""
    environ = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    command = [
        sys.executable,
        "-m",
        "agentd",
        "record",
        "--out",
        str(tmp_path / "x.mrec"),
        *options,
    ]
    done = subprocess.run(
        command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert f"{options[0]}" in done.stderr
    assert "DISPLAY is not set" in done.stderr


def test_a_rule_that_hears_what_nobody_watches_is_told() -> None:
    """Its steps are unobserved, not 0."""
    plan = {"hears": ["clipboard.changed", "process.started"]}
    blind = unwatched_sources(DaemonSettings(processes="all"), plan)
    assert blind == {"clipboard": "not watched: the daemon was given no --clipboard"}
