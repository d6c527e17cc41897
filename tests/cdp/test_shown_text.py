"""An element's text is the browser's own `innerText`, also where it was read without a layout."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

SHOWN = {
    "a text": "<p>two\n  words </p>",
    "no text": "<p></p>",
    "spaces that no line breaks at": "<p>a&nbsp; b</p>",
    "a soft hyphen": "<p>hy&shy;phen</p>",
    "right to left": "<p dir=rtl>שלום abc</p>",
    "a control's": "<button> Buy now</button>",
    "capitals by style": "<p style='text-transform: uppercase'>straße</p>",
    "capitals by the element around": (
        "<div style='text-transform: capitalize'><p>two words</p></div>"
    ),
    "as it was typed": "<pre>a\n  b</pre>",
    "lines as they were typed": "<p style='white-space: pre-line'>a  b\nc</p>",
    "not to be seen": "<p style='visibility: hidden'>gone</p>",
    "shown in what is not to be seen": (
        "<div style='visibility: hidden'><p style='visibility: visible'>here</p></div>"
    ),
    "collapsed": "<p style='visibility: collapse'>gone</p>",
    "not rendered": "<p style='display: none'>gone</p>",
    "in what is not rendered": "<div hidden><p>gone</p></div>",
    "in a closed part": "<details><summary>More</summary><p>gone</p></details>",
    "in what is not painted": "<div style='content-visibility: hidden'><p>gone</p></div>",
    "in place of a canvas": "<canvas><p>gone</p></canvas>",
    "of a canvas": "<canvas>gone</canvas>",
    "of a bar": "<progress>gone</progress>",
    "of a film": "<video>gone</video>",
    "with parts": "<p>a<b>b</b><br>c</p>",
    "of a drawing": "<svg><text y=20>drawn</text></svg>",
    "around an open root": (
        "<x-a>slot<template shadowrootmode=open>own <slot></slot></template></x-a>"
    ),
    "outside of an open root's slots": (
        "<div>gone<template shadowrootmode=open>own</template></div>"
    ),
    "outside of a closed root's slots": (
        "<x-a>gone<template shadowrootmode=closed>own</template></x-a>"
    ),
    "of a form that calls a control so": "<form><input name=innerText>Form</form>",
}


@pytest.mark.parametrize("name", SHOWN)
async def test_the_text_of_what_is_clicked(
    browser: Chromium, page: Page, site: Site, name: str
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.page("/", SHOWN[name]))
        shown = await page.evaluate("""[...document.body.querySelectorAll('*')].map((one) => {
            one.dispatchEvent(new MouseEvent('click'));
            return typeof one.innerText === 'string' ? one.innerText : one.textContent;
        })""")
        await watch.fence()
        told = [click["element"].get("text", "") for click in watch.all("element.clicked")]
    folded = [re.sub(r"\s+", " ", text).strip() for text in shown]
    assert told == folded
    assert told
