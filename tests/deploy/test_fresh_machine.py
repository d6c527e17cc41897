"""`make demo` and `make test` where nothing is but Python, make and git: as root they install what
they need, else they name it."""

from __future__ import annotations

import pytest

from tests.deploy.root import Debian, needs_root

NOTHING_ELSE = (
    "apt-get update -qq && apt-get install -y -qq --no-install-recommends python3 make git"
    " >/dev/null"
)
AS_SOMEBODY = (
    "useradd -m somebody && chown -R somebody /src && cd /src && setpriv --reuid somebody"
    " --clear-groups make"
)


@pytest.mark.slow
@needs_root
def test_the_demo_runs_on_a_fresh_machine_and_twice(debian: Debian) -> None:
    script = f"set -e; {NOTHING_ELSE}\n{AS_SOMEBODY} demo && exit 9\n"
    refused = debian.run(script, timeout_s=600)
    assert refused.returncode == 2, refused.stdout[-2_000:]
    assert "sudo apt-get install python3-venv" in refused.stdout
    for _ in range(2):
        done = debian.run("cd /src && make demo", timeout_s=1_200)
        assert done.returncode == 0, done.stdout[-4_000:]
        assert "goal reached" in done.stdout
        assert "the same bytes" in done.stdout


@pytest.mark.slow
@needs_root
def test_the_tests_run_on_a_fresh_machine(debian: Debian) -> None:
    """All are collected, and one or more of each thing that they need is run: a browser, a desktop,
    Postgres, a training."""
    some = "test_clicks or test_listener or test_labels or test_trees"
    script = f"set -e; {NOTHING_ELSE}\ncd /src && git init -q && git add -A\n"
    done = debian.run(f"{script}make test ARGS=\"-k '{some}'\"", timeout_s=2_400)
    assert done.returncode == 0, done.stdout[-4_000:]
    assert "is missing" not in done.stdout, "nothing is left out for want of a program"
