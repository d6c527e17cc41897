"""Reads every trajectory of a folder with others' unmodified models: `atif`, or Harbor's own
validator. `python -m tests.trainers.harness.atif_files atif|harbor FOLDER`"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def read_with_atif(path: Path) -> str | None:
    """What `atif` has against a file; None where nothing."""
    from atif import Trajectory
    from pydantic import ValidationError

    try:
        Trajectory.model_validate_json(path.read_bytes())
    except ValidationError as error:
        return str(error)
    return None


def read_with_harbor(path: Path) -> str | None:
    """The same of Harbor's validator, which `harbor` runs over every agent's trajectory."""
    from harbor.utils.trajectory_validator import TrajectoryValidator

    validator = TrajectoryValidator()
    return None if validator.validate(path) else "; ".join(validator.errors)


def main(package: str, folder: str) -> None:
    """Print what each file is refused for, by the file's name."""
    read = read_with_atif if package == "atif" else read_with_harbor
    found = {path.name: read(path) for path in sorted(Path(folder).glob("*.json"))}
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
