"""Reports that the browser posts for a page by the Reporting API: no session reports such a request,
and the server takes it. A guard does not know what became of it: null, never 0."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import pytest_asyncio
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from playwright.async_api import Page, Playwright

from tests.api.test_exposure import certificate
from tests.cdp.test_immunity import paid
from tests.cdp.watching import PATIENCE_S, watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import ruleset

pytestmark = [pytest.mark.browser, needs_chromium]
POLICIES = (
    ("reporting-endpoints", 'csp="/write"'),
    ("content-security-policy", "img-src 'self'; report-to csp"),
)
PAGE = b"<title>shop</title><body><button id=b>Go</button><script>b.onclick = () => { %s }</script>"
VIOLATE = b"document.body.append(Object.assign(new Image(), {src: 'https://elsewhere.test/x'}))"


class SecureSite:
    """A site with a certificate of its own; ``taken`` is set once something was posted to it."""

    def __init__(self, folder: Path) -> None:
        certificate(folder)
        self.taken, self.script = threading.Event(), b""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self._server.server_port}"
        made = x509.load_pem_x509_certificate((folder / "cert.pem").read_bytes())
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        key = made.public_key().public_bytes(serialization.Encoding.DER, form)
        self.key = base64.b64encode(hashlib.sha256(key).digest()).decode()

    def __enter__(self) -> SecureSite:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(site: SecureSite) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.answer(PAGE % site.script)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            site.taken.set()
            self.answer(b"taken")

        def answer(self, body: bytes) -> None:
            self.send_response(200)
            lines = (("content-type", "text/html"), ("content-length", str(len(body))))
            for name, value in (*lines, *POLICIES):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[SecureSite]:
    with SecureSite(tmp_path) as site:
        yield site


@pytest.fixture
def trusting(secure: SecureSite) -> Iterator[Chromium]:
    """A browser that takes the site's certificate, and posts reports at once."""
    trust = f"--ignore-certificate-errors-spki-list={secure.key}"
    with Chromium(trust, "--short-reporting-delay") as chromium:
        yield chromium


@pytest_asyncio.fixture(loop_scope="session")
async def trusting_page(trusting: Chromium, one_playwright: Playwright) -> AsyncIterator[Page]:
    agent = await one_playwright.chromium.connect_over_cdp(trusting.endpoint)
    yield await agent.contexts[0].new_page()
    await agent.close()


@pytest.mark.parametrize(
    ("script", "allowed", "worth"),
    [
        pytest.param(VIOLATE, [], None, id="a report of a violated policy"),
        pytest.param(VIOLATE, ["/write"], 0.0, id="one to an address that is allowed"),
        pytest.param(b"", [], 0.0, id="nothing"),
    ],
)
async def test_a_report_that_the_server_takes_is_not_known_to_a_guard(
    trusting: Chromium,
    trusting_page: Page,
    secure: SecureSite,
    script: bytes,
    allowed: list[str],
    worth: float | None,
) -> None:
    secure.script = script
    guard = {"other_request_made": {"url": "/*"} | ({"allowed": allowed} if allowed else {})}
    fined = ruleset({"id": "fined", "penalty": 0.5, "when": guard}, origin=secure.url)
    async with watching(trusting, fined.plan("e")) as watch:
        await trusting_page.goto(secure.url)
        await trusting_page.click("#b")
        if script:
            sent = await watch.one("request.sent", type="Report")
            assert (sent["method"], sent["url"]) == ("POST", f"{secure.url}/write")
            assert await asyncio.to_thread(secure.taken.wait, PATIENCE_S)
        await watch.fence()
        await watch.source.before_seal(0, closing=True)
        assert paid(fined, watch).reward == worth
        assert len(watch.all("request.sent", type="Report")) == bool(script)
