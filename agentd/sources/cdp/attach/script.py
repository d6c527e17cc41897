"""The observer script as it is sent to the browser: the bundle with its configuration filled in."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import orjson

from agentd.core.plan import EpisodePlan
from agentd.sources.cdp.attach.page_stamp import is_outdated
from common import secret_names as names
from detectors.model.kinds import reported_kinds
from detectors.model.kinds.page import PAGE

BUNDLE = Path(__file__).parents[1] / "page" / "observer.bundle.js"
VISUAL = BUNDLE.with_name("visual.bundle.js")
DOM_PLACEHOLDER = "__MILESTONED_DOM__"
PLACEHOLDER = '"__MILESTONED_CONFIG__"'
VISUAL_PLACEHOLDER = '"__MILESTONED_VISUAL__"'
MAKE = "python tools/build_page_script.py"


class MissingBundleError(RuntimeError):
    """The page script was not bundled, or its parts have changed since."""


class PageScript(NamedTuple):
    """Names that a page can't guess, new for each attachment. ``salt`` goes before every hashed
    secret.

    ``kinds`` are those that the page reports; ``attributes`` the names for ``attribute.changed``;
    ``elements``: whose state is told, as a task names them; ``around``: a click tells what its
    element stands in; ``around_fields``: so does a field; ``mask`` further names of fields that
    hold secrets;
    ``points``: a click says where it was; ``visual``: it records what the page looks like, too;
    ``selectors``: of these, a click and a field tell which they meet.
    """

    world: str
    binding: str
    salt: str
    kinds: tuple[str, ...]
    attributes: tuple[str, ...] = ()
    around: bool = False
    mask: tuple[str, ...] = ()
    visual: bool = False
    elements: tuple[Mapping[str, object], ...] = ()
    points: bool = False
    around_fields: bool = False
    selectors: tuple[str, ...] = ()

    @classmethod
    def new(cls, plan: EpisodePlan) -> PageScript:
        """Random names; the rest as the episode's plan wants it."""
        kinds = {*reported_kinds(plan), *(("text.appeared",) if plan.get("text") else ())}
        return cls(
            f"w{secrets.token_hex(8)}",
            f"b{secrets.token_hex(8)}",
            secrets.token_hex(16),
            tuple(kind for kind in PAGE if kind in kinds),
            tuple(plan.get("attributes", ())),
            bool(plan.get("around")) or "text.appeared" in kinds,
            tuple(plan.get("mask", ())),
            bool(plan.get("visual")),
            tuple(plan.get("elements", ())),
            bool(plan.get("points")),
            "fields" in plan.get("around", ()),
            tuple(plan.get("selectors", ())),
        )

    def source(self, *, initial: bool) -> str:
        """The script's text; ``initial``: what stands in a document when the script comes is
        baseline."""
        config = {
            "binding": self.binding,
            "salt": self.salt,
            "kinds": self.kinds,
            "attributes": self.attributes,
            "elements": self.elements,
            "around": self.around,
            "aroundFields": self.around_fields,
            "points": self.points,
            "selectors": self.selectors,
            "names": _names(self.mask),
            "initial": initial,
        }
        text = bundle().replace(DOM_PLACEHOLDER, f"{self.binding}_")
        text = text.replace(PLACEHOLDER, orjson.dumps(config).decode(), 1)
        if self.visual:
            slot = orjson.dumps({"slot": f"{self.binding}_observer"}).decode()
            text += "\n" + bundle(VISUAL).replace(VISUAL_PLACEHOLDER, slot, 1)
        return text

    def slot(self) -> str:
        """An expression: the observer of the document (see the end of page/observer.js)."""
        return f'globalThis["{self.binding}_observer"]'

    def flush(self) -> str:
        """An expression: tell what waits. Its value: the kinds of which more is to be told than
        goes at once; false where the script is not there (yet)."""
        slot = self.slot()
        return f"{slot} && {slot}.document === document ? {slot}.flush() : false"

    def take_tree(self, characters: int) -> str:
        """An expression: the document as JSON of a tree of roles and names, of about so many
        characters at most; false where the script is not there (yet)."""
        slot = self.slot()
        return f"{slot} && {slot}.document === document ? {slot}.takeTree({characters}) : false"


def _names(mask: Iterable[str]) -> dict[str, object]:
    """Which fields' names mean a secret, as the page script reads it (page/secrets.js)."""
    return {
        "anywhere": names.ANYWHERE,
        "end": names.AT_THE_END,
        "word": names.WHOLE_WORD,
        "whole": names.WHOLE_NAME,
        "not": names.NOT,
        "more": [parts for name in mask if (parts := names.words(name))],
    }


@functools.cache
def bundle(path: Path | None = None) -> str:
    """Return a bundle's text, the observer's unless told. Raises MissingBundleError with the
    command that makes it."""
    path = path or BUNDLE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingBundleError(
            f"{path} is missing: an installed wheel carries it, in a source tree run `{MAKE}`"
        ) from None
    if is_outdated(text, path.parent):
        raise MissingBundleError(
            f"{path}: expected a bundle of the scripts beside it, got one of older scripts, which"
            f" may report less than rules read: run `{MAKE}`"
        )
    return text
