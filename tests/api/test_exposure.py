"""Where others can reach it, a service starts only with TLS and with a token that somebody made."""

from __future__ import annotations

import ipaddress
import json
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.api.processes import ROOT, milestoned
from tests.support.preloaded import run

ALL = ("serve", "--host", "0.0.0.0", "--port", "0", "--data", "d")
FRONT = "--i-have-tls-in-front"


def refused(folder: Path, *arguments: str, said: str) -> None:
    """The start is refused in these words, and nothing listens."""
    answer = milestoned(folder, *arguments)
    assert (answer.returncode, said in answer.stderr) == (2, True), answer.stderr
    assert not (folder / "d" / "service.json").exists()


def test_it_serves_other_machines_only_with_tls(tmp_path: Path) -> None:
    refused(tmp_path, *ALL, said="tokens would travel in clear")
    assert not (tmp_path / "d").exists()


def test_and_only_with_a_token_that_somebody_made(tmp_path: Path) -> None:
    refused(tmp_path, *ALL, FRONT, said="nobody made a token")
    made = milestoned(tmp_path, "token", "create", "trainer", "--data", "d")
    assert made.returncode == 0
    with serving(tmp_path, *ALL, FRONT) as port:
        assert (
            httpx.get(f"http://127.0.0.1:{port}/v1/tasks", headers=bearer(made.stdout)).status_code
            == 200
        )
    milestoned(tmp_path, "token", "revoke", made.stderr.partition(":")[0], "--data", "d")
    refused(tmp_path, *ALL, FRONT, said="nobody made a token")


@pytest.mark.slow
def test_a_token_that_expired_counts_for_nothing(tmp_path: Path) -> None:
    made = milestoned(tmp_path, "token", "create", "trainer", "--expires", "1s", "--data", "d")
    assert made.returncode == 0
    expired = time.time() + 1
    while time.time() <= expired:
        time.sleep(0.02)
    refused(tmp_path, *ALL, FRONT, said="nobody made a token")


@pytest.mark.slow
def test_a_short_token_in_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("x\n")
    refused(
        tmp_path,
        *ALL,
        FRONT,
        "--token-file",
        "token",
        said="--token-file token: shorter than 32 characters",
    )
    (tmp_path / "token").write_text("mt_" + "x" * 32)
    with serving(tmp_path, *ALL, FRONT, "--token-file", "token"):
        pass


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--tls-cert", "there"), "wanted both or none"),
        (("--tls-cert", "there", "--tls-key", "nowhere"), "--tls-key nowhere: no such file"),
    ],
)
def test_half_of_a_certificate_is_refused(
    tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    (tmp_path / "there").touch()
    refused(tmp_path, "serve", "--data", "d", *options, said=said)


def test_a_short_token_of_the_operators_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "api.cli.main", *ALL, FRONT]
    env = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "MILESTONED_ADMIN_TOKEN": "admin"}
    answer = run(command, cwd=tmp_path, env=env)
    assert (answer.returncode, "shorter than 32 characters" in answer.stderr) == (2, True)


def test_it_speaks_tls_itself(tmp_path: Path) -> None:
    milestoned(tmp_path, "token", "create", "read", "--data", "d")
    certificate(tmp_path)
    with serving(tmp_path, *ALL, "--tls-cert", "cert.pem", "--tls-key", "key.pem") as port:
        trusted = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        with httpx.Client(verify=trusted, base_url=f"https://127.0.0.1:{port}") as http:
            assert http.get("/readyz").status_code == 200
        with pytest.raises(httpx.TransportError):
            httpx.get(f"http://127.0.0.1:{port}/readyz")


def test_what_a_command_makes_is_the_services_alone(tmp_path: Path) -> None:
    milestoned(tmp_path, "token", "create", "read", "--data", "d")
    (found,) = (tmp_path / "d").glob("milestoned.db")
    assert stat.S_IMODE(found.stat().st_mode) == 0o600


def bearer(token: str) -> dict[str, str]:
    """The header."""
    return {"authorization": f"Bearer {token.strip()}"}


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[int]:
    """A service that was started by these arguments; its port."""
    told = folder / "d" / "service.json"
    env = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    service = subprocess.Popen(
        [sys.executable, "-m", "api.cli.main", *arguments], cwd=folder, env=env
    )
    try:
        while not told.exists():
            assert service.poll() is None, f"the service ended with {service.returncode}"
            time.sleep(0.02)
        yield int(json.loads(told.read_bytes())["port"])
    finally:
        service.terminate()
        assert service.wait(30) == 0


def certificate(folder: Path) -> None:
    """A certificate for 127.0.0.1 and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "milestoned")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "cert.pem").write_bytes(made.public_bytes(pem))
    plain = (pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(key.private_bytes(*plain))


def test_a_start_that_is_refused_has_imported_no_application(tmp_path: Path) -> None:
    """That takes a second."""
    script = "import sys; from api.cli.main import main; main(sys.argv[1:]); print('api.app' in sys.modules)"
    env = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    for arguments in (ALL, ("serve", "--help")):
        printed = subprocess.run(
            [sys.executable, "-c", script, *arguments],
            cwd=tmp_path, env=env, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        assert printed.endswith("False\n"), arguments
