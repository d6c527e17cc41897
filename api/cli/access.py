"""How a command reaches a service: its address, and a token of its data folder or of a file."""

from __future__ import annotations

import sys

from api.cli.common import service_address
from api.core.keys import MAX_TOKEN, admin_token_file
from api.core.settings import Settings
from common.regular_file import read_regular_text


def find_access(settings: Settings, service: str | None) -> tuple[str, dict[str, str]] | None:
    """Return the address of the service (``service`` if it is given) and the header that proves who
    asks.

    None where a file that says so cannot be read; which one and why is printed.
    """
    try:
        address = service or service_address(settings)
        token = (
            settings.admin_token or read_regular_text(admin_token_file(settings), MAX_TOKEN).strip()
        )
    except OSError as error:
        print(
            f"{error.filename}: {error.strerror}; is `milestoned serve` running with this --data?",
            file=sys.stderr,
        )
        return None
    return address, {"authorization": f"Bearer {token}"}
