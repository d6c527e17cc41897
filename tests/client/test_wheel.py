"""The client is a small distribution of its own: its wheel holds one typed package and asks for
httpx only."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

CLIENT = Path(__file__).parents[2] / "client"


def test_the_wheel_is_typed_and_needs_httpx_alone(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=CLIENT,
        check=True,
    )
    (built,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(built) as wheel:
        names = wheel.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        said = Parser().parsestr(wheel.read(metadata).decode())
    tops = {name.split("/", 1)[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"milestoned_client"}
    assert "milestoned_client/py.typed" in names
    assert any(name.endswith("LICENSE") for name in names)
    assert said.get_all("Requires-Dist") == ["httpx>=0.28"]
    assert said["License-Expression"] == "Apache-2.0"
