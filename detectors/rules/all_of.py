"""Several conditions, all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from detectors.arguments import arg
from detectors.registry import Standing, composite


@dataclass(frozen=True, slots=True)
class Args:
    holding: bool = arg("Whether all must be true at the same time; else each need only have been true once.", False)


@composite(args=Args)
def all_of(children: Sequence[Standing], own: Standing, child: int, seq: int, args: Args) -> float:
    """Every condition in `of` has been true, in any order; the level is that of the least fulfilled one."""
    return min(c.now if args.holding else c.best for c in children)
