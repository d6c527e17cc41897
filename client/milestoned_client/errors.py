"""Everything that the client raises, in one tree, so that a trainer can catch as much of it as it
wants.

ClientError
├── PeerUnreachableError      no answer before the deadline
├── UnexpectedAnswerError     an answer, but not one that the wire's contract knows
├── NotReadyError             not every source of the episode's daemon sees yet
└── ProblemError              the service refused, and said why (RFC 9457 problem details)
    ├── InvalidRequestError   400, 422
    ├── UnauthorizedError     401
    ├── ForbiddenError        403
    ├── NotFoundError         404
    ├── ConflictError         409
    ├── TooLargeError         413
    ├── TooManyRequestsError  429
    └── ServiceFaultError     500 and above
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from milestoned_client.json_values import JsonObject

if TYPE_CHECKING:
    from milestoned_client.async_client import AsyncEpisode
    from milestoned_client.sync_client import Episode

_KNOWN = ("type", "title", "status", "detail", "instance")


class ClientError(Exception):
    """Anything that this client raises."""


class PeerUnreachableError(ClientError):
    """No answer came before the deadline; the call may or may not have arrived."""


class NotReadyError(ClientError):
    """Not every source sees that the daemon was given or that the task needs. ``waiting``: those,
    with the reasons. ``wait_s``: the seconds that were waited; None where the episode is closed.

    ``opened``: the episode, where `open` waited: its daemon's token is not lost.
    """

    def __init__(self, what: str, wait_s: float | None, waiting: Mapping[str, str]) -> None:
        names = ", ".join(f"{name} ({why})" for name, why in sorted(waiting.items()))
        if wait_s is None:
            super().__init__(f"{what} is closed, so no step can begin")
        else:
            awaited = names or "its first answer"
            super().__init__(f"{what} is not ready after {wait_s:g} s: it waits for {awaited}")
        self.waiting = dict(waiting)
        self.opened: AsyncEpisode | Episode | None = None


class UnexpectedAnswerError(ClientError):
    """The peer answered something that the wire's contract does not know."""


class ProblemError(ClientError):
    """The peer refused the call. ``members`` holds what the problem says beyond RFC 9457's own
    fields."""

    def __init__(
        self,
        status: int,
        type_: str,
        title: str,
        detail: str,
        members: JsonObject | None = None,
    ) -> None:
        super().__init__(f"{status} {title}: {detail}" if detail else f"{status} {title}")
        self.status = status
        self.type = type_
        self.title = title
        self.detail = detail
        self.members: JsonObject = dict(members or {})


class InvalidRequestError(ProblemError):
    """The request is malformed, or names something that can't be (400, 422)."""


class UnauthorizedError(ProblemError):
    """There is no token, or the service does not know it (401)."""


class ForbiddenError(ProblemError):
    """The token may not do this (403)."""


class NotFoundError(ProblemError):
    """There is no such task, episode or step (404)."""


class ConflictError(ProblemError):
    """The state of the episode or task does not allow it (409)."""


class TooLargeError(ProblemError):
    """The request is larger than the service takes (413)."""


class TooManyRequestsError(ProblemError):
    """The service asks for fewer requests (429)."""


class ServiceFaultError(ProblemError):
    """The service failed (500 and above)."""


_BY_STATUS: dict[int, type[ProblemError]] = {
    400: InvalidRequestError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    413: TooLargeError,
    422: InvalidRequestError,
    429: TooManyRequestsError,
}


def problem_from_json(problem: JsonObject, status: int) -> ProblemError:
    """The error that a problem document stands for; ``status`` is used where the document names
    none."""
    code = problem.get("status")
    code = code if isinstance(code, int) else status
    kind = _BY_STATUS.get(code, ServiceFaultError if code >= 500 else ProblemError)
    members = {name: value for name, value in problem.items() if name not in _KNOWN}
    return kind(
        code,
        str(problem.get("type", "about:blank")),
        str(problem.get("title", "")),
        str(problem.get("detail", "")),
        members,
    )


def problem_from_body(status: int, reason: str, body: bytes) -> ProblemError:
    """The error of a whole answer, be its body a problem document or a proxy's page of HTML."""
    try:
        problem = json.loads(body)
    except (ValueError, RecursionError):
        problem = None
    if isinstance(problem, dict):
        return problem_from_json({"title": reason, **problem}, status)
    return problem_from_json(
        {"title": reason, "detail": body[:200].decode("utf-8", "replace")}, status
    )
