"""Everything that the service refuses, as one tree; each becomes an RFC 9457 problem document.

    ProblemError
    ├── ProposerCrashError 500
    ├── BadRequestError 400
    ├── UnauthorizedError 401    ForbiddenError 403    NotFoundError 404
    ├── MethodError 405    GoneError 410
    ├── ConflictError 409
    │   ├── GapInLogError  ForkedLogError  OtherEpisodeError  EpisodeClosedError  WrongStepError
    │   ├── TaskExistsError  RulesetChangedError
    │   ├── ForeignKeyError
    │   └── SandboxTakenError  SandboxLostError  VersionSkewError
    ├── TooLargeError 413
    ├── InvalidError 422
    │   └── MalformedSegmentError  KeyReusedError
    ├── TooManyError 429
    └── UnavailableError 503
        └── StartingError

The class docstring is the title. ``detail`` names the field, the value and what was wanted;
``more`` are extension members (``through``, ``wanted``, ``errors``).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import orjson


class ProblemError(Exception):
    """The request could not be served."""

    status: ClassVar[int] = 500
    slug: ClassVar[str] = "internal"
    headers: Mapping[str, str] = MappingProxyType({})

    def __init__(self, detail: str, **more: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.more = more

    @property
    def title(self) -> str:
        """The kind of problem, in a line."""
        return (type(self).__doc__ or "").strip().splitlines()[0].rstrip(".")

    def document(self) -> dict[str, Any]:
        """The RFC 9457 problem document, extension members included."""
        head = {
            "type": f"urn:milestoned:problem:{self.slug}",
            "title": self.title,
            "status": self.status,
        }
        return {**head, "detail": self.detail, **self.more}

    def body(self) -> bytes:
        """Encode the problem document as JSON bytes."""
        return orjson.dumps(self.document(), default=str)


class ProposerCrashError(ProblemError):
    """The process that proposes a task ended without an answer."""

    slug = "proposer-crashed"


class BadRequestError(ProblemError):
    """The request contradicts itself or what it names."""

    status, slug = 400, "bad-request"


class UnauthorizedError(ProblemError):
    """A valid bearer token is needed."""

    status, slug = 401, "unauthorized"
    headers = MappingProxyType({"www-authenticate": "Bearer"})


class ForbiddenError(ProblemError):
    """The token's scope does not allow this."""

    status, slug = 403, "forbidden"


class NotFoundError(ProblemError):
    """There is no such thing."""

    status, slug = 404, "not-found"


class GoneError(ProblemError):
    """It was deleted; a signed statement of it is left."""

    status, slug = 410, "gone"


class MethodError(ProblemError):
    """The path exists, but not for this method."""

    status, slug = 405, "method-not-allowed"


class ConflictError(ProblemError):
    """The request contradicts what is already so."""

    status, slug = 409, "conflict"


class GapInLogError(ConflictError):
    """The segment leaves a gap."""

    slug = "gap"


class ForkedLogError(ConflictError):
    """The segment does not continue the episode's chain."""

    slug = "fork"


class OtherEpisodeError(ConflictError):
    """The segment belongs to another episode."""

    slug = "other-episode"


class EpisodeClosedError(ConflictError):
    """The episode is closed."""

    slug = "closed"


class WrongStepError(ConflictError):
    """That is not the step that can follow."""

    slug = "wrong-step"


class TaskExistsError(ConflictError):
    """That version of the task is registered with other content."""

    slug = "task-exists"


class RulesetChangedError(ConflictError):
    """The episode was opened under rules that this build no longer has."""

    slug = "ruleset-changed"


class ForeignKeyError(ConflictError):
    """The database is signed with another key than this service has."""

    slug = "foreign-key"


class SandboxTakenError(ConflictError):
    """Another daemon has a sandbox of that name."""

    slug = "sandbox-taken"


class SandboxLostError(ConflictError):
    """The episode was ended without its sandbox."""

    slug = "sandbox-lost"


class VersionSkewError(ConflictError):
    """This service and that daemon do not understand each other."""

    slug = "version-skew"


class TooLargeError(ProblemError):
    """The request is larger than the wire allows."""

    status, slug = 413, "too-large"


class InvalidError(ProblemError):
    """The request is not what was wanted."""

    status, slug = 422, "invalid"


class MalformedSegmentError(InvalidError):
    """The body is not one zstd frame that holds a segment."""

    slug = "malformed-segment"


class UnknownFrameDictionaryError(MalformedSegmentError):
    """The frame is compressed with a dictionary that this service has not."""

    slug = "unknown-dictionary"


class CostlySegmentError(InvalidError):
    """Detection of this segment ended the process that did it, twice."""

    slug = "costly-segment"


class KeyReusedError(InvalidError):
    """The Idempotency-Key was used for another request."""

    slug = "key-reused"


class TooManyError(ProblemError):
    """Too much of this at once; the same again later is welcome."""

    status, slug = 429, "too-many"

    def __init__(self, detail: str, retry_s: int, **more: Any) -> None:
        super().__init__(detail, **more)
        self.headers = {"retry-after": str(retry_s)}


class UnavailableError(ProblemError):
    """The store, or an endpoint that this needs, can't be used now; nothing was written."""

    status, slug = 503, "unavailable"
    headers = MappingProxyType({"retry-after": "1"})


class StartingError(UnavailableError):
    """The environment is still starting."""

    slug = "starting"
    headers = MappingProxyType({"retry-after": "2", "x-backend-state": "starting"})
