"""Pages on which something has to be found first, and pages that are decided by what they show."""

from __future__ import annotations

import re

from playwright.sync_api import Page

from tests.miniwob.script import (
    SUBMIT,
    Act,
    Script,
    Table,
    click,
    entry,
    fill,
    query,
    quoted,
    said,
)

PAGES: Table = {}


@entry(PAGES, "search-engine")
def search(page: Page) -> Script:
    """A search, then the nth of its results; the miss takes the one beside it."""
    wanted = said(page)[0]
    n = int(re.findall(r"(\d)(?:st|nd|rd|th)", query(page))[0]) - 1
    other = n - 1 if n % 3 else n + 1
    turned = [click(f"#pagination a:text-is('{n // 3 + 1}')")] if n > 2 else []
    found = [fill("#search-text", wanted), click("#search"), *turned]
    right, wrong = (click(f"#page-content a.search-title >> nth={k % 3}") for k in (n, other))
    return Script([*found, right], [*found, wrong])


@entry(PAGES, "phone-book", seed="2")
def phone_book(page: Page) -> Script:
    """The phone, mail or address of a person who stands on a later page; the miss takes the page
    before."""
    name, kind = re.findall(r"Find (.+) in the contact book and click on their (\w+)", query(page))[
        0
    ]
    turn, turns = click("#pagination .next a"), 0
    while page.inner_text("#contact .name") != name:
        turn.perform(page)
        turns += 1
    take = click(f"#contact a.{kind}")
    return Script([*[turn] * turns, take], [*[turn] * (turns - 1), take] if turns else [turn, take])


@entry(PAGES, "guess-number")
def guess(page: Page) -> Script:
    """A number is guessed with the page's help; only its own word tells that it was found."""
    low, high, right = 0, 9, list[Act]()
    while True:
        n = (low + high) // 2
        tried = [fill("#tt", str(n)), SUBMIT]
        right += tried
        for act in tried:
            act.perform(page)
        if page.locator("#correct:visible").count():
            break
        low, high = (low, n - 1) if page.locator("#lower:visible").count() else (n + 1, high)
    return Script(right, [fill("#tt", str((n + 1) % 10)), SUBMIT])


@entry(PAGES, "social-media", seed="2")
def media(page: Page) -> Script:
    """Behind one post's menu: mute or block its author; the miss does it to another."""
    user, action = re.findall(r'For the user (\S+), click on the "(.+)" button', query(page))[0]
    users = page.locator("#area .username").all_inner_texts()
    other = next(name for name in users if name != user)
    kind = ACTIONS[action]

    def act(name: str) -> list[Act]:
        post = f"#area .media:has(.username:text-is({quoted(name)}))"
        if kind in ("reply", "retweet", "like"):
            return [Act("force", f"{post} >> .{kind}")]
        more = f"{post} >> .more"  # under the mouse it is another picture, which has to load first
        return [Act("hover", more), click(more), click(f"{post} >> li.{kind}")]

    return Script(act(user), act(other))


ACTIONS = {
    "Share via DM": "share",
    "Copy link to Tweet": "copy",
    "Embed Tweet": "embed",
    "Mute": "menu-user",
    "Block": "block-user",
    "Report": "report",
    "Reply": "reply",
    "Retweet": "retweet",
    "Like": "like",
}


@entry(PAGES, "choose-date-easy")
def day(page: Page) -> Script:
    """A day of one month in a calendar that script draws; the day beside it misses."""
    wanted = int(re.findall(r"\d+/(\d+)/\d+", query(page))[0])

    def pick(n: int) -> list[Act]:
        return [click("#datepicker"), click(f"#ui-datepicker-div a:text-is('{n}')"), SUBMIT]

    return Script(pick(wanted), pick(wanted % 28 + 1))
