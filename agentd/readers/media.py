"""Audio and video: what their containers say, by MediaInfo; nothing is decoded."""

from __future__ import annotations

from typing import Any, BinaryIO

from agentd.readers.bounds import DamagedError

_GENERAL = {
    "title": "title",
    "performer": "artist",
    "album": "album",
    "genre": "genre",
    "recorded_date": "date",
}


def read_media(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{container, duration, bitrate?, title?, artist?, album?, genre?, date?, video: [{codec,
    width, height, fps?, rotation?}], audio: [{codec, channels?, rate?, bitrate?}], subtitles:
    [{codec, language?}]}``; durations in seconds, rates in bits or samples a second."""
    from pymediainfo import MediaInfo

    tracks = MediaInfo.parse(file, parse_speed=0).tracks
    general = next((one for one in tracks if one.track_type == "General"), None)
    if general is None or not general.format or len(tracks) < 2:
        raise DamagedError("no audio or video that is known")
    longest = max((float(one.duration) for one in tracks if one.duration), default=None)
    facts: dict[str, Any] = {
        "container": general.format,
        "duration": None if longest is None else round(longest / 1000, 3),
        "bitrate": general.overall_bit_rate,
        "video": [_track(one, codec="format", width="width", height="height") | _motion(one) for one in tracks
                  if one.track_type == "Video"],
        "audio": [_track(one, codec="format", channels="channel_s", rate="sampling_rate", bitrate="bit_rate")
                  for one in tracks if one.track_type == "Audio"],
        "subtitles": [_track(one, codec="format", language="language") for one in tracks if one.track_type == "Text"],
    }  # fmt: skip
    facts |= {
        ours: getattr(general, theirs)
        for theirs, ours in _GENERAL.items()
        if getattr(general, theirs, None)
    }
    return {name: value for name, value in facts.items() if value is not None}


def _track(one: Any, **names: str) -> dict[str, Any]:
    found = {ours: getattr(one, theirs, None) for ours, theirs in names.items()}
    return {name: value for name, value in found.items() if value is not None}


def _motion(one: Any) -> dict[str, Any]:
    found = {"fps": one.frame_rate, "rotation": one.rotation}
    return {name: round(float(value), 3) for name, value in found.items() if value is not None}
