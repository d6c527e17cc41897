"""A picture looks like another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from detectors.matchers import FactsMatch, ValueMatch
from detectors.matchers.likeness import differing_bits, grays, mirror_picture, ssim
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.file_reads import (
    ReadArgs,
    facts_are,
    facts_of,
    is_cut,
    read_index,
    read_keys,
    tell_verdict,
)
from detectors.sdk.reader_facts import explain_unknown_of_files
from detectors.sdk.registry import rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageLikeArgs(ReadArgs):
    to: str | None = arg("The other picture: its `gray`, as `agentd read FILE` prints it.", None)
    ssim: ValueMatch | None = arg(
        "How alike they must be, as {min: 0.85}, which is what it is by default.", None
    )
    mirrored: bool = arg("Whether it is the other one left for right.", False)
    phash: str | None = arg("The other picture's `phash`, 16 hex digits, instead of `to`.", None)
    bits: int = arg("In how many of the hash's 64 bits it may differ.", 6)
    facts: FactsMatch | None = arg(
        "What else it is, such as {width: 800, mode: P, brightness: {max: 90}}.", None
    )

    def __post_init__(self) -> None:
        ReadArgs.__post_init__(self)
        if (self.to is None) == (self.phash is None):
            raise ValueError("to or phash, one of the two")
        if self.to is not None and grays(self.to) is None:
            raise ValueError(
                "to: base64 of 64 × 64 brightnesses, as `agentd read FILE` prints under gray"
            )
        if self.phash is not None and (
            len(self.phash) != 16 or differing_bits(self.phash, "0") is None
        ):
            raise ValueError("phash: 16 hex digits")
        if not 0 <= self.bits <= 16:
            raise ValueError("bits: 0 to 16 of 64")

    def explain_mismatches(self) -> Iterator[tuple[str, str]]:
        """Yield the argument and what is expected for each fact that no picture has."""
        for expected in explain_unknown_of_files(self.facts, ("image",)):
            yield "facts", expected


@rule(
    version=3,
    component="file",
    hears=("file.read",),
    args=ImageLikeArgs,
    index_args=read_index,
    index_event=read_keys,
)
def image_like(event: Event, world: World, args: ImageLikeArgs) -> Iterator[Reading]:
    """A picture is similar to the task's reference: by structural similarity (SSIM) of 64 × 64
    mean brightnesses, whatever its size, or by perceptual hash; and it has the further facts that
    the rule names.

    The reference is in the task and is never sent to the daemon. Colours alone do not distinguish
    two pictures: add `mean` or `saturation` if they matter.
    """
    facts = facts_of(event, args)
    if facts is None:
        return
    if not _is_like(facts, args):
        return
    yield from tell_verdict(
        event, args.facts is None or facts_are(args.facts, facts, is_cut(event))
    )


def _is_like(facts: Mapping[str, object], args: ImageLikeArgs) -> bool:
    if args.phash is not None:
        bits = differing_bits(facts.get("phash"), args.phash)
        return bits is not None and bits <= args.bits
    found, wanted = grays(facts.get("gray")), grays(args.to)
    if found is None or wanted is None:
        return False
    alike = round(ssim(found, mirror_picture(wanted) if args.mirrored else wanted), 6)
    return args.ssim.matches(alike) if args.ssim is not None else alike >= 0.85
