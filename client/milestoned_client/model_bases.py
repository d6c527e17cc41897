"""What some models have beside the fields of the wire: the generated classes inherit it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from milestoned_client.json_values import Json


class NotedBase:
    """What a `Noted` says beside its fields."""

    __slots__ = ()
    step: int | None
    seq: int | None

    @property
    def queued(self) -> bool:
        """True while the daemon has not yet written it into the journal."""
        return self.seq is None


class SettledBase:
    """What a `Reward` says beside its fields."""

    __slots__ = ()
    status: str

    @property
    def settled(self) -> bool:
        """True once the reward is final: it will never change again."""
        return self.status not in ("settling", "escalating")


@dataclass(frozen=True, slots=True)
class RewardBase(SettledBase):
    """What a `Reward` has beside its fields on the wire."""

    body: bytes = field(default=b"", repr=False, compare=False, kw_only=True)
    """The bytes that the service sent; empty where the reward came among others."""


@dataclass(frozen=True, slots=True)
class SampleBase:
    """What a `Sample` does beside holding its fields."""

    def document(self) -> dict[str, Json]:
        """Return the sample as the JSON document that is sent."""
        values = {member.name: getattr(self, member.name) for member in fields(self)}
        return {name: value for name, value in values.items() if value is not None}
