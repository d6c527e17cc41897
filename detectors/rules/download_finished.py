"""A download came in whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import TextMatch, UrlMatch
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.documents import reading_at
from detectors.sdk.kept_back import judge_told, reading_if_told
from detectors.sdk.registry import rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class DownloadFinishedArgs:
    name: TextMatch | None = arg("The name that the site suggests for the file.", None)
    url: UrlMatch | None = arg("The address that it comes from.", None)
    anywhere: bool = arg(
        "Also on pages of other sites than the task's `origin` and `hosts`, or of no site.",
        False,
    )

    def __post_init__(self) -> None:
        if self.name is None and self.url is None:
            raise ValueError("name or url: without one, every download would count")


@rule(
    version=2,
    component="file",
    hears=("download.finished",),
    args=DownloadFinishedArgs,
    occurrence=True,
    alone=True,
)
def download_finished(event: Event, world: World, args: DownloadFinishedArgs) -> Iterator[Reading]:
    """The browser has downloaded the whole file. Use file_created and file_matches for its
    place and content.

    A file that a page makes itself as a `blob:` is one of that page's site; name it, since its
    address is new each time. One of a `data:` address is no site's, as anybody can type such an
    address in any tab: it counts only with `anywhere`. What a page saves by the File System
    Access API (`showSaveFilePicker`) is no download: the rules about files hear it.
    """
    data = event.data
    is_so = args.name is None or judge_told(args.name, data, "name")
    if is_so is not False:
        reading = Reading(1.0, f"download:{data.get('download')}")
        for there in reading_at(args.url, event, reading):
            yield from reading_if_told(is_so, there, data, "name")
