"""Tables of yes and of no for how a region of the screen looks."""

from __future__ import annotations

import base64
from typing import Any

from tests.support.logs import Said, clicked

REGION = [10, 20, 64, 64]


def grid(*bright: int, step: int = 8) -> str:
    """Base64 of a board of two brightnesses, its fields ``step`` cells wide."""
    cells = [bright[(x // step + y // step) % 2] for y in range(64) for x in range(64)]
    return base64.b64encode(bytes(cells)).decode()


BOARD, FAINT, OTHER = grid(0, 255), grid(8, 240), grid(0, 255, step=4)


def captured(gray: str, phash: str = "00000000000000ff", region: Any = REGION, **more: Any) -> Said:
    data = {"sha256": "0", "width": 800, "height": 600, "phash": "0", "backend": "x11"}
    measured = {"region": region, "gray": gray, "phash": phash}
    return (
        "screen.captured",
        {**data, "format": "webp", "bytes": 1, "regions": [measured], **more},
    )


LIKE = {"region": REGION, "to": BOARD}
HASH = {"region": REGION, "phash": "00000000000000ff"}
GRADE = {"grade": {"tiers": [{"at_least": 0.99, "pays": 1}, {"at_least": 0.5, "pays": 0.5}]}}

YES: dict[str, list[tuple[Any, list[Said], float]]] = {
    "screen_like": [
        (LIKE, [captured(BOARD)], 1),
        (LIKE, [captured(FAINT)], 1),
        ({**LIKE, **GRADE}, [captured(BOARD)], 1),
        ({**LIKE, "grade": {"linear": {"from": 0, "to": 1}}}, [captured(BOARD)], 1),
        (HASH, [captured(OTHER)], 1),
        (HASH, [captured(OTHER, phash="000000000000003f")], 1),
        (LIKE, [captured(OTHER), captured(BOARD)], 1),
    ]
}
NO: dict[str, list[tuple[Any, list[Said]]]] = {
    "screen_like": [
        (LIKE, [captured(OTHER)]),
        (LIKE, [captured(BOARD, baseline=True)]),
        ({**LIKE, **GRADE}, [captured(OTHER)]),
        ({**HASH, "bits": 1}, [captured(BOARD, phash="000000000000003f")]),
        (LIKE, [clicked("Go")]),
    ]
}
