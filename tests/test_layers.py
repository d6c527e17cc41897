"""The import law of docs/architecture.md: who may know whom. Every import of every file is read."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
STDLIB = sys.stdlib_module_names | {"__future__"}
OURS = {"agentd", "detectors", "api", "migrations", "milestoned_client"}
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
OUTSIDE = {"babel", "cel", "dateutil", "jsonpath_rfc9535", "jsonschema_rs", "rapidfuzz", "re2", "datetime"}
DAEMON = {
    "filetype",
    "h11",
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
    "agentd/sources/ax/listener": {"gi", "pyatspi"},  # Debian's: it is another Python that runs these
    "agentd/sources/processes": {"psutil"},
    "agentd/sources/clipboard": {"xcffib"},
    "agentd/sources/screen": {"PIL", "mss"},
    "agentd/readers": set(
        "PIL charset_normalizer defusedxml docx lxml odfdo openpyxl pptx pymediainfo pypdf yaml".split()
    ),
}
TRAINERS = {
    "nemo_gym": {"nemo_gym", "fastapi", "pydantic"},  # a server of NeMo Gym's, which brings these two
    "openenv": {"openenv"},
    "openrlhf_agent": {"openrlhf"},
    "verl_manager": {"verl"},
    "skyrl": {"skyrl_gym"},
    "gymnasium": {"gymnasium"},
    "inspect_ai": {"inspect_ai"},
}
KNOWS_SQL = ("api/store", "api/log", "api/ledger", "api/tables", "migrations")
KNOWS_FASTAPI = ("api/app", "api/http", "api/pages")


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
    """Nothing of ours, of third parties only orjson; no clock, no I/O, no randomness. One file is the door to parsers
    of others that can be used so (decision 0014)."""
    for path, names in imports("detectors").items():
        outside = OUTSIDE if path == "detectors/matchers/third_party.py" else set()
        assert names - STDLIB - {"detectors", "orjson"} - outside == set(), path
        assert names & IMPURE - outside == set(), path


def test_the_daemon_s_part_of_the_floor_needs_no_library_of_others() -> None:
    """What agentd imports of detectors works where only its base dependencies are installed (decision 0014)."""
    modules = "agentd.session.supervisor, detectors.task.ruleset"
    probe = f"import sys, {modules}; print(*{{m.partition('.')[0] for m in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, cwd=ROOT, check=True)
    assert set(done.stdout.split()) & (OUTSIDE - STDLIB) == set()


def test_rules_never_import_each_other() -> None:
    """A rule is one file."""
    for path in (ROOT / "detectors" / "rules").glob("*.py"):
        assert "detectors.rules" not in path.read_text(), path


def test_the_daemon_is_light_and_knows_no_service() -> None:
    """agentd imports what its base dependencies bring, and a source what its extra does."""
    for path, names in imports("agentd").items():
        extra = EXTRAS.get(path.rpartition("/")[0], set())
        assert names - STDLIB - DAEMON - extra - {"agentd", "detectors"} == set(), path


def test_the_service_knows_no_daemon_and_its_layers_hold() -> None:
    """SQLAlchemy only in log, ledger, tables and migrations; FastAPI only in app, routes and pages."""
    for path, names in (imports("api") | imports("migrations")).items():
        assert "agentd" not in names, path
        if names & {"sqlalchemy", "alembic", "aiosqlite"}:
            assert path.startswith(KNOWS_SQL), path
        if names & {"fastapi", "starlette"}:
            assert path.startswith((*KNOWS_FASTAPI, "api/examples")), path


def test_the_client_needs_httpx_alone() -> None:
    """What a trainer imports; an adapter knows its own trainer too, and nothing else of ours imports that adapter."""
    for path, names in imports("client/milestoned_client").items():
        own = TRAINERS.get(Path(path).stem, set()) if "/adapters/" in path else set()
        assert names - STDLIB - {"httpx", "milestoned_client"} - own == set(), path
