"""`make bench`: every figure of docs/performance.md."""

from __future__ import annotations

import argparse
import os
import platform

from benchmarks import browser, engine, service

PARTS = {"engine": engine.main, "service": service.main, "browser": browser.main}


def main() -> None:
    """Run all, or the named ones."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all if none")
    chosen = parser.parse_args().parts or list(PARTS)
    for name in chosen:
        if name not in PARTS:
            parser.error(f"{name}: no such part; there are {', '.join(PARTS)}")
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, load {load:.1f} as it began\n", flush=True)
    for name in chosen:
        PARTS[name]()
        print(flush=True)


if __name__ == "__main__":
    main()
