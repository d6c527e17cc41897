"""Federated sign-in (FedCM): the browser itself sends what a page asks of an identity provider. It
reports these requests as the page's, so that a guard is paid for what the server took."""

from __future__ import annotations

import threading

import orjson
import pytest
from playwright.async_api import CDPSession, Page

from tests.cdp.site import Answer, Asked, Handler, Site
from tests.cdp.test_immunity import paid
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import ruleset

pytestmark = [pytest.mark.browser, needs_chromium]
LOGGED_IN = (("content-type", "text/html"), ("set-login", "logged-in"))
SCRIPT = """
const asked = {configURL: 'SITE/config.json', clientId: 'c'};
const signIn = () => navigator.credentials.get(
    {identity: {providers: [{...asked, params: {nonce: 'n'}, nonce: 'n'}]}});
const signOut = () => IdentityCredential.disconnect({...asked, accountHint: '1'});
"""
WAYS = {
    "sign-in": ("signIn()", ["POST /assert"]),
    "sign-out": (
        "signIn().then(signOut)",
        ["POST /assert", "POST /disconnect"],
    ),
    "sign-in, and the page is left before the answer": (
        "signIn(), fetch('/is-asked').then(() => { location = '/next' })",
        ["POST /assert"],
    ),
}


class Provider:
    """An identity provider on the page's own site; ``taken``: what was posted to it."""

    def __init__(self, site: Site) -> None:
        self.taken: list[str] = []
        self.asked, self.go = threading.Event(), threading.Event()
        self._site = site
        url = site.url
        places = {
            "/.well-known/web-identity": {"provider_urls": [f"{url}/config.json"]},
            "/config.json": {
                "accounts_endpoint": f"{url}/accounts",
                "id_assertion_endpoint": f"{url}/assert",
                "disconnect_endpoint": f"{url}/disconnect",
                "login_url": f"{url}/login",
            },
            "/accounts": {
                "accounts": [
                    {"id": "1", "name": "Ada", "email": "a@x.test", "approved_clients": ["c"]}
                ]
            },
            "/assert": {"token": "t"},
            "/disconnect": {"account_id": "1"},
        }
        for path, said in places.items():
            site.page(path, self._saying(said))
        site.page("/is-asked", self._wait)
        site.page("/next", self._leave)

    def _saying(self, said: object) -> Handler:
        headers = (
            ("content-type", "application/json"),
            ("access-control-allow-origin", self._site.url),
            ("access-control-allow-credentials", "true"),
        )

        def answer(asked: Asked) -> Answer:
            if asked.method == "POST":
                self.taken.append(f"{asked.method} {asked.path}")
                self.asked.set()
            return Answer(orjson.dumps(said), headers=headers)

        return answer

    def _wait(self, _: Asked) -> Answer:
        self.asked.wait(20)
        return Answer("asked")

    def _leave(self, _: Asked) -> Answer:
        return Answer("<title>done</title>")


async def choose_accounts(page: Page) -> CDPSession:
    """Let the first account be chosen wherever the browser asks, as its user would."""
    session = await page.context.new_cdp_session(page)
    await session.send("FedCm.enable", {"disableRejectionDelay": True})

    async def choose(dialog: dict[str, str]) -> None:
        if dialog["dialogType"] == "AccountChooser":
            chosen = {"dialogId": dialog["dialogId"], "accountIndex": 0}
            await session.send("FedCm.selectAccount", chosen)

    session.on("FedCm.dialogShown", choose)
    return session


@pytest.mark.parametrize(("how", "posted"), WAYS.values(), ids=WAYS)
async def test_what_the_browser_posts_for_a_page_is_fined(
    browser: Chromium, page: Page, site: Site, how: str, posted: list[str]
) -> None:
    provider = Provider(site)
    done = f"const done = () => {{ document.title = 'done' }}; {SCRIPT.replace('SITE', site.url)}"
    press = f"b.onclick = async () => {{ await ({how}); done() }}"
    button = f"<title>shop</title><body><button id=b>Go</button><script>{done}{press}</script>"
    url = site.page("/", Answer(button, headers=LOGGED_IN))
    guard = {"other_request_made": {"url": "/*"}}
    fined = ruleset({"id": "fined", "penalty": 0.5, "when": guard}, origin=site.url)
    await choose_accounts(page)
    async with watching(browser, fined.plan("e")) as watch:
        await page.goto(url)
        await page.click("#b")
        await page.wait_for_function("document.title === 'done'")
        await watch.fence()
        await watch.source.before_seal(0, closing=True)
        reward = paid(fined, watch)
    assert provider.taken == posted
    assert reward.reward == -0.5 or ("/next" in how and reward.reward is None)
