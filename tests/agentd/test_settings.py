"""Options: read once, from the command line before the environment, and refused with what was
wanted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from agentd.cli.main import main, make_app
from agentd.core.errors import UsageError
from agentd.core.patience import Patience
from agentd.core.plan import EpisodePlan
from agentd.core.settings import RecordSettings, RunSettings, arguments_of, parse_settings
from agentd.core.tls import default_tls
from agentd.session.supervisor import TABLE, sources_of
from agentd.sources.cdp import CdpSource
from common.command_line import CommandLineError, parse_command

NEEDED = ("--service", "http://s/", "--episode", "E", "--token-file", "t", "--state", "d")


def run_settings(*argv: str) -> RunSettings:
    """What `agentd run` reads from ``argv`` and the environment."""
    command, bound = parse_command(make_app(), ["run", *argv])
    settings = command(*bound.args, **bound.kwargs)
    assert isinstance(settings, RunSettings)
    return settings


def test_the_command_line_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """And both before the default."""
    monkeypatch.setenv("AGENTD_PORT", "8")
    monkeypatch.setenv("AGENTD_JOURNAL_MAX", "2M")
    settings = run_settings(*NEEDED, "--port", "7")
    assert (settings.service, settings.port, settings.journal_max) == ("http://s", 7, 2 << 20)
    assert settings.cdp is None


def test_directories_have_labels(tmp_path: Path) -> None:
    """A label of one's own, or the directory's name."""
    (tmp_path / "a=b").mkdir()
    assert run_settings(*NEEDED, "--files", f"dl={tmp_path}").files == (("dl", tmp_path),)
    folder = tmp_path / "a=b"
    assert run_settings(*NEEDED, "--files", str(folder)).files == (("a=b", folder),)


def test_a_variable_is_one_value_and_an_empty_one_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder's name may have blanks; compose files set variables to nothing."""
    monkeypatch.setenv("AGENTD_MASK", "my pin")
    monkeypatch.setenv("AGENTD_PORT", "")
    settings = run_settings(*NEEDED, "--processes", "")
    assert (settings.mask, settings.port, settings.processes) == (("my pin",), 0, None)


def wrong(tmp_path: Path) -> dict[str, tuple[tuple[str, ...], str]]:
    (tmp_path / "in").mkdir()
    return {
        "missing": (("--episode", ""), "--episode ID is missing"),
        "no address": (("--service", "localhost:1"), "http://"),
        "no port": (("--port", "x"), "--port: expected a number"),
        "no size": (("--journal-max", "many"), "--journal-max: expected a number of bytes"),
        "no directory": (("--files", str(tmp_path / "none")), "expected DIR or LABEL=DIR"),
        "two of a label": (
            ("--files", f"a={tmp_path}", "--files", f"a={tmp_path / 'in'}"),
            "'a' stands for two",
        ),
        "one in the other": (
            ("--files", f"a={tmp_path}", "--files", f"b={tmp_path / 'in'}"),
            "lies in",
        ),
        **{
            f"patience {text}": (
                ("--patience", text),
                f'--patience: expected a factor from 1 to 60, got "{text}"',
            )
            for text in ("0", "0.99", "60.01", "-2", "nan", "inf", "1e1", "ten", "٣")
        },
        "two browsers": (("--cdp", "http://c", "--profile", "p"), "wanted one of the two"),
    }


def test_wrong_options_are_named(tmp_path: Path) -> None:
    """Each refusal says the option and what was wanted."""
    for name, (given, words) in wrong(tmp_path).items():
        with pytest.raises((UsageError, CommandLineError)) as error:
            run_settings(*NEEDED, *given)
        assert words in str(error.value), name


@pytest.fixture
def _own_logs() -> Iterator[None]:
    """The command sets up logs for its process; a test gives them back."""
    yield
    structlog.reset_defaults()


@pytest.mark.usefixtures("_own_logs")
def test_the_exit_code_of_a_wrong_option(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """2, and one line on stderr."""
    monkeypatch.delenv("AGENTD_SERVICE", raising=False)
    with pytest.raises(SystemExit) as end:
        main(["run", "--episode", "E"])
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("agentd: --service URL is missing")


@pytest.mark.usefixtures("_own_logs")
def test_nothing_to_watch_is_a_wrong_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A recording of nothing is refused before anything is made."""
    with pytest.raises(SystemExit) as end:
        main(["record", "--out", str(tmp_path / "it.mrec")])
    assert end.value.code == 2
    assert "nothing to watch" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_names_to_mask_reach_every_source() -> None:
    """`--mask` beside the task's own."""
    argv = (*NEEDED, "--mask", "pin", "--mask", "tax_id", "--cdp", "http://127.0.0.1:9")
    settings = parse_settings(RunSettings, argv)
    (source,) = (
        one for one in sources_of(settings, {"mask": ["iban"]}) if isinstance(one, CdpSource)
    )
    assert source._asks.mask == ("iban", "pin", "tax_id")


def test_patience_reaches_every_source_that_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But probes, whose budgets are the task's own. 1 unless it is asked for."""
    monkeypatch.setenv("DISPLAY", ":4711")
    watched = ("--cdp", "http://127.0.0.1:9", "--files", str(tmp_path), "--desktop")
    more = ("--processes", "all", "--clipboard", "clipboard", "--screen", "x11")
    plan: EpisodePlan = {"file_reads": [{"path": "a.txt"}]}
    assert run_settings(*NEEDED).patience == Patience(1)
    monkeypatch.setenv("AGENTD_PATIENCE", "2.5")
    settings = run_settings(*NEEDED, *watched, *more)
    patience = {source.name: vars(source)["_patience"] for source in sources_of(settings, plan)}
    assert patience == dict.fromkeys(set(TABLE) - {"probe"}, Patience(2.5))


@pytest.mark.usefixtures("_own_logs")
def test_a_recording_that_is_there_is_not_replaced_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refused before anything is watched; the recording is left as it was, and nothing beside
    it."""
    out = tmp_path / "it.mrec"
    out.write_text("mine")
    with pytest.raises(SystemExit) as end:
        main(["record", "--out", str(out), "--files", str(tmp_path)])
    assert end.value.code == 2
    assert "is there already; wanted another name, or --force" in capsys.readouterr().err
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"it.mrec": "mine"}


def test_what_each_attached_episode_needs_is_made_once() -> None:
    """Options and authorities take 40 ms to read; whoever reads them can change nothing."""
    assert arguments_of(RunSettings) is arguments_of(RunSettings)
    assert arguments_of(RunSettings).keys() != arguments_of(RecordSettings).keys()
    with pytest.raises(TypeError):
        arguments_of(RunSettings)["state"] = None  # type: ignore[index]
    assert default_tls() is default_tls()
    assert default_tls().check_hostname
