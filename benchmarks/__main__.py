"""`make bench`: every figure of docs/performance.md. `python -m benchmarks soak --minutes 30` runs
alone."""

from __future__ import annotations

import argparse
import os
import platform

from benchmarks import (
    adapters,
    browser,
    cascade,
    engine,
    exporting,
    fleet,
    injection,
    lists,
    live,
    mcp_gateway,
    model,
    observations,
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
    "mcp": mcp_gateway.main,
    "model": model.main,
    "cascade": cascade.main,
    "browser": browser.main,
    "webarena": webarena.main,
    "pages": pages.main,
    "live": live.main,
    "lists": lists.main,
    "observations": observations.main,
    "export": exporting.main,
    "visual": visual.main,
}


def main() -> None:
    """Run all, or the named ones; the soak, the observer's cost and the fleet only where they are
    named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    known = ", ".join([*PARTS, "observer", "soak", "soak-steps", "fleet", "scale", "injection"])
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"of {known}; all but the last six if none"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=30.0,
        help="how long the soak takes (default 30), and a third",
    )
    parser.add_argument(
        "--sandboxes", type=int, default=1_000, help="how many the fleet has (default 1000)"
    )
    parser.add_argument(
        "--step-s", type=float, default=30.0, help="how long the fleet's steps take (default 30)"
    )
    given = parser.parse_args()
    parts = PARTS | {
        "observer": observer.main,
        "soak": lambda: soak.main(given.minutes),
        "fleet": lambda: fleet.main(given.minutes, given.sandboxes, given.step_s),
        "scale": fleet.scale,
        "injection": injection.main,
        "soak-steps": lambda: soak.steps(given.minutes),
    }
    chosen = given.parts or list(PARTS)
    for name in chosen:
        if name not in parts:
            parser.error(f"{name}: no such part; there are {known}")
    load = os.getloadavg()[0]
    print(
        f"{os.cpu_count()} cores, Python {platform.python_version()}, load {load:.1f} as it"
        " began\n",
        flush=True,
    )
    for name in chosen:
        parts[name]()
        print(flush=True)


if __name__ == "__main__":
    main()
