"""A harness's words to its test, a line of JSON each."""

from __future__ import annotations

import json
import os
from typing import Any

URL = os.environ.get("MILESTONED_URL", "")
TOKEN = os.environ.get("MILESTONED_TOKEN", "")
ADDRESS = URL.replace("://", f"://any:{TOKEN}@")
"""The address with the token in it, for trainers that take nothing but an address."""


STRANGER = os.environ.get("MILESTONED_STRANGER", "")
"""A token of another tenant."""


def say(**words: Any) -> None:
    """Tell the test. `result` is what it gets; `episode` and `token` ask it for a daemon."""
    print(json.dumps(words), flush=True)


def watched(episode: Any) -> None:
    """A `watch` hook: the test runs the daemon."""
    say(episode=episode.id, token=episode.token)
