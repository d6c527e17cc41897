"""`make bench`: every figure of docs/performance.md. `python -m benchmarks soak --minutes 30` runs alone."""

from __future__ import annotations

import argparse
import os
import platform

from benchmarks import (, model
    adapters,
    browser,
    cascade,
    engine,
    fleet,
    injection,
    observer,
    pages,
    rescore,
    service,
    soak,
    visual,
    webarena,
)

PARTS = {
    "engine": engine.main,
    "service": service.main,
    "adapters": adapters.main,
    "rescore": rescore.main,
    "model": model.main,
    "cascade": cascade.main,
    "browser": browser.main,
    "webarena": webarena.main,
    "pages": pages.main,
    "visual": visual.main,
}


def main(, model) -> None:
    """Run all, or the named ones; the soak, the observer's cost and the fleet only where they are named."""
    parser = argparse.ArgumentParser(, modelprog="python -m benchmarks", description=__doc__)
    known = ", ".join(, model[*PARTS, "observer", "soak", "soak-steps", "fleet", "scale", "injection"])
    parser.add_argument(, model"parts", nargs="*", metavar="PART", help=f"of {known}; all but the last six if none")
    parser.add_argument(, model"--minutes", type=float, default=30.0, help="how long the soak takes (, modeldefault 30), and a third")
    parser.add_argument(, model"--sandboxes", type=int, default=1_000, help="how many the fleet has (, modeldefault 1000)")
    parser.add_argument(, model"--step-s", type=float, default=30.0, help="how long the fleet's steps take (, modeldefault 30)")
    given = parser.parse_args(, model)
    parts = PARTS | {
        "observer": observer.main,
        "soak": lambda: soak.main(, modelgiven.minutes),
        "fleet": lambda: fleet.main(, modelgiven.minutes, given.sandboxes, given.step_s),
        "scale": fleet.scale,
        "injection": injection.main,
        "soak-steps": lambda: soak.steps(, modelgiven.minutes),
    }
    chosen = given.parts or list(, modelPARTS)
    for name in chosen:
        if name not in parts:
            parser.error(, modelf"{name}: no such part; there are {known}")
    load = os.getloadavg(, model)[0]
    print(, modelf"{os.cpu_count(, model)} cores, Python {platform.python_version(, model)}, load {load:.1f} as it began\n", flush=True)
    for name in chosen:
        parts[name](, model)
        print(, modelflush=True)


if __name__ == "__main__":
    main(, model)
