"""The parts of `python -m benchmarks`: which there are, and which run unless they are named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from benchmarks.report import PartReport

Measure = Callable[[PartReport], None]
"""Takes the measurements of a part and reports them."""


class Options(NamedTuple):
    """What the command line says of the parts whose length is chosen."""

    minutes: float
    sandboxes: int
    step_s: float


class Part(NamedTuple):
    """Where a part is: ``module`` below benchmarks, ``function`` in it. ``is_default``: whether it
    runs where no part is named; ``is_quick``: whether it has a short form, too."""

    module: str
    function: str = "main"
    is_default: bool = True
    is_quick: bool = True


PARTS: dict[str, Part] = {
    "engine": Part("engine"),
    "service": Part("service"),
    "adapters": Part("adapters"),
    "rescore": Part("rescore"),
    "mcp": Part("mcp_gateway"),
    "model": Part("model"),
    "cascade": Part("cascade"),
    "browser": Part("browser"),
    "observer": Part("observer"),
    "webarena": Part("webarena"),
    "pages": Part("pages"),
    "live": Part("live"),
    "lists": Part("lists"),
    "observations": Part("observations"),
    "export": Part("exporting"),
    "visual": Part("visual"),
    "memory": Part("memory"),
    "fleet-100": Part("fleet"),
    "fleet-1000": Part("fleet", is_quick=False),
    "fleet": Part("fleet", is_default=False),
    "scale": Part("fleet", "scale", is_default=False),
    "soak": Part("soak", is_default=False),
    "soak-steps": Part("soak", "steps", is_default=False),
    "injection": Part("injection", is_default=False),
}
"""In the order in which they run. The short form has no part whose length is what is measured."""


def choose_parts(names: list[str], *, is_quick: bool) -> list[str]:
    """Return the parts to run: those that are named, or all that run by default."""
    if names:
        return names
    return [
        name for name, part in PARTS.items() if part.is_default and (part.is_quick or not is_quick)
    ]


def load_parts(names: list[str], options: Options) -> Mapping[str, Measure]:
    """Return what measures each of these parts. It is imported when it is called, so that a part
    whose libraries are missing fails alone."""
    return {name: _loader(name, options) for name in names}


def _loader(name: str, options: Options) -> Measure:
    part = PARTS[name]

    def measure(report: PartReport) -> None:
        function = getattr(import_module(f"benchmarks.{part.module}"), part.function)
        function(report, *_arguments(name, options, report))

    return measure


def _arguments(name: str, options: Options, report: PartReport) -> tuple[Any, ...]:
    """Return what a part is given beside its report: of fleets minutes, sandboxes and seconds of a
    step. The short form has the rate of a hundred sandboxes in fewer that are quicker."""
    given: dict[str, tuple[Any, ...]] = {
        "fleet": (options.minutes, options.sandboxes, options.step_s),
        "fleet-100": report.choose((1.0, 100, 5.0), (0.1, 40, 2.0)),
        "fleet-1000": (5.0, 1_000, 60.0),
        "soak": (options.minutes,),
        "soak-steps": (options.minutes,),
    }
    return given.get(name, ())
