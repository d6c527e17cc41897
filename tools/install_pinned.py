"""Installs lists of pinned requirements, hashes checked, into a virtual environment.

Usage: ``python tools/install_pinned.py DIRECTORY LIST...``

uv does it, in a seventh of pip's processor time: of `make test`'s set-up that is two minutes. It
is installed beside the Python that runs this file, from requirements/uv.txt, and looks where pip's
own settings say: indexes, folders, certificates. Where it cannot be had, or fails, pip installs the
same lists.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

UV_LIST = Path(__file__).parent.parent / "requirements" / "uv.txt"
PIP = ("-m", "pip", "--disable-pip-version-check")
PIP_INSTALL = (
    *PIP, "install", "--progress-bar", "off", "--quiet", "--no-deps", "--no-compile",
    "--require-hashes",
)  # fmt: skip
# The hashes decide what is installed, so no index needs to go before another.
UV_INSTALL = (
    "-m", "uv", "pip", "install", "--no-deps", "--require-hashes",
    "--index-strategy", "unsafe-best-match",
)  # fmt: skip
# uv's variable of each of pip's settings, and what stands between two values in it.
VARIABLES = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "no-index": ("UV_NO_INDEX", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "proxy": ("ALL_PROXY", " "),
    "default-timeout": ("UV_HTTP_TIMEOUT", " "),
    "timeout": ("UV_HTTP_TIMEOUT", " "),
}


def read_pip_settings(listing: str) -> dict[str, str]:
    """The settings in the output of ``pip config list``, by name without its section. Those of the
    environment have precedence over those of files."""
    settings: dict[str, str] = {}
    of_environment: dict[str, str] = {}
    for line in listing.splitlines():
        key, equals, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if equals and section in (":env:", "global", "install"):
            into = of_environment if section == ":env:" else settings
            into[name] = str(ast.literal_eval(value))
    return settings | of_environment


def to_uv_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """uv's variables that say what these settings of pip say; other settings have none."""
    return {
        variable: separator.join(settings[name].split())
        for name, (variable, separator) in VARIABLES.items()
        if name in settings
    }


def install_with_uv(directory: Path, lists: list[str]) -> bool:
    """Install ``lists`` into ``directory`` with uv. False where uv cannot be had or fails."""
    own = subprocess.run([sys.executable, *PIP_INSTALL, "-r", str(UV_LIST)])
    listing = subprocess.run([sys.executable, *PIP, "config", "list"], capture_output=True)
    if own.returncode or listing.returncode:
        return False
    found = to_uv_variables(read_pip_settings(listing.stdout.decode()))
    # What the user set for uv has precedence over what is read from pip's settings.
    environment = {**found, **os.environ}
    options = ["--python", str(directory / "bin" / "python")]
    if not sys.stdout.isatty():
        options.append("--quiet")
    for path in lists:
        options += ["-r", path]
    return not subprocess.run([sys.executable, *UV_INSTALL, *options], env=environment).returncode


def install(directory: Path, lists: list[str]) -> int:
    """Install ``lists`` into the environment in ``directory``; the exit status."""
    if install_with_uv(directory, lists):
        return 0
    print("uv could not install these lists; pip does it, which takes some minutes", flush=True)
    options = [option for path in lists for option in ("-r", path)]
    return subprocess.run([str(directory / "bin" / "python"), *PIP_INSTALL, *options]).returncode


if __name__ == "__main__":
    sys.exit(install(Path(sys.argv[1]), sys.argv[2:]))
