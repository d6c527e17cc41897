"""The child: what it may import, that it acts on nothing, that it ends with its parent."""

from __future__ import annotations

import ast
import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import agentd.sources.ax as ax
from agentd.core.source import SourceLostError
from agentd.sources.ax.child import PYTHON, Child
from tests.desktop.watching import watching
from tests.support.desktop import Desktop

LISTENER = Path(ax.__file__).parent / "listener"
GETS = frozenset(
    "get_role_name get_name get_parent get_index_in_parent get_child_count get_child_at_index"
    " get_state_set get_states get_toolkit_name get_toolkit_version get_process_id get_desktop"
    " getRelationSet getRelationType getNTargets getTarget getText getAccessibleAtPoint queryText"
    " queryValue queryComponent clear_cache".split()
)
"""What the child calls on programs, all of it: nothing that acts, sets or takes anything away from anybody."""
ACTING = (
    "action",
    "set",
    "grab",
    "insert",
    "delete",
    "select",
    "scroll",
    "generate",
    "press",
    "keystroke",
    "device",
)


def test_it_imports_what_the_system_s_python_has() -> None:
    """The standard library, pyatspi and gi; of ours only itself."""
    for path in LISTENER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = {(node.module or "").split(".")[0]}
            else:
                continue
            assert names <= sys.stdlib_module_names | {"gi", "pyatspi", "__future__"}, path


def test_it_calls_nothing_that_acts() -> None:
    """Law 1, in the one place where AT-SPI could break it: over the library only getters, over
    D-Bus only these."""
    called: set[str] = set()
    methods: set[str] = set()
    for path in LISTENER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                called.add(node.attr)
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and node.value[:1].isupper()
            ):
                methods.add(node.value)
    of_programs = {
        name
        for name in called
        if name.startswith(("get_", "query", "get")) or name == "clear_cache"
    }
    assert of_programs - GETS <= {"get_member", "get_message_type", "get_body", "get_sender", "get_serial",
        "get_destination", "get_reply_serial", "get_type_string", "get"}  # fmt: skip
    acting = {name for name in called for word in ACTING if word in name.lower()}
    assert acting <= {
        "set_timeout",
        "set_exit_on_close",
        "get_state_set",
        "getRelationSet",
        "setdefault",
    }
    assert {name for name in methods if name.startswith("Set")} == set()


async def test_without_a_desktop_it_says_so() -> None:
    """A reason that a person can act on."""
    child = await Child.start(
        {"PATH": os.environ["PATH"], "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"}
    )
    with pytest.raises(SourceLostError, match="no accessibility bus: Could not connect"):
        async for _ in child.messages():
            pass
    await child.end()


def test_it_ends_with_its_parent(own_desktop: Desktop) -> None:
    """Its input ends when the daemon is killed, and so does it: the pid is free before anything
    else happens."""
    script = (
        "import asyncio, os, sys\n"
        "from agentd.sources.ax.child import Child\n"
        "async def main():\n"
        "    child = await Child.start(os.environ)\n"
        "    async for message in child.messages():\n"
        "        print(child.pid, flush=True)\n"
        "asyncio.run(main())\n"
    )
    environ = own_desktop.environ | {"PYTHONPATH": str(Path(ax.__file__).parents[3])}
    with subprocess.Popen(
        [sys.executable, "-c", script], env=environ, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + 60
    while running(pid):
        assert time.monotonic() < deadline, "the child outlives its parent"
        time.sleep(0.02)


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


async def test_it_stands_back_behind_the_agent_s_programs(own_desktop: Desktop) -> None:
    """A niceness above ours."""
    async with watching(own_desktop):
        assert await asyncio.to_thread(niceness) == [os.nice(0) + 5]


def niceness() -> list[int]:
    """Of the children of this process that listen."""
    listed = subprocess.run(
        ["ps", "--ppid", str(os.getpid()), "-o", "ni=,args="],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [int(line.split()[0]) for line in listed.splitlines() if "-m listener" in line]


def test_the_system_s_python_is_another_one() -> None:
    """The virtual environment's own has no pyatspi, which is why there is a child at all."""
    assert Path(PYTHON).exists()
    with pytest.raises(ImportError):
        __import__("pyatspi")
