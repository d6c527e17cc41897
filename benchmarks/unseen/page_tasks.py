"""Tasks for pages that no recording of `benchmarks.scenes` has, each with right ways, near misses and
wrong ones."""

from __future__ import annotations

from benchmarks.scenes.recording import MakePage
from benchmarks.unseen.home_pages import alarm, album, palette, quiz, seating, segments
from benchmarks.unseen.work_pages import (
    expenses,
    lending,
    mail_rules,
    motions,
    roster,
    stocktake,
)

KINDS: tuple[MakePage, ...] = (
    expenses, lending, roster, stocktake, mail_rules, motions, alarm, album, seating, segments, quiz,
    palette,
)  # fmt: skip
