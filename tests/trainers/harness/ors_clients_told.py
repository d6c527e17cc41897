"""A tool's output of the standard's clients as JSON."""

from __future__ import annotations

from typing import Any


def told(output: Any) -> dict[str, Any]:
    """Its text, reward, end and metadata."""
    return {
        "text": [block.text for block in output.blocks],
        "reward": output.reward,
        "finished": output.finished,
        "metadata": output.metadata,
    }
