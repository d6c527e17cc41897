"""Reports that the browser posts for a page by the Reporting API: no session reports such a request,
and the server takes it. A guard does not know what became of it: null, never 0."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from playwright.async_api import Page, Playwright

from tests.api.test_exposure import certificate
from tests.cdp.site import Answer, Asked, Site
from tests.cdp.test_immunity import paid
from tests.cdp.watching import PATIENCE_S, watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import ruleset

pytestmark = [pytest.mark.browser, needs_chromium]
POLICIES = (
    ("content-type", "text/html"),
    ("reporting-endpoints", 'csp="/write"'),
    ("content-security-policy", "img-src 'self'; report-to csp"),
)
PAGE = "<title>shop</title><body><button id=b>Go</button><script>b.onclick = () => { %s }</script>"
VIOLATE = "document.body.append(Object.assign(new Image(), {src: 'https://elsewhere.test/x'}))"


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[Site]:
    """A site with a certificate of its own: reports are posted over TLS alone."""
    certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with Site(context) as site:
        yield site


@pytest.fixture
def trusting(tmp_path: Path, secure: Site) -> Iterator[Chromium]:
    """A browser that takes the site's certificate, and posts reports at once."""
    made = x509.load_pem_x509_certificate((tmp_path / "cert.pem").read_bytes())
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    key = made.public_key().public_bytes(serialization.Encoding.DER, form)
    known = base64.b64encode(hashlib.sha256(key).digest()).decode()
    trust = f"--ignore-certificate-errors-spki-list={known}"
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
        pytest.param("", [], 0.0, id="nothing"),
    ],
)
async def test_a_report_that_the_server_takes_is_not_known_to_a_guard(
    trusting: Chromium,
    trusting_page: Page,
    secure: Site,
    script: str,
    allowed: list[str],
    worth: float | None,
) -> None:
    taken = threading.Event()

    def take(_asked: Asked) -> Answer:
        taken.set()
        return Answer("taken")

    secure.page("/write", take)
    shop = secure.page("/", Answer(PAGE % script, headers=POLICIES))
    guard = {"other_request_made": {"url": "/*"} | ({"allowed": allowed} if allowed else {})}
    fined = ruleset({"id": "fined", "penalty": 0.5, "when": guard}, origin=secure.url)
    async with watching(trusting, fined.plan("e")) as watch:
        await trusting_page.goto(shop)
        await trusting_page.click("#b")
        if script:
            sent = await watch.one("request.sent", type="Report")
            assert (sent["method"], sent["url"]) == ("POST", f"{secure.url}/write")
            assert await asyncio.to_thread(taken.wait, PATIENCE_S)
        await watch.fence()
        await watch.source.before_seal(0, closing=True)
        assert paid(fined, watch).reward == worth
        assert len(watch.all("request.sent", type="Report")) == bool(script)
