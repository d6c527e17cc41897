"""Tables of yes and of no for how a region of the screen looks, and for what it shows."""

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


def showing(text: str | None, picture: dict[str, Any] | None = None, **more: Any) -> Said:
    """A picture whose region was read; None: it was measured alone."""
    kind, data = captured(BOARD, **(picture or {}))
    read = {} if text is None else {"text": text}
    return kind, {**data, "regions": [{**data["regions"][0], **read, **more}]}


LIKE = {"region": REGION, "to": BOARD}
HASH = {"region": REGION, "phash": "00000000000000ff"}
TEXT = {"region": REGION}
SAVED = {**TEXT, "text": "Changes saved"}
TOTAL = {**TEXT, "text": {"contains": "Total: 12.50"}}
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
    ],
    "screen_text": [
        (SAVED, [showing("Changes saved")], 1),
        (SAVED, [showing("Changes\nsaved")], 1),
        (TOTAL, [showing("Lamp\nTotal: 12.50\nPay")], 1),
        (TOTAL, [showing("Total: 12.50 and m", cut=True)], 1),
        (
            {**TEXT, "text": {"fuzzy": "Changes saved", "threshold": 0.9}},
            [showing("Changes saued")],
            1,
        ),
        ({**TEXT, "text": {"number": 12.5}}, [showing("12.50")], 1),
        ({**TEXT, "text": ""}, [showing("")], 1),
        (SAVED, [showing("Saving"), showing("Changes saved")], 1),
    ],
}
NO: dict[str, list[tuple[Any, list[Said]]]] = {
    "screen_like": [
        (LIKE, [captured(OTHER)]),
        (LIKE, [captured(BOARD, baseline=True)]),
        ({**LIKE, **GRADE}, [captured(OTHER)]),
        ({**HASH, "bits": 1}, [captured(BOARD, phash="000000000000003f")]),
        (LIKE, [clicked("Go")]),
    ],
    "screen_text": [
        (SAVED, [showing("Changes lost")]),
        (SAVED, [showing("")]),
        (SAVED, [showing("changes saved")]),
        (SAVED, [showing("Saved")]),
        (TOTAL, [showing("Total: 12,50")]),
        (SAVED, [showing("Changes saved", picture={"baseline": True})]),
        (SAVED, [clicked("Changes saved")]),
    ],
}
