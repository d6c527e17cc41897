"""A picture of the screen after every step, for judges, pages and people.

source   takes them in turn, after the seals, and tells of them
x11      a camera for an X display
cdp      a camera for the browser's tab in front
picture  pure: perceptual hash, share of what changed, encoding
store    the files beside the journal
text_reader  what is written in a region, by OCR
"""

from __future__ import annotations

from functools import partial

from agentd.core.extras import display_for, require_extra
from agentd.core.patience import Patience
from agentd.core.plan import EpisodePlan
from agentd.core.settings import DaemonSettings
from agentd.masking import Masker
from agentd.readers.picture_measures import Camera
from agentd.sources.screen.source import RegionReader, ScreenSource, TextRegions


def screen_source(settings: DaemonSettings, plan: EpisodePlan) -> ScreenSource:
    """The source that ``--screen`` asks for; raises `UsageError`."""
    if settings.screen == "cdp":
        camera = partial(_tab, settings)
    else:
        camera = partial(_desktop, display_for("--screen x11"), settings.patience)
    return ScreenSource(
        camera,
        settings.screens,
        settings.screens_max,
        tells=settings.visual,
        regions=tuple(plan.get("regions", ())),
        texts=text_regions(plan),
        patience=settings.patience,
    )


def text_regions(plan: EpisodePlan) -> TextRegions:
    """The regions whose text an episode's rules ask for, and what reads it."""

    def make() -> RegionReader:
        """Return a reader of texts; the library is loaded with the first picture."""
        require_extra("a task with screen_text", "ocr", "onnxruntime", "rapidocr")
        from agentd.sources.screen.text_reader import TextReader

        return TextReader(Masker(plan.get("mask", ())))

    asked = plan.get("text_regions", ())
    return TextRegions(frozenset(tuple(region) for region in asked), make)


def _tab(settings: DaemonSettings) -> Camera:
    from agentd.sources.screen.cdp import CdpCamera

    return CdpCamera(settings.cdp, settings.profile, settings.patience)


def _desktop(display: str, patience: Patience) -> Camera:
    from agentd.sources.screen.x11 import X11Camera

    return X11Camera(display, patience)


__all__ = ["ScreenSource", "screen_source", "text_regions"]
