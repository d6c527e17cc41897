"""Audio and video: what their containers say, by MediaInfo; nothing is decoded."""

from __future__ import annotations

from typing import BinaryIO

from agentd.readers.bounds import DamagedError
from agentd.readers.request import Facts, ReadRequest, without_empty
from detectors.model.optional_values import entries_without_none

_GENERAL = {
    "title": "title",
    "artist": "performer",
    "album": "album",
    "genre": "genre",
    "date": "recorded_date",
}
_VIDEO = {"codec": "format", "width": "width", "height": "height"}
_AUDIO = {
    "codec": "format",
    "channels": "channel_s",
    "rate": "sampling_rate",
    "bitrate": "bit_rate",
}
_SUBTITLES = {"codec": "format", "language": "language"}


def read_media(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{container, duration, bitrate?, title?, artist?, album?, genre?, date?, video:
    [{codec, width, height, fps?, rotation?}], audio: [{codec, channels?, rate?, bitrate?}],
    subtitles: [{codec, language?}]}``; durations in seconds, rates in bits or samples a second."""
    from pymediainfo import MediaInfo

    tracks = MediaInfo.parse(file, parse_speed=0).tracks
    general = next((track for track in tracks if track.track_type == "General"), None)
    if general is None or not general.format or len(tracks) < 2:
        raise DamagedError("no audio or video that is known")
    longest_ms = max((float(track.duration) for track in tracks if track.duration), default=None)
    facts: Facts = {
        "container": general.format,
        "duration": None if longest_ms is None else round(longest_ms / 1000, 3),
        "bitrate": general.overall_bit_rate,
        "video": [
            _track(track, _VIDEO) | _motion(track)
            for track in tracks
            if track.track_type == "Video"
        ],
        "audio": [_track(track, _AUDIO) for track in tracks if track.track_type == "Audio"],
        "subtitles": [_track(track, _SUBTITLES) for track in tracks if track.track_type == "Text"],
    }
    titles = _track(general, _GENERAL)
    facts |= without_empty(titles)
    return entries_without_none(facts)


def _track(track: object, names: dict[str, str]) -> Facts:
    """Return what MediaInfo knows of a track; ``names``: its attribute for each name of ours."""
    facts = {ours: getattr(track, theirs, None) for ours, theirs in names.items()}
    return entries_without_none(facts)


def _motion(track: object) -> Facts:
    """Return the frames a second of a video's track, and how many degrees it is turned."""
    facts = _track(track, {"fps": "frame_rate", "rotation": "rotation"})
    return {name: round(float(value), 3) for name, value in facts.items()}
