"""A fleet on one machine: many sandboxes' real journals against two replicas on Postgres, and the
cost of more."""

from benchmarks.fleet.main import main
from benchmarks.fleet.scale import main as scale

__all__ = ["main", "scale"]
