"""A picture of the screen after every step, for judges, pages and people.

source   takes them in turn, after the seals, and tells of them
x11      a camera for an X display
cdp      a camera for the browser's tab in front
picture  pure: perceptual hash, share of what changed, encoding
store    the files beside the journal
"""

from __future__ import annotations

from functools import partial

from agentd.core.extras import display_for
from agentd.core.plan import EpisodePlan
from agentd.core.settings import DaemonSettings
from agentd.readers.picture_measures import Camera
from agentd.sources.screen.source import ScreenSource


def screen_source(settings: DaemonSettings, plan: EpisodePlan) -> ScreenSource:
    """The source that ``--screen`` asks for; raises `UsageError`."""
    if settings.screen == "cdp":
        camera = partial(_tab, settings)
    else:
        camera = partial(_desktop, display_for("--screen x11"))
    return ScreenSource(
        camera,
        settings.screens,
        settings.screens_max,
        tells=settings.visual,
        regions=tuple(plan.get("regions") or ()),
    )


def _tab(settings: DaemonSettings) -> Camera:
    from agentd.sources.screen.cdp import CdpCamera

    return CdpCamera(settings.cdp, settings.profile)


def _desktop(display: str) -> Camera:
    from agentd.sources.screen.x11 import X11Camera

    return X11Camera(display)


__all__ = ["ScreenSource", "screen_source"]
