"""A data folder whose secret is not the one that its database was first started with: the service
says so and does not start. One wrong bit in the file was another key, silently."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from api.auth.secret_owner import adopt_secret, claim_secret
from api.core.keys import KeyFileError, load_keys
from api.core.settings import Settings
from api.episodes.tokens import add_append_tokens
from tests.api.processes import Process
from tests.api.service import TASK, Service, events, frames
from tests.support.logs import clicked, episode
from tests.test_damaged_files import milestoned

OTHER = "another secret of the same length, or nearly so"


def test_a_secret_with_one_wrong_bit_does_not_start(tmp_path: Path) -> None:
    service = Process(tmp_path)
    service.start()
    service.stop()
    secret = tmp_path / "secret"
    right = secret.read_bytes()
    secret.write_bytes(bytes([right[0] ^ 1]) + right[1:])
    refused = milestoned("serve", "--port", "0", "--data", str(tmp_path))
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    assert refused.stderr.startswith(f"{secret}: got the secret with the fingerprint ")
    assert "put the one of a backup there, or `milestoned db adopt-secret`" in refused.stderr
    assert right.decode().strip() not in refused.stderr
    secret.write_bytes(right)
    service.start()
    service.stop()


def test_a_folder_that_lost_its_secret_goes_on_once_that_is_said(tmp_path: Path) -> None:
    service = Process(tmp_path)
    service.start()
    held = milestoned("db", "adopt-secret", "--data", str(tmp_path))
    assert (held.returncode, "a service works here" in held.stderr) == (2, True)
    service.stop()
    (tmp_path / "secret").unlink()
    assert milestoned("serve", "--port", "0", "--data", str(tmp_path)).returncode == 2
    adopted = milestoned("db", "adopt-secret", "--data", str(tmp_path))
    assert adopted.returncode == 0, adopted.stderr
    assert "0 open episodes have a token of it" in adopted.stdout
    service.start()
    service.stop()


async def test_the_first_secret_is_the_databases(service: Service) -> None:
    parts = service.app.state.parts
    await claim_secret(parts.database, parts.settings)
    await claim_secret(parts.database, parts.settings)
    with pytest.raises(KeyFileError, match=r"^MILESTONED_SECRET: got .* expected the one with "):
        await claim_secret(parts.database, other(parts.settings))
    from_file = replace(parts.settings, secret=None)
    with pytest.raises(KeyFileError, match=rf"^{parts.settings.data / 'secret'}: got the secret"):
        await claim_secret(parts.database, from_file)


async def test_an_open_episode_takes_the_tokens_of_both_secrets(service: Service) -> None:
    """A daemon that works goes on, and one that asks for the episode now can too."""
    parts = service.app.state.parts
    id, token = await service.open(TASK)
    closed, of_closed = await service.open(TASK)
    await service.tell(closed, of_closed, *episode([clicked("Go")]))
    await adopt_secret(parts.database, other(parts.settings))
    keys = load_keys(other(parts.settings))
    assert [await add_append_tokens(parts.database, keys) for _ in range(2)] == [1, 0]
    await claim_secret(parts.database, other(parts.settings))
    first, second = frames(events(id, *episode([clicked("Go")])), [2])
    assert (await service.append(id, first, token)).status_code == 200
    assert (await service.append(id, second, keys.append_token(id))).status_code == 200
    assert (await service.reward(id, 0)).json()["status"] == "sealed"


async def test_another_admin_token_is_a_warning(service: Service) -> None:
    parts = service.app.state.parts
    with capture_logs() as lines:
        await parts.tokens.ensure_admin("mt_first", "kept in a file")
        assert lines == []
        await parts.tokens.ensure_admin("mt_second", "kept in a file")
    assert [(line["log_level"], line["of"]) for line in lines] == [("warning", "kept in a file")]


def other(settings: Settings) -> Settings:
    return replace(settings, secret=OTHER)
