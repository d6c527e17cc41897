"""docs/deploy.md's first part, word by word, on a Debian that has nothing: the commands are read
from the page."""

from __future__ import annotations

import re
import time

import pytest

from tests.deploy.root import ROOT, Debian, needs_root

TEN_MINUTES = 600.0


def commands() -> list[str]:
    """The blocks of the page's first part, in order."""
    page = (ROOT / "docs" / "deploy.md").read_text()
    part = page.partition("\n## One machine with Postgres\n")[2].partition("\n## ")[0]
    return re.findall(r"^```\n(.*?)^```$", part, re.S | re.M)


@pytest.mark.slow
@needs_root
def test_a_newcomer_gets_there_in_ten_minutes(debian: Debian) -> None:
    blocks = commands()
    assert len(blocks) == 5
    began = time.monotonic()
    # A person reads and types; what they would wait for before the next block is that the services
    # listen.
    listens = (
        "for port in 8420 8421; do until echo >/dev/tcp/127.0.0.1/$port; do sleep 0.2; done"
        " 2>/dev/null; done\n"
    )
    blocks[1] += listens
    # what the page says of it, in the shell that it leaves behind
    verified = "milestoned audit verify 2>&1\n"
    done = debian.run("set -e; cd /src\n" + "\n".join(blocks) + "\n" + verified, timeout_s=1_200)
    took = time.monotonic() - began
    assert done.returncode == 0, done.stdout[-4_000:]
    assert "\n0.3\nclosed\n" in done.stdout, done.stdout[-2_000:]
    (recomputed,) = (line for line in done.stdout.splitlines() if " recomputed under key " in line)
    assert recomputed.startswith("1 episodes,"), recomputed
    assert recomputed.endswith(": no differences"), recomputed
    assert "'name': 'sandbox-1'" in done.stdout
    print(f"docs/deploy.md, followed by a script: {took:.0f} s")
    assert took < TEN_MINUTES
