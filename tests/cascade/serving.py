"""A service with the tests' judge, as a process: `python -m tests.cascade.serving PORTFILE DATA
JUDGE SETTINGS`."""

from __future__ import annotations

import sys
from pathlib import Path

import orjson

from api.app import create_app
from api.core.settings import Settings, StageSettings
from detectors.task.language import Budget
from tests.api.service import ADMIN, SECRET
from tests.cascade.listening import listen
from tests.cascade.stage import stages

if __name__ == "__main__":
    told = orjson.loads(sys.argv[4])
    settings = Settings(
        Path(sys.argv[2]),
        told.get("database", ""),
        secret=SECRET,
        admin_token=ADMIN,
        stages=StageSettings(
            at_once=told.get("at_once", 8),
            lease_s=told.get("lease_s", 30.0),
            budgets={scope: Budget(**limit) for scope, limit in told.get("budgets", {}).items()},
        ),
    )
    listen(create_app(settings, stages(sys.argv[3], "judge")), Path(sys.argv[1]))
