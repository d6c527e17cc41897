"""The same databases as the service's own tests have."""

from tests.api.conftest import postgres, store

__all__ = ["postgres", "store"]
