"""The daemon's errors, one tree, each with the exit code that it ends the process with.

AgentdError (1)
├── UsageError (2)            a wrong option, an unknown episode, a state directory in use
├── TokenRefusedError (3)     the service refuses the token
├── LogRefusedError (4)       the service refuses the log: a fork, a closed episode
│   └── GivenUpError          it ended the episode while this sandbox was out of reach
├── VersionRefusedError (5)   the service does not take a daemon of this version
└── JournalError (1)          the journal can't be read, or belongs to another episode
"""

from __future__ import annotations


class AgentdError(Exception):
    """Something the daemon cannot go on from; ``str(error)`` is what the operator reads."""

    exit_code = 1


class UsageError(AgentdError):
    """The daemon was started with something it cannot work with."""

    exit_code = 2


class TokenRefusedError(AgentdError):
    """The service answered 401 or 403."""

    exit_code = 3


class VersionRefusedError(AgentdError):
    """Daemon and service are of versions that do not go together."""

    exit_code = 5


class LogRefusedError(AgentdError):
    """The service will not take this journal's events; what is journalled stays on disk."""

    exit_code = 4


class GivenUpError(LogRefusedError):
    """The service ended the episode itself."""


class JournalError(AgentdError):
    """The journal on disk is not one, or not this episode's."""
