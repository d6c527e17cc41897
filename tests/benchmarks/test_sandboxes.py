"""The fleet's sandboxes have sources that do nothing, and whatever a daemon asks of sources."""

from __future__ import annotations

from agentd.session.step_controller import Sources
from benchmarks.fleet.sandboxes import Nothing


def test_they_do_all_that_a_step_asks_of_sources() -> None:
    asked = {name for name in vars(Sources) if not name.startswith("_")}
    asked |= {name for name in Sources.__annotations__ if not name.startswith("_")}
    assert asked
    assert {name for name in asked if not hasattr(Nothing, name)} == set()
