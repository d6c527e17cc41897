"""The settings of all adapters, in one place: keyword arguments first, then the environment.

MILESTONED_URL       where the service is; a password in it is the token (http://any:TOKEN@host)
MILESTONED_TOKEN     a token of scope trainer; read is enough where nothing is opened or stepped
MILESTONED_FOLD      how step rewards become one number: sum (default), last, discounted, known
MILESTONED_GAMMA     the discount of `discounted`, 0 to 1 (default 1)
MILESTONED_MIN_KNOWN the share of known steps below which `known` knows no reward, 0 to 1
                     (default 0.5)
MILESTONED_FALLBACK  what is paid where nothing can be known; unset: the trainer's own way to leave
                     a sample out, or an error
MILESTONED_RESAMPLE  how many more times a rollout is generated whose reward is not known, 0 to 100
                     (default 0), where the trainer has no way to leave one out and there is no
                     fall-back: OpenRLHF's agent, SkyRL's generator
MILESTONED_MASK_CAUSES causes for which a failed rollout is not known, with commas between them, as
                     site_refused,captcha,start_state (default: none)
MILESTONED_WAIT_S    seconds to wait for a reward that is still settling (default 10)
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import SupportsFloat, TypedDict, Unpack, cast, get_args
from urllib.parse import unquote, urlsplit, urlunsplit

from milestoned_client.models import Fold, MaskCause

NAMES = (
    *("url", "token", "fold", "gamma", "fallback", "wait_s", "min_known", "resample"),
    "mask_causes",
)
MAX_RESAMPLE = 100


class GivenSettings(TypedDict, total=False):
    """Settings as keyword arguments; a number may be a text, as it is in the environment."""

    url: str | None
    token: str | None
    fold: Fold | None
    gamma: float | str | None
    fallback: float | str | None
    wait_s: float | str | None
    min_known: float | str | None
    resample: int | str | None
    mask_causes: str | Sequence[str] | None


class Folding(TypedDict):
    """How step rewards become one number."""

    fold: Fold
    gamma: float
    min_known: float
    mask_causes: tuple[MaskCause, ...]


@dataclass(frozen=True, slots=True)
class AdapterSettings:
    """Where the service is, and how its rewards become what a trainer takes. ``fallback`` None:
    there is none."""

    url: str
    token: str = field(repr=False)
    fold: Fold = "sum"
    gamma: float = 1.0
    fallback: float | None = None
    wait_s: float = 10.0
    min_known: float = 0.5
    resample: int = 0
    mask_causes: tuple[MaskCause, ...] = ()

    def folding(self) -> Folding:
        """What says how step rewards are folded, as keyword arguments of a client's `score`."""
        return {
            "fold": self.fold,
            "gamma": self.gamma,
            "min_known": self.min_known,
            "mask_causes": self.mask_causes,
        }


def settings(**given: Unpack[GivenSettings]) -> AdapterSettings:
    """The settings out of ``given`` and, for what is None or missing there, the environment.

    Raises `ValueError` naming what is missing or wrong, `TypeError` for a name that there is not.
    """
    keywords: Mapping[str, object] = given
    for name in keywords:
        if name not in NAMES:
            raise TypeError(f"{name}: there is no such setting; wanted {', '.join(NAMES)}")

    values = {name: _read_setting(name, keywords.get(name)) for name in NAMES}
    url, password = _address(str(values["url"] or ""))
    token = str(values["token"] or password)
    if not token:
        raise ValueError(
            "token: got none; wanted MILESTONED_TOKEN, token=, or a password in the address"
        )
    fold = _fold(values["fold"])
    fallback = None if values["fallback"] is None else _number("fallback", values["fallback"])
    wait_s = _number("wait_s", values["wait_s"], default=10.0)
    gamma = _share("gamma", values["gamma"], default=1.0)
    min_known = _share("min_known", values["min_known"], default=0.5)
    if wait_s < 0:
        raise ValueError(f"wait_s: got {wait_s}; wanted seconds, 0 or more")
    resample = _resample(values["resample"])
    masked = _mask_causes(values["mask_causes"])
    return AdapterSettings(url, token, fold, gamma, fallback, wait_s, min_known, resample, masked)


def _mask_causes(value: object) -> tuple[MaskCause, ...]:
    """The causes that are named, in a text with commas between them or one by one."""
    given = str(value or "").split(",") if value is None or isinstance(value, str) else value
    names = [str(name).strip() for name in given] if isinstance(given, Iterable) else [str(given)]
    for name in filter(None, names):
        if name not in get_args(MaskCause):
            known = ", ".join(get_args(MaskCause))
            raise ValueError(f"mask_causes: got {name!r:.40}; wanted some of {known}")
    return tuple(cast(MaskCause, name) for name in names if name)


def _fold(value: object) -> Fold:
    fold = value or "sum"
    if fold not in get_args(Fold):
        raise ValueError(f"fold: got {fold!r}; wanted one of {', '.join(get_args(Fold))}")
    return cast(Fold, fold)


def _resample(value: object) -> int:
    resample = _number("resample", value, default=0.0)
    if not (resample.is_integer() and 0 <= resample <= MAX_RESAMPLE):
        raise ValueError(
            f"resample: got {resample:g}; wanted a whole number from 0 to {MAX_RESAMPLE}"
        )
    return int(resample)


def _read_setting(name: str, given: object) -> object:
    """What was given or, for None, what the environment says; None where that is empty too."""
    if given is not None:
        return given
    return os.environ.get(f"MILESTONED_{name.upper()}") or None


def _address(url: str) -> tuple[str, str]:
    """The address without its user, and the password that was in it."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(
            f"url: got {parts.scheme + ':…' if parts.scheme else 'none'}; wanted MILESTONED_URL or"
            " url="
        )
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", "")), unquote(
        parts.password or ""
    )


def _share(name: str, value: object, *, default: float) -> float:
    number = _number(name, value, default=default)
    if not 0 <= number <= 1:
        raise ValueError(f"{name}: got {number}; wanted 0 to 1")
    return number


def _number(name: str, value: object, *, default: float = math.nan) -> float:
    """A finite number; for None the default."""
    if value is None:
        return default
    number = math.nan
    if isinstance(value, str | SupportsFloat):
        with contextlib.suppress(TypeError, ValueError):
            number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name}: got {str(value)[:40]!r}; wanted a finite number")
    return number
