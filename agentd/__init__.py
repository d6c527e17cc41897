"""The daemon beside a sandbox: listens, numbers, keeps and ships. Never imports api."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentd.inprocess.attaching import attach

__all__ = ["attach"]


def __getattr__(name: str) -> object:
    # Made when it is asked for: `import agentd` stays light.
    if name == "attach":
        from agentd.inprocess.attaching import attach as made

        return made
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
