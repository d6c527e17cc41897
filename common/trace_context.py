"""The header `traceparent` of W3C Trace Context, Level 1 and 2: read, and passed on.

https://www.w3.org/TR/trace-context/"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextvars import ContextVar
from typing import NamedTuple, Self

HEADER = "traceparent"
PASSED_ON: ContextVar[str | None] = ContextVar("traceparent", default=None)
"""What calls to others have in this header: in the service, the trace of the episode that they are
made for."""
_FIELDS = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.DOTALL)
_NO_TRACE, _NO_SPAN, _NO_VERSION = "0" * 32, "0" * 16, "ff"
_SAMPLED = 1


class TraceParent(NamedTuple):
    """The caller's trace and span: 32 and 16 lower-case hexadecimal digits, none all zeros."""

    trace_id: str
    span_id: str
    is_sampled: bool

    @classmethod
    def parse(cls, header: str) -> Self | None:
        """Return what the header names, or None where it is malformed: the specification asks to
        ignore it then. Of a later version the fields of version 00 are read."""
        match = _FIELDS.fullmatch(header)
        if match is None:
            return None
        version, trace_id, span_id, flags, more = match.groups()
        if version == _NO_VERSION or (version == "00" and more is not None):
            return None
        if trace_id == _NO_TRACE or span_id == _NO_SPAN:
            return None
        return cls(trace_id, span_id, bool(int(flags, 16) & _SAMPLED))

    @classmethod
    def of_headers(cls, values: Sequence[str]) -> Self | None:
        """Return what a request's headers of this name say; None where there is not exactly one."""
        return cls.parse(values[0].strip()) if len(values) == 1 else None

    def header(self) -> str:
        """Return it as a header of version 00."""
        return f"00-{self.trace_id}-{self.span_id}-{int(self.is_sampled):02x}"


def passed_on() -> dict[str, str]:
    """Return the header for a call to others: none where no trace is passed on."""
    traceparent = PASSED_ON.get()
    return {} if traceparent is None else {HEADER: traceparent}
