"""Which libraries each folder may import, and that the contracts of `make check` refuse an import
that goes up."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STDLIB = sys.stdlib_module_names | {"__future__"}
OURS = {"agentd", "common", "detectors", "api", "lab", "migrations", "milestoned_client"}
IMPURE = {
    "time",
    "random",
    "secrets",
    "os",
    "socket",
    "subprocess",
    "threading",
    "asyncio",
    "datetime",
    "pathlib",
    "io",
}
OUTSIDE = {
    "babel",
    "cel",
    "dateutil",
    "jsonpath_rfc9535",
    "jsonschema_rs",
    "rapidfuzz",
    "re2",
    "datetime",
}
DAEMON = {
    "cyclopts",
    "rich",  # for a type: cyclopts brings it, and imports it when help is shown
    "filetype",
    "h11",
    "httptools",
    "httpx",
    "orjson",
    "starlette",
    "structlog",
    "uvicorn",
    "watchdog",
    "websockets",
    "zstandard",
}
EXTRAS = {
    "agentd/inprocess": {"greenlet", "playwright", "pyppeteer"},
    "agentd/sources/ax": {"xcffib"},
    "agentd/sources/ax/listener": {
        "gi",
        "pyatspi",
    },  # Debian's: it is another Python that runs these
    "agentd/sources/processes": {"psutil"},
    "agentd/sources/clipboard": {"xcffib"},
    "agentd/sources/screen": {"PIL", "mss", "onnxruntime", "rapidocr"},
    "agentd/readers": set(
        "PIL charset_normalizer defusedxml docx lxml odfdo openpyxl pptx pymediainfo pypdf yaml".split()
    ),
}
TRAINERS = {
    "eval_protocol": {"eval_protocol"},
    "hud": {"hud"},
    "nemo_gym": {
        "nemo_gym",
        "fastapi",
        "pydantic",
    },  # a server of NeMo Gym's, which brings these two
    "openenv": {"openenv"},
    "openrlhf_agent": {"openrlhf"},
    "verl_manager": {"verl"},
    "skyrl": {"skyrl_gym"},
    "skyrl_generator": {"skyrl"},
    "gymnasium": {"gymnasium"},
    "inspect_ai": {"inspect_ai"},
    "harbor": {"harbor"},
    "trl_trainer": {"accelerate", "torch"},
    "verl_loop": {"torch", "verl"},
}


def imports(folder: str) -> dict[str, set[str]]:
    """Each file below ``folder``, and the top-level names that it imports."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        names: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names.add((node.module or "").split(".")[0])
        found[str(path.relative_to(ROOT))] = names
    assert found, f"no files below {folder}"
    return found


def test_detectors_are_the_floor_and_pure() -> None:
    """Nothing of ours, of third parties only orjson; no clock, no I/O, no randomness. One file is
    the door to parsers of others that can be used so (decision 0014)."""
    for path, names in imports("detectors").items():
        outside = OUTSIDE if path == "detectors/matchers/third_party.py" else set()
        assert names - STDLIB - {"detectors", "orjson"} - outside == set(), path
        # A lock around remembered results of pure functions.
        lock = {"threading"} if path == "detectors/model/caches.py" else set()
        assert names & IMPURE - outside - lock == set(), path


def test_the_daemon_s_part_of_the_floor_needs_no_library_of_others() -> None:
    """What agentd imports of detectors works where only its base dependencies are installed
    (decision 0014)."""
    modules = "agentd.session.supervisor, detectors.task.ruleset"
    probe = f"import sys, {modules}; print(*{{m.partition('.')[0] for m in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert set(done.stdout.split()) & (OUTSIDE - STDLIB) == set()


def test_the_daemon_is_light_and_knows_no_service() -> None:
    """agentd imports what its base dependencies bring, and a source what its extra does."""
    for path, names in imports("agentd").items():
        extra = EXTRAS.get(path.rpartition("/")[0], set())
        assert names - STDLIB - DAEMON - extra - {"agentd", "common", "detectors"} == set(), path


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages, which keeps all contracts."""
    folder = tmp_path_factory.mktemp("tree")
    for package in ("agentd", "api", "common", "detectors", "lab"):
        shutil.copytree(
            ROOT / package, folder / package, ignore=shutil.ignore_patterns("*.js", "__pycache__")
        )
    shutil.copytree(ROOT / "client" / "milestoned_client", folder / "milestoned_client")
    shutil.copy(ROOT / "pyproject.toml", folder)
    kept = _lint(folder)
    assert kept.returncode == 0, kept.stdout
    return folder


@pytest.mark.slow_where("detectors/rules")
@pytest.mark.slow_where("agentd/core")
@pytest.mark.slow_where("agentd/sources")
@pytest.mark.slow_where("api/pages")
@pytest.mark.slow_where("api/log")
@pytest.mark.slow_where("api/replay")
@pytest.mark.parametrize(
    ("where", "imported"),
    [
        ("detectors/model/types.py", "detectors.engine.engine"),
        ("detectors/rules/same.py", "detectors.rules.count"),
        ("agentd/core/errors.py", "agentd.session.supervisor"),
        ("agentd/sources/files/fold.py", "agentd.sources.cdp.source"),
        ("agentd/uplink/http.py", "api.core.settings"),
        ("api/tasks/schema.py", "api.http.tasks"),
        ("api/pages/task.py", "sqlalchemy"),
        ("api/log/reader.py", "fastapi"),
        ("api/replay/recordings.py", "lab.training.preferences"),
        ("detectors/engine/credit.py", "time"),
    ],
)
def test_an_import_that_goes_up_fails_the_check(where: str, imported: str, tree: Path) -> None:
    """The contracts that `make check` runs, with one import too many."""
    file = tree / where
    sound = file.read_text()
    file.write_text(f"{sound}\nimport {imported}\n")
    try:
        broken = _lint(tree)
    finally:
        file.write_text(sound)
    assert broken.returncode == 1
    assert "BROKEN" in broken.stdout


def _lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    env = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=env, check=False)


def test_the_client_needs_httpx_alone() -> None:
    """What a trainer imports; an adapter knows its own trainer too, and nothing else of ours
    imports that adapter."""
    for path, names in imports("client/milestoned_client").items():
        own = TRAINERS.get(Path(path).stem, set()) if "/adapters/" in path else set()
        assert names - STDLIB - {"httpx", "milestoned_client"} - own == set(), path


def test_the_clients_guard_against_packed_answers_is_that_of_daemon_and_service() -> None:
    """The client imports nothing of ours, so it has a copy."""
    client = (ROOT / "client" / "milestoned_client" / "plain_answers.py").read_text()
    assert client == (ROOT / "common" / "plain_answers.py").read_text()
