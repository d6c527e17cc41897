"""A new tab's first requests come before anybody listens: each is told once, or it is said that
some were missed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from playwright.async_api import Page

from agentd.sources.cdp.folds.normaliser import Normaliser
from agentd.sources.cdp.state.capture_plan import CapturePlan
from agentd.sources.cdp.state.state import CdpObservation
from tests.cdp.site import Answer, Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium

URL = "https://a.example/pop"
LOADED = {"redirects": 0, "status": 200, "ended": True, "complete": True, "loaded": []}


class Fold:
    """A tab that opened a moment ago for ``expected``; its first document has been committed."""

    def __init__(self, expected: str = URL, url: str = URL, *, opened: bool = True) -> None:
        self.normaliser = Normaliser("bind", "salt", CapturePlan(), live=True)
        self.normaliser.browser.settled = True
        self.told("Target.attachedToTarget", "", sessionId="O", targetInfo=_page("T"))
        self.told("Page.windowOpen", "O", url=expected)
        opener = {"openerId": "T"} if opened else {}
        self.told("Target.attachedToTarget", "", sessionId="S", targetInfo=_page("P") | opener)
        self.url = url

    def stands(self) -> None:
        self.told(
            "Page.getFrameTree", frameTree={"frame": {"id": "P", "loaderId": "L", "url": self.url}}
        )

    def told(self, method: str, session: str = "S", **params: Any) -> list[tuple[str, Any]]:
        seen = self.normaliser.feed(session, method, params)
        wanted = ("request.", "gap.began")
        return [
            (one.kind, one.data.get("part") or _short(one.data))
            for one in seen
            if one.kind.startswith(wanted)
        ]

    def listed(
        self, transition: str = "link", typed: str | None = None, **more: Any
    ) -> list[tuple[str, Any]]:
        entry = {
            "id": 1,
            "url": self.url,
            "userTypedURL": typed or self.url,
            "transitionType": transition,
        }
        listing = LOADED | {"url": self.url} | more
        return self.told(
            "Page.listed", loaderId="L", listing=listing, entries=[entry], currentIndex=0
        )

    def answered(
        self, number: str = "L", kind: str = "Document", url: str = URL
    ) -> list[tuple[str, Any]]:
        base = {"requestId": number, "loaderId": "L", "frameId": "P"}
        response = {"url": url, "status": 200, "headers": {}, "mimeType": "text/html"}
        seen = self.told("Network.responseReceived", type=kind, response=response, **base)
        return seen + self.told("Network.loadingFinished", **base)

    def headers(self, number: str, **headers: str) -> None:
        about: dict[str, Any] = {"requestId": number, "headers": headers, "associatedCookies": []}
        assert (
            self.told(
                "Network.requestWillBeSentExtraInfo", **about, connectTiming={"requestTime": 0}
            )
            == []
        )


def _page(target: str) -> dict[str, Any]:
    return {"targetId": target, "type": "page", "url": "", "title": ""}


def _short(data: dict[str, Any]) -> str:
    path = data["url"].removeprefix("https://a.example")
    return f"{data['method']} {path}{' reconciled' if data.get('backfilled') else ''}"


GET_POP = [("request.sent", "GET /pop"), ("request.finished", "GET /pop reconciled")]
GAP = [("gap.began", "request")]


def test_a_document_that_a_link_led_to_was_fetched_by_get() -> None:
    fold = Fold()
    assert fold.answered() == [], "its history will tell"
    fold.stands()
    assert fold.listed() == GET_POP


def test_a_document_of_which_nothing_was_heard_is_read_from_its_own_list() -> None:
    fold = Fold()
    fold.stands()
    assert fold.listed() == GET_POP
    assert fold.listed() == [], "once"


@pytest.mark.parametrize(
    "more",
    [
        {"transition": "form_submit"},
        {"transition": "reload"},
        {"typed": "https://a.example/out"},
        {"redirects": 1},
        {"status": 0},
    ],
    ids=str,
)
def test_how_a_document_was_asked_for_is_not_guessed(more: dict[str, Any]) -> None:
    fold = Fold()
    fold.stands()
    assert fold.listed(**more) == GAP


def test_the_headers_that_were_sent_say_more_than_the_history() -> None:
    fold = Fold()
    fold.headers("L", Accept="text/html")
    fold.answered()
    fold.stands()
    assert fold.listed("form_submit") == GET_POP, "a form with method=get"
    fold = Fold()
    fold.headers("L", Origin="https://a.example")
    fold.answered()
    fold.stands()
    assert fold.listed("link") == GAP


def test_a_document_that_was_heard_is_not_told_again() -> None:
    fold = Fold()
    request = {"url": URL, "method": "POST", "headers": {}}
    sent = fold.told(
        "Network.requestWillBeSent",
        requestId="L",
        loaderId="L",
        frameId="P",
        type="Document",
        request=request,
    )
    assert sent == [("request.sent", "POST /pop")]
    assert fold.answered() == [("request.finished", "POST /pop")]
    fold.stands()
    assert fold.listed("form_submit") == []


def test_an_end_that_nobody_heard_is_in_the_list() -> None:
    fold = Fold()
    request = {"url": URL, "method": "POST", "headers": {}}
    fold.told(
        "Network.requestWillBeSent",
        requestId="L",
        loaderId="L",
        frameId="P",
        type="Document",
        request=request,
    )
    fold.stands()
    assert fold.listed("form_submit") == [("request.finished", "POST /pop")]


def test_a_document_that_was_left_before_is_missed() -> None:
    fold = Fold(expected="https://a.example/first")
    fold.stands()
    assert fold.listed()[-1] == ("gap.began", "request")
    fold = Fold()
    fold.told(
        "Page.frameStartedNavigating", frameId="P", loaderId="K", url="https://a.example/first"
    )
    fold.told("Page.frameStartedNavigating", frameId="P", loaderId="L", url=URL)
    assert (
        fold.told(
            "Page.getFrameTree", frameTree={"frame": {"id": "P", "loaderId": "L", "url": URL}}
        )
        == GAP
    )


def test_what_is_always_fetched_by_get_is_put_in_at_its_answer() -> None:
    fold = Fold()
    for number, kind in enumerate(("Script", "Stylesheet", "Image", "Font")):
        path = f"https://a.example/{number}"
        assert fold.answered(str(number), kind, path) == [
            ("request.sent", f"GET /{number}"),
            ("request.finished", f"GET /{number} reconciled"),
        ]


def test_a_fetch_is_known_by_its_headers_and_its_body() -> None:
    for origin, body, known in (
        ("", 10, True),
        ("https://a.example", 10, False),
        ("", 0, False),
        (None, 10, False),
    ):
        fold = Fold()
        if origin is not None:
            fold.headers("7", **({"Origin": origin} if origin else {}))
        response = {"url": "https://a.example/api", "status": 200, "headers": {}, "mimeType": ""}
        base = {"requestId": "7", "loaderId": "L", "frameId": "P"}
        assert fold.told("Network.responseReceived", type="Fetch", response=response, **base) == []
        if body:
            fold.told(
                "Network.dataReceived", requestId="7", dataLength=body, encodedDataLength=body
            )
        told = [("request.sent", "GET /api"), ("request.finished", "GET /api reconciled")]
        assert fold.told("Network.loadingFinished", **base) == (told if known else GAP)


def test_the_list_holds_what_was_over_before() -> None:
    loaded = [
        ["https://a.example/heard.js", "script", 200, False],
        ["https://a.example/s.js", "script", 200, False],
        ["https://a.example/s.js", "script", 200, False],
        ["https://a.example/in", "iframe", 200, False],
    ]
    fold = Fold()
    fold.answered("7", "Script", "https://a.example/heard.js")
    fold.stands()
    script = [("request.sent", "GET /s.js"), ("request.finished", "GET /s.js reconciled")]
    assert fold.listed(loaded=loaded) == GET_POP + script + script
    for missed in (["/api", "fetch", 200, False], ["/b", "beacon", 0, False], ["/x", "img", 0, False],
                   ["/r.js", "script", 200, True]):  # fmt: skip
        fold = Fold()
        fold.stands()
        assert fold.listed(loaded=[[f"https://a.example{missed[0]}", *missed[1:]]]) == GET_POP + GAP


@pytest.mark.parametrize(
    ("heard", "loaded", "seen"),
    [
        ([], [], []),
        ([], [["https://a.example/w", "fetch", 0, False]], GAP),
        (["https://a.example/w"], [["https://a.example/w", "fetch", 0, False]], []),
        (["https://a.example/w"], [["https://a.example/w", "fetch", 0, False]] * 2, GAP),
        ([], [["data:text/plain,a", "fetch", 0, False]], []),
    ],
    ids=["nothing", "one before", "one heard", "one of two heard", "none of the network's"],
)
def test_a_document_in_a_page_has_a_list_too(
    heard: list[str], loaded: list[Any], seen: list[tuple[str, Any]]
) -> None:
    """One of a frame's `srcdoc`, in a process of its own, as a sandboxed frame's is."""
    fold = Fold(expected="", url="about:srcdoc")
    fold.stands()
    for number, url in enumerate(heard):
        request = {"url": url, "method": "POST", "headers": {}}
        about = {"requestId": str(number), "loaderId": "L", "frameId": "P", "type": "Fetch"}
        fold.told("Network.requestWillBeSent", request=request, **about)
    assert fold.listed(loaded=loaded) == seen
    assert fold.listed(loaded=loaded) == [], "it is read again, and told once"


def test_a_redirect_is_completed_where_its_first_request_was_a_get() -> None:
    hop = {"url": URL, "method": "GET", "headers": {}}
    answer = {"url": "https://a.example/out", "status": 302, "headers": {"Location": "/pop"}}
    document = {"requestId": "L", "loaderId": "L", "frameId": "P", "type": "Document"}
    about: dict[str, Any] = {**document, "request": hop}
    fold = Fold(expected="https://a.example/out")
    fold.headers("L", Accept="*/*")
    assert [
        kind for kind, _ in fold.told("Network.requestWillBeSent", redirectResponse=answer, **about)
    ] == [
        "request.sent",
        "request.redirected",
        "request.sent",
    ]
    fold = Fold(expected="https://a.example/out")
    assert fold.told("Network.requestWillBeSent", redirectResponse=answer, **about)[-1] == (
        "gap.began",
        "request",
    )


def test_a_tab_that_closes_at_once() -> None:
    fold = Fold()  # for a download: its own address, by GET
    fold.headers("L", Accept="*/*")
    fold.answered()
    fold.told("Page.downloadWillBegin", frameId="P", guid="g", url=URL, suggestedFilename="a")
    [*ends, finished, canceled] = fold.told("Target.detachedFromTarget", "", sessionId="S")
    assert ends == GET_POP
    assert {finished[1], canceled[1]} == {"download.finished", "download.canceled"}
    unheard = [*GAP, ("gap.began", "download")]
    assert Fold().told("Target.detachedFromTarget", "", sessionId="S") == unheard


@pytest.mark.parametrize(
    ("opened", "stands", "seen"),
    [
        pytest.param(
            True,
            False,
            [*GAP, ("gap.began", "download")],
            id="unheard: its opener may have sent a form there, or started a download",
        ),
        pytest.param(True, True, [], id="heard: what it sends is told"),
        pytest.param(False, False, [], id="opened by nobody's script"),
    ],
)
def test_an_empty_tab_that_is_gone(opened: bool, stands: bool, seen: list[Any]) -> None:
    fold = Fold(expected="about:blank", url="about:blank", opened=opened)
    if stands:
        fold.stands()
    assert fold.told("Target.detachedFromTarget", "", sessionId="S") == seen


def test_a_tab_that_is_gone_before_anybody_attached_to_it() -> None:
    fold = Fold()
    fold.told("Target.targetCreated", "", targetInfo=_page("Q"))
    assert fold.told("Target.targetDestroyed", "", targetId="Q") == [
        *GAP,
        ("gap.began", "download"),
    ]


def test_a_tab_that_does_not_answer_may_stand_in_a_dialog() -> None:
    fold = Fold()
    for session in ("O", "S"):  # neither has answered; a gap is told once, and over when both have
        assert gaps(fold.normaliser.fenced()) == (
            [("gap.began", "dialog")] if session == "O" else []
        )
        tree = {
            "frameTree": {
                "frame": {"id": "P" if session == "S" else "T", "loaderId": "L", "url": URL}
            }
        }
        assert gaps(fold.normaliser.feed(session, "Page.javascriptDialogClosed", CLOSED)) == [], (
            "it stands already"
        )
        ended = gaps(fold.normaliser.feed(session, "Page.getFrameTree", tree))
        assert ended == ([] if session == "O" else [("gap.ended", "dialog")])
    momentary = gaps(fold.normaliser.feed("S", "Page.javascriptDialogClosed", CLOSED))
    assert momentary == [("gap.began", "dialog"), ("gap.ended", "dialog")]


def gaps(seen: Iterable[CdpObservation]) -> list[tuple[str, Any]]:
    return [(one.kind, one.data["part"]) for one in seen if one.kind.startswith("gap.")]


CLOSED = {"result": True, "userInput": ""}


def test_of_what_was_there_before_the_daemon_nothing_is_put_in() -> None:
    fold = Fold()
    fold.normaliser.browser.settled = False
    fold.told("Target.attachedToTarget", "", sessionId="B", targetInfo=_page("Q"))
    base = {"requestId": "1", "loaderId": "L", "frameId": "Q"}
    response = {"url": URL, "status": 200, "headers": {}, "mimeType": ""}
    assert (
        fold.told("Network.responseReceived", "B", type="Script", response=response, **base) == []
    )
    assert fold.told("Network.loadingFinished", "B", **base) == []


WAYS = {
    "window.open": "<button onclick=\"window.open('/pop')\">Go</button>",
    "without an opener": "<button onclick=\"window.open('/pop', '', 'noopener')\">Go</button>",
    "a link": "<a href=/pop target=_blank><button>Go</button></a>",
    "a blank one first": (
        "<button onclick=\"w = window.open('about:blank'); w.location = '/pop'\">Go</button>"
    ),
    "a form": "<form target=_blank action=/pop><button>Go</button></form>",
    "a form that posts": "<form target=_blank method=post action=/pop><button>Go</button></form>",
    "a redirect": "<button onclick=\"window.open('/out', '', 'noopener')\">Go</button>",
    "a document that leaves at once": (
        "<button onclick=\"window.open('/quick', '', 'noopener')\">Go</button>"
    ),
    "another site": "<button onclick=\"window.open(OTHER + '/pop', '', 'noopener')\">Go</button>",
    "a download": "<a href=/file target=_blank><button>Go</button></a>",
    "one that is closed": "<button onclick=\"window.open('/pop').close()\">Go</button>",
}


@pytest.mark.browser
@needs_chromium
@pytest.mark.parametrize("way", WAYS)
async def test_every_request_of_a_popup_is_told_once_or_missed_aloud(
    browser: Chromium, page: Page, site: Site, way: str
) -> None:
    script = (("content-type", "text/javascript"),)
    site.page(
        "/pop",
        "<title>pop</title><script src=/s.js></script><img src=/i.png><script>fetch('/f')</script>",
    )
    site.page("/s.js", Answer("fetch('/g', {method: 'POST', body: 'x'})", headers=script))
    site.page("/out", Answer(status=302, headers=(("location", "/pop"),)))
    site.page("/quick", "<script>location.replace('/pop')</script>")
    site.page(
        "/file", Answer("a", headers=(("content-disposition", "attachment; filename=a.bin"),))
    )
    for path in ("/f", "/g"):
        site.page(path, "answer")
    url = site.page("/", f"<title>opener</title><script>OTHER = '{site.other}'</script>{WAYS[way]}")
    async with watching(browser) as watch:
        await page.goto(url)
        await watch.one("page.loaded", url=url)
        await watch.fence()
        before, asked = len(watch.seen), len(site.asked)
        await page.click("button")
        opened = await watch.one("tab.opened")
        gone = way in ("a download", "one that is closed")
        if gone:
            await watch.one("tab.closed", tab=opened["tab"])
        else:
            await watch.until(
                lambda: [
                    one
                    for one in watch.all("page.loaded")
                    if one["url"].endswith(("/pop", "/pop?"))
                ]
            )
            await watch.until(lambda: missed(watch, before) or ended(watch, before)["POST /g"])
            await watch.until(lambda: missed(watch, before) or ended(watch, before)["GET /f"])
        await watch.fence()
        told = ended(watch, before)
        seen = Counter(
            f"{one.method} {one.path}".rstrip("?")
            for one in site.asked[asked:]
            if "favicon" not in one.path
        )
        gap = missed(watch, before)
        for other in page.context.pages[1:]:
            if other is not page and other.url != "about:blank":
                await other.close()
    assert not told - seen - Counter(["GET /pop"] if gone else []), (
        "nothing is told that the site was not asked for"
    )
    assert gap or not seen - told, "a request that is not told is a gap"


def missed(watch: Watch, since: int) -> bool:
    return any(
        kind == "gap.began" and data["part"] == "request" for kind, data in watch.seen[since:]
    )


def ended(watch: Watch, since: int) -> Counter[str]:
    """What was told of requests, by method and path."""
    ends = ("request.finished", "request.failed", "request.redirected")
    found = [
        data for kind, data in watch.seen[since:] if kind in ends and "favicon" not in data["url"]
    ]
    return Counter(
        f"{data['method']} /{data['url'].split('/', 3)[3]}".rstrip("?") for data in found
    )
