"""What an operator can set of the judge, read once from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from api.core.keys import MAX_TOKEN
from api.stages.judge.calibration import JudgeCalibration, load_calibration
from api.stages.peer import PeerSettings
from common.regular_file import read_regular


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Which model judges, and how much it is shown.

    ``price_in`` and ``price_out`` are of a million tokens, in the operator's currency. ``accuracy``
    is what the judge was measured to have on the operator's own audit set (`milestoned cascade
    eval`): the confidence of its verdicts; None: it was not measured, and the confidence is derived
    (confidence.py). ``calibration``: what `milestoned cascade calibrate` found its support to be
    worth. ``evidence_chars`` and ``text_chars`` bound the evidence and one text in it.
    ``mark`` stands in place of every space of untrusted text (spotlighting, arXiv 2403.14720),
    empty: it does not. ``pictures`` is a folder of screenshots as the daemon keeps them; None: the
    judge sees text alone. ``tools``: it may ask for more, ``turns`` times at most.
    """

    peer: PeerSettings
    model: str
    price_in: float = 0.0
    price_out: float = 0.0
    accuracy: float | None = None
    calibration: JudgeCalibration | None = None
    temperature: float = 0.0
    seed: int = 7
    max_tokens: int = 600
    evidence_chars: int = 24_000
    text_chars: int = 400
    mark: str = "ˆ"
    pictures: Path | None = None
    tools: bool = False
    turns: int = 6

    @property
    def parameters(self) -> dict[str, object]:
        """Return the settings that the answer depends on, beside the model."""
        calibrated = {}
        if self.calibration is not None:
            calibrated = {"calibration": self.calibration.digest}
        return {
            **calibrated,
            "temperature": self.temperature,
            "seed": self.seed,
            "max_tokens": self.max_tokens,
            "mark": self.mark,
            "pictures": self.pictures is not None,
            "turns": self.turns if self.tools else 0,
        }

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """Return what so many tokens cost, in the operator's currency."""
        return (tokens_in * self.price_in + tokens_out * self.price_out) / 1e6


def judge_settings(env: Mapping[str, str] = os.environ) -> JudgeSettings | None:
    """Read MILESTONED_JUDGE_URL, _MODEL, _KEY or _KEY_FILE, and the optional others of
    docs/judge.md; None without _URL.

    Raises ValueError, which names the variable, its value and what was expected.
    """
    url = env.get("MILESTONED_JUDGE_URL", "")
    if not url:
        return None
    model = env.get("MILESTONED_JUDGE_MODEL", "")
    if not model:
        raise ValueError(
            "MILESTONED_JUDGE_MODEL: not set, wanted the model's name at MILESTONED_JUDGE_URL"
        )
    pictures = env.get("MILESTONED_JUDGE_PICTURES", "")
    if pictures and not Path(pictures).is_dir():
        raise ValueError(f"MILESTONED_JUDGE_PICTURES: {pictures!r} is no folder")
    return JudgeSettings(
        peer=peer_settings("MILESTONED_JUDGE", url, env),
        model=model,
        price_in=number(env, "MILESTONED_JUDGE_PRICE_IN", 0.0),
        price_out=number(env, "MILESTONED_JUDGE_PRICE_OUT", 0.0),
        accuracy=_accuracy(env),
        calibration=_calibration(env),
        evidence_chars=int(number(env, "MILESTONED_JUDGE_EVIDENCE_CHARS", 24_000, least=1_000)),
        pictures=Path(pictures) if pictures else None,
        tools=env.get("MILESTONED_JUDGE_TOOLS", "") == "1",
    )


def _accuracy(env: Mapping[str, str]) -> float | None:
    """The accuracy that was measured; None where none is set."""
    name = "MILESTONED_JUDGE_ACCURACY"
    return number(env, name, 0.0, most=1.0) if env.get(name) else None


def _calibration(env: Mapping[str, str]) -> JudgeCalibration | None:
    """The calibration in the file that is named; None where none is."""
    file = env.get("MILESTONED_JUDGE_CALIBRATION", "")
    if not file:
        return None
    if env.get("MILESTONED_JUDGE_ACCURACY"):
        raise ValueError(
            "MILESTONED_JUDGE_CALIBRATION and MILESTONED_JUDGE_ACCURACY: both are set, expected one"
        )
    try:
        return load_calibration(Path(file))
    except ValueError as error:
        raise ValueError(f"MILESTONED_JUDGE_CALIBRATION: {error}") from None


def peer_settings(prefix: str, url: str, env: Mapping[str, str]) -> PeerSettings:
    """Read the settings of the endpoint at ``url``; its key comes from PREFIX_KEY, or from the file
    that PREFIX_KEY_FILE names."""
    if not url.startswith(("http://", "https://")):
        raise ValueError(
            f"{prefix}_URL: {url!r}, wanted an address that begins with http:// or https://"
        )
    key, file = env.get(f"{prefix}_KEY", ""), env.get(f"{prefix}_KEY_FILE", "")
    if key and file:
        raise ValueError(f"{prefix}_KEY and {prefix}_KEY_FILE: both are set, wanted one")
    if file:
        try:
            key = read_regular(Path(file), MAX_TOKEN).decode().strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise ValueError(f"{prefix}_KEY_FILE: {file!r} can't be read: {why}") from None
    return PeerSettings(
        url=url,
        key=key,
        timeout_s=number(env, f"{prefix}_TIMEOUT_S", 20.0, least=0.1),
        retries=int(number(env, f"{prefix}_RETRIES", 2, most=10)),
    )


def number(
    env: Mapping[str, str],
    name: str,
    default: float,
    *,
    least: float = 0.0,
    most: float = float("inf"),
) -> float:
    """Return the variable ``name`` as a number within bounds, or ``default`` where it is not set.
    Raises ValueError."""
    text = env.get(name, "")
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value <= most:
        raise ValueError(f"{name}: {text!r}, wanted a number from {least:g} to {most:g}")
    return value
