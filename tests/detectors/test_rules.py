"""Each rule's table of yes and of no: one milestone of its own, one step in which one thing
happens."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from detectors.model.rewards import episode_total
from detectors.sdk.arguments import declared_arguments
from detectors.sdk.registry import Composite, Rule, Rules, rules
from detectors.sdk.tier_rules import is_judged
from detectors.task.task_json import TaskError
from tests.detectors import (
    tables_actions,
    tables_bench,
    tables_grades,
    tables_language,
    tables_probes,
    tables_reads,
    tables_screen,
    tables_senses,
    tables_states,
)
from tests.support.logs import (
    ORIGIN,
    Said,
    answered,
    clicked,
    created,
    episode,
    filled,
    finished,
    loaded,
    ruleset,
    run,
    titled,
    went,
)

ADA = {
    "fields": {
        "Name": "Ada",
        "Mail": {"contains": "@"},
        "Terms": True,
        "Size": {"one_of": ["L", "XL"]},
    }
}
BODY = {"text": "name=Ada&tag=a&tag=b", "mime": "application/x-www-form-urlencoded"}
JSON_BODY = {"text": '{"name":"Ada","items":[{"id":7}]}', "mime": "application/json"}
PART = '--x\r\nContent-Disposition: form-data; name="name"\r\n\r\nAda\r\n--x--\r\n'
MULTIPART = {"text": PART, "mime": "multipart/form-data; boundary=x"}
FILES = [
    {"name": "cv", "filename": "cv.pdf", "size": 4711},
    {"name": "photo", "filename": "me.png", "size": 0},
]
UPLOAD = {**MULTIPART, "files": FILES}
SEND = {"method": "POST", "url": "/up"}
PLACED = {"method": "POST", "url": "/orders", "redirect_to": "/orders/*"}


def hop(status: int = 303, **more: Any) -> dict[str, Any]:
    return {
        "method": "POST",
        "url": f"{ORIGIN}/orders",
        "status": status,
        "location": "/orders/7",
        **more,
    }


def dialog(
    accepted: bool, message: str = "Cancel the order?", type: str = "confirm", input: str = ""
) -> Said:
    data = {"tab": "T", "type": type, "message": message, "accepted": accepted, "input": input}
    return ("dialog.closed", data)


def submitted(trusted: bool = True, **form: Any) -> Said:
    data = {"id": "checkout", "action": f"{ORIGIN}/orders", "method": "post", **form}
    return (
        "form.submitted",
        {"tab": "T", "frame": "T", "form": data, "fields": [["qty", "2"]], "trusted": trusted},
    )


def text(said: str, **more: Any) -> Said:
    return ("text.appeared", {"tab": "T", "frame": "T", "text": said, **more})


BOX_PATH = "#list>li:2>input:1"
BOX = filled(
    "",
    "on",
    checked=True,
    element={"role": "checkbox", "name": "", "tag": "input", "path": BOX_PATH},
)
"""The box of a list's second entry, which has no name."""

YES: dict[str, list[tuple[dict[str, Any], list[Said], float]]] = {
    "judge": [],  # decided after the seal: tests/detectors/test_deciding.py
    "model": [],
    "address_says": [
        ({"text": {"contains": "id=7"}}, [went("/cart?id=7")], 1),
        (
            {"text": {"all_of": [{"contains": "id=7"}, {"regex": ".*b=.*"}]}},
            [went("/cart?id=7&b=1")],
            1,
        ),
        ({"text": {"contains": "/cart"}}, [went("/cart"), went("/home", tab="U")], 1),
        ({"text": {"contains": "/caf\u00e9"}}, [went("/caf%C3%A9")], 1),
        ({"text": {"regex": ".*/caf\u00e9"}}, [went("/caf%C3%A9")], 1),
        ({"text": {"ends_with": "/item/\uff17"}}, [went("/item/%EF%BC%97")], 1),
        ({"text": {"contains": "a\u2013b"}}, [went("/a%E2%80%93b")], 1),
    ],
    "url_reached": [
        ({"url": "/cart", "errors": True}, [went("/cart", status=404)], 1),
        ({"url": "/cart"}, [went("/cart")], 1),
        ({"url": "/cart"}, [went("/cart/")], 1),
        ({"url": "/cart"}, [went("/cart?from=mail#top")], 1),
        ({"url": "/cart"}, [went("HTTP://SHOP.TEST:80/cart")], 1),
        ({"url": "/cart", "loaded": False}, [went("/"), went("/cart", same_document=True)], 1),
        ({"url": "/cart"}, [went("/cart"), went("/cart#top", same_document=True)], 1),
        ({"url": "/search?q=a&q=b"}, [went("/search?q=b&q=a")], 1),
        (
            {"url": {"path": "/search", "query": {"q": {"contains": "lamp"}}}},
            [went("/search?q=desk+lamp&p=2")],
            1,
        ),
        ({"url": "/items/*"}, [went("/items/lamp-2")], 1),
        ({"url": "/a b"}, [went("/a%20b")], 1),
        ({"url": "/#orders"}, [went("/"), went("/#orders", same_document=True)], 1),
        ({"url": "https://other.test/x"}, [went("https://other.test/x")], 1),
        ({"url": "/inner", "frames": True}, [went("/inner", main=False)], 1),
    ],
    "page_loaded": [({"url": "/cart"}, [loaded("/cart")], 1)],
    "title_matches": [
        ({"title": "Your cart"}, [titled("Your  cart ")], 1),
        ({"title": {"starts_with": "order", "ignore_case": True}}, [titled("Order 7")], 1),
        ({"title": "Home", "url": "/"}, [titled("Home")], 1),
    ],
    "request_accepted": [
        ({"url": "/api/cart"}, [finished("GET", "/api/cart", 200)], 1),
        ({"method": "POST", "url": "/api/cart"}, [finished("POST", "/api/cart", 201)], 1),
        (PLACED, [finished("GET", "/orders/7", 200, hops=[hop()])], 1),
        (
            {**PLACED, "body": {"name": "Ada", "tag": "b"}},
            [finished("GET", "/orders/7", 200, hops=[hop(body=BODY)])],
            1,
        ),
        (
            {"method": "POST", "url": "/api", "body": {"name": "Ada", "items.0.id": 7}},
            [finished("POST", "/api", 200, body=JSON_BODY)],
            1,
        ),
        (
            {"method": "POST", "url": "/api", "body": {"name": "Ada"}},
            [finished("POST", "/api", 200, body=MULTIPART)],
            1,
        ),
        (
            {"method": "DELETE", "url": "/api", "status": [204, 404]},
            [finished("DELETE", "/api", 404)],
            1,
        ),
        *(
            ({**SEND, **file}, [finished("POST", "/up", 200, body=UPLOAD)], 1)
            for file in (
                {"file": "cv.pdf"},
                {"file": {"ends_with": ".png"}, "file_size": 0},
                {"file_size": {"min": 4000}},
                {
                    "file_field": "cv",
                    "file_size": {"min": 4711, "max": 4711},
                    "body": {"name": "Ada"},
                },
            )
        ),
    ],
    "element_clicked": [
        ({"role": "button", "name": "Add to cart"}, [clicked("Add to cart")], 1),
        ({"name": {"contains": "cart"}}, [clicked("Add to cart")], 1),
        ({"id": "go", "tag": "button"}, [clicked("", id="go")], 1),
        ({"text": "One"}, [clicked("", text=" One ")], 1),
        ({"name": "Go", "url": "/cart"}, [went("/cart"), clicked("Go")], 1),
        (
            {"role": "img", "around": {"contains": "Ada"}},
            [clicked("", "img", around="Ada Hello")],
            1,
        ),
    ],
    "field_filled": [
        ({"field": "Name", "value": "Ada"}, [filled("Name", " Ada ")], 1),
        ({"field": "name", "value": "Ada"}, [filled("Name", "Ada")], 1),
        ({"field": "Terms", "checked": True}, [filled("Terms", "on", checked=True)], 1),
        ({"field": "Terms", "checked": False}, [filled("Terms", "on", checked=False)], 1),
        ({"field": "Amount", "value": {"number": 1234.5}}, [filled("Amount", "1,234.50")], 1),
        ({"field": "Tags", "value": "b"}, [filled("Tags", ["a", "b"])], 1),
        (
            {"around": {"contains": "milk"}, "checked": True},
            [filled("", "on", checked=True, around="Buy milk")],
            1,
        ),
        (
            {"field": "Name", "around": "Adult", "value": "Ada"},
            [filled("Name", "Ada", around="Adult")],
            1,
        ),
        (
            {"field": "Name", "value": "Ada", "trusted": False},
            [filled("Name", "Ada", trusted=False)],
            1,
        ),
        (
            {"field": "Name", "value": "Ada", "hidden": True},
            [filled("Name", "Ada", hidden=True)],
            1,
        ),
        (
            {"field": "Name", "value": "Ada"},
            [filled("Name", "Ada", hidden=True), filled("Name", "Ada")],
            1,
        ),
        (
            {"field": "Name", "value": "Ada"},
            [filled("Name", "Ada", hidden=True, field="#2"), filled("Name", "Ada")],
            1,
        ),
        ({"path": BOX_PATH, "checked": True}, [BOX], 1),
        ({"path": {"ends_with": ">input:1"}, "checked": True}, [BOX], 1),
    ],
    "form_filled": [
        (ADA, [filled("Name", "Ada")], 0.25),
        (ADA, [filled("Name", "Ada"), filled("Mail", "a@b")], 0.5),
        (ADA, [filled("Name", "Ada"), filled("Mail", "a@b", hidden=True)], 0.25),
        ({**ADA, "hidden": True}, [filled("Name", "Ada"), filled("Mail", "a@b", hidden=True)], 0.5),
        (ADA, [filled("Name", "Ada", hidden=True, field="#2"), filled("Name", "Ada")], 0.25),
        (
            ADA,
            [
                filled("Name", "Ada"),
                filled("Mail", "a@b"),
                filled("Terms", "on", checked=True),
                filled("Size", "XL"),
            ],
            1,
        ),
        (ADA, [filled("Name", "Ada"), filled("Name", "Ad"), filled("Name", "Ada")], 0.25),
    ],
    "form_submitted": [
        ({"form": "checkout"}, [submitted()], 1),
        ({"action": "/orders"}, [submitted()], 1),
        ({"fields": {"qty": {"number": 2}}}, [submitted()], 1),
        ({"form": "checkout", "fields": {"gift": False}}, [submitted()], 1),
    ],
    "text_visible": [
        ({"text": {"contains": "Order confirmed"}}, [text("Thanks! Order confirmed, Ada.")], 1)
    ],
    "dialog_answered": [
        ({"accepted": True}, [dialog(True)], 1),
        (
            {"type": "confirm", "message": {"contains": "Cancel"}, "accepted": False},
            [dialog(False)],
            1,
        ),
        ({"type": "prompt", "input": "Ada"}, [dialog(True, "Name?", "prompt", "Ada")], 1),
    ],
    "file_created": [
        ({"name": "report.csv"}, [created("out/report.csv")], 1),
        (
            {"name": {"glob": "invoice-*.csv"}, "root": "downloads"},
            [created("invoice-7.csv", via="download")],
            1,
        ),
        ({"path": "out/a.txt"}, [created("out/a.txt", "file.moved", **{"from": "a.tmp"})], 1),
    ],
    "file_matches": [
        ({"extension": "csv", "size": {"min": 5, "max": 10}}, [created("a.CSV")], 1),
        ({"name": "a.csv", "sha256": "ab" * 32}, [created("a.csv", "file.modified")], 1),
        (
            {"name": "a.csv", "size": 10},
            [created("a.csv", size=3), created("a.csv", "file.modified")],
            1,
        ),
    ],
    "answer_matches": [
        ({"text": "Quest Lumaflex"}, [answered("Quest  Lumaflex")], 1),
        ({"text": {"number": 42, "tolerance": 0.5}}, [answered("42.4")], 1),
        ({"text": {"one_of": ["yes", "y"], "ignore_case": True}}, [answered("YES")], 1),
    ],
    "all_of": [
        (
            [{"url_reached": {"url": "/a"}}, {"url_reached": {"url": "/b"}}],
            [went("/b"), went("/a")],
            1,
        ),
        (
            [{"url_reached": {"url": "/a"}}, {"url_reached": {"url": "/b"}}],
            [went("/a", "1"), went("/b", "2")],
            1,
        ),
        (
            {
                "holding": True,
                "of": [{"url_reached": {"url": "/a"}}, {"url_reached": {"url": "/b"}}],
            },
            [went("/a", "1"), went("/b", "2")],
            1,
        ),
        (
            [{"form_filled": ADA}, {"url_reached": {"url": "/a"}}],
            [went("/a"), filled("Name", "Ada")],
            0.25,
        ),
    ],
    "any_of": [([{"url_reached": {"url": "/a"}}, {"url_reached": {"url": "/b"}}], [went("/b")], 1)],
    "none_of": [([{"url_reached": {"url": "/a"}}], [went("/b"), clicked("Go")], 1)],
    "sequence": [
        (
            [{"element_clicked": {"name": "Up"}}] * 3,
            [clicked("Up"), clicked("Up"), clicked("Up")],
            1,
        ),
        (
            [{"url_reached": {"url": "/a"}}, {"element_clicked": {"name": "Go"}}],
            [went("/a"), clicked("Go")],
            1,
        ),
        (
            {
                "holding": True,
                "of": [
                    {"field_filled": {"field": "N", "value": "1"}},
                    {"element_clicked": {"name": "Go"}},
                ],
            },
            [filled("N", "2"), clicked("Go"), filled("N", "1"), clicked("Go")],
            1,
        ),
        (
            {
                "holding": True,
                "of": [
                    {"none_of": [{"element_clicked": {"name": "No"}}]},
                    {"element_clicked": {"name": "Go"}},
                ],
            },
            [clicked("Go")],
            1,
        ),
    ],
    "goal": [
        ({"when": {"url_reached": {"url": "/done"}}}, [went("/done")], 1),
        (
            {"of": [{"url_reached": {"url": "/done"}}, {"element_clicked": {"name": "Go"}}]},
            [clicked("Go"), went("/done")],
            1,
        ),
    ],
}

NO: dict[str, list[tuple[dict[str, Any], list[Said]]]] = {
    "judge": [({"rubric": ["The order is right."]}, [went("/cart"), answered("SUCCESS")])],
    "model": [({"rubric": ["The order is right."]}, [went("/cart"), answered("SUCCESS")])],
    "address_says": [
        ({"text": {"contains": "id=7"}}, [went("/cart?id=8"), went("/cart?id=7", main=False)]),
        (
            {"text": {"all_of": [{"contains": "id=7"}, {"contains": "b="}]}},
            [went("/?id=7"), went("/?b=1", tab="U")],
        ),
        ({"text": ".*"}, [went("/cart")]),
        ({"text": {"ends_with": "/item/7"}}, [went("/item/%EF%BC%97"), went("/item/\uff17")]),
        ({"text": {"regex": ".*/item/7"}}, [went("/item/%EF%BC%97"), went("/item/\uff17")]),
        ({"text": {"contains": "a-b"}}, [went("/a%E2%80%93b")]),
        ({"text": {"all_of": [{"contains": "a-b"}]}}, [went("/a%E2%80%93b")]),
        ({"text": {"contains": "a\u2013b"}}, [went("/a-b")]),
        ({"text": {"contains": "id=7"}}, [loaded("/?id=7"), titled("id=7")]),
        *(
            ({"text": {"contains": "id=7"}}, [went(f"{scheme}https://shop.test/?id=7")])
            for scheme in ("view-source:", "data:text/html,", "blob:", "View-Source:")
        ),
    ],
    "url_reached": [
        ({"url": "/cart"}, [went("/"), went("/cart", same_document=True)]),
        ({"url": "/cart"}, [went("/cart", status=404)]),
        ({"url": "/cart"}, [went("/cart", status=500)]),
        ({"url": "/cart"}, [went("http://shop.test.evil.example/cart")]),
        ({"url": "/cart"}, [went("https://shop.test/cart")]),
        ({"url": "/cart"}, [went("http://shop.test:8080/cart")]),
        ({"url": "/cart"}, [went("http://sh\u043ep.test/cart")]),
        ({"url": "/cart"}, [went("/cart/2")]),
        ({"url": "/cart"}, [went("/cart", main=False)]),
        ({"url": "/search?q=a"}, [went("/search?q=a&q=a")]),
        ({"url": "/search?q=a"}, [went("/search")]),
        ({"url": "/#orders"}, [went("/#home")]),
        ({"url": "/cart"}, [went("http://evil.test/?next=http://shop.test/cart")]),
        ({"url": "/cart"}, [went("http://[bad")]),
        ({"url": "/cart"}, [finished("GET", "/cart", 200), loaded("/cart")]),
    ],
    "page_loaded": [
        ({"url": "/cart"}, [went("/cart")]),
        ({"url": "/cart"}, [loaded("/")]),
        ({"url": "/cart"}, [loaded("/cart", main=False)]),
    ],
    "title_matches": [
        ({"title": "Your cart"}, [titled("your cart")]),
        ({"title": "Your cart"}, [titled("Your cart (2)")]),
        ({"title": "Home", "url": "/elsewhere"}, [titled("Home")]),
    ],
    "request_accepted": [
        *(
            ({**SEND, **file}, [finished("POST", "/up", status, body=body)])
            for file, status, body in (
                ({"file": "cv.pdf"}, 200, MULTIPART),  # no file at all
                ({"file": "cv.pdf"}, 422, UPLOAD),
                ({"file": "CV.pdf"}, 200, UPLOAD),
                ({"file": "cv.pdf", "file_size": {"max": 99}}, 200, UPLOAD),
                ({"file": "cv.pdf", "file_size": 0}, 200, UPLOAD),  # another file has that size
                ({"file": "cv.pdf", "file_field": "photo"}, 200, UPLOAD),
                ({"file": "cv.pdf", "body": {"name": "Eve"}}, 200, UPLOAD),
            )
        ),
        (
            PLACED,
            [
                (
                    "request.sent",
                    {
                        "tab": "T",
                        "frame": "T",
                        "request": "r",
                        "method": "POST",
                        "url": ORIGIN + "/orders",
                    },
                )
            ],
        ),
        (PLACED, [finished("POST", "/orders", 500)]),
        (PLACED, [finished("POST", "/orders", 200)]),
        (PLACED, [finished("GET", "/error", 200, hops=[hop(302)])]),
        (PLACED, [finished("GET", "/orders/7", 500, hops=[hop()])]),
        (PLACED, [finished("GET", "/orders/7", 200, hops=[hop(method="GET")])]),
        ({"method": "POST", "url": "/orders"}, [finished("GET", "/orders/7", 200, hops=[hop()])]),
        ({"method": "POST", "url": "/orders"}, [finished("GET", "/orders", 200)]),
        (
            {"url": "/api"},
            [
                (
                    "request.failed",
                    {"request": "r", "method": "GET", "url": ORIGIN + "/api", "canceled": True},
                )
            ],
        ),
        ({**PLACED, "body": {"name": "Ada"}}, [finished("GET", "/orders/7", 200, hops=[hop()])]),
        (
            {"method": "POST", "url": "/api", "body": {"name": "Ad"}},
            [finished("POST", "/api", 200, body=BODY)],
        ),
    ],
    "element_clicked": [
        ({"name": "Add to cart"}, [clicked("Add to cart", trusted=False)]),
        ({"name": "Add to cart"}, [clicked("Add to cart now")]),
        ({"role": "link", "name": "Go"}, [clicked("Go")]),
        ({"name": "Go", "url": "/cart"}, [went("/"), clicked("Go")]),
        ({"role": "img", "around": {"contains": "Ada"}}, [clicked("", "img", around="Bob Bye")]),
        ({"role": "img", "around": "Ada"}, [clicked("", "img", around="")]),
        (
            {"name": "Go"},
            [("element.clicked", {"tab": "T", "frame": "T", "element": {"name": "Go"}})],
        ),
    ],
    "field_filled": [
        ({"field": "Name", "value": "Ada"}, [filled("Name", "ada")]),
        ({"field": "Name", "value": "Ada"}, [filled("Name", None)]),
        ({"field": "Name", "value": "Ada"}, [filled("Surname", "Ada")]),
        ({"field": "Name", "value": "Ada"}, [filled("Name", "Ada", trusted=False)]),
        ({"field": "Name", "value": "Ada"}, [filled("Name", "Ada", hidden=True)]),
        (
            {"field": "Name", "value": "Ada"},
            [filled("Name", "Ada", hidden=True), filled("Name", "Ada", trusted=False)],
        ),
        ({"field": "Name", "value": "Ada"}, [filled("Name", "Ada", baseline=True)]),
        ({"field": "Colour", "value": "red"}, [filled("Colour", "red", checked=False)]),
        (
            {"around": {"contains": "milk"}, "checked": True},
            [filled("", "on", checked=True, around="Buy tea")],
        ),
        (
            {"around": {"contains": "milk"}, "checked": True},
            [filled("", "on", checked=False, around="Buy milk")],
        ),
        (
            {"field": "Name", "around": "Adult", "value": "Ada"},
            [filled("Name", "Ada", around="Child")],
        ),
        ({"field": "Terms", "checked": True}, [filled("Terms", "on")]),
        ({"path": "#list>li:3>input:1", "checked": True}, [BOX]),
        ({"path": BOX_PATH, "checked": True}, [filled("Terms", "on", checked=True)]),
        ({"path": BOX_PATH, "field": "Done", "checked": True}, [BOX]),
    ],
    "form_filled": [
        (ADA, [filled("Name", "Bob")]),
        (ADA, [filled("Name", "Ada", trusted=False)]),
        (ADA, [filled("Name", "Ada", hidden=True)]),
        (ADA, [filled("Name", "Ada", hidden=True), filled("Name", "Ada", trusted=False)]),
        ({**ADA, "url": "/checkout"}, [went("/elsewhere"), filled("Name", "Ada")]),
    ],
    "form_submitted": [
        ({"form": "checkout"}, [submitted(trusted=False)]),
        ({"form": "search"}, [submitted()]),
        ({"action": "/search"}, [submitted()]),
        ({"fields": {"qty": "3"}}, [submitted()]),
    ],
    "text_visible": [
        ({"text": {"contains": "Order confirmed"}}, [text("Your order is not confirmed")]),
        ({"text": {"contains": "Order confirmed"}}, [text("Order confirmed", baseline=True)]),
        ({"text": {"contains": "Order"}, "url": "/done"}, [went("/"), text("Order")]),
    ],
    "dialog_answered": [
        ({"accepted": True}, [dialog(False)]),
        (
            {"accepted": True},
            [("dialog.opened", {"tab": "T", "type": "confirm", "message": "?", "url": ""})],
        ),
        ({"type": "prompt", "input": "Ada"}, [dialog(False, "Name?", "prompt", "Ada")]),
        ({"message": {"contains": "Cancel"}}, [dialog(True, "Leave?")]),
    ],
    "file_created": [
        ({"name": "report.csv"}, [created("report.csv", "file.modified")]),
        ({"name": "report.csv"}, [created("report.csv.exe")]),
        (
            {"name": "report.csv"},
            [
                created("report.csv", "file.present", baseline=True),
                created("report.csv", "file.modified"),
            ],
        ),
        ({"name": "report.csv", "root": "home"}, [created("report.csv")]),
        (
            {"name": "report.csv"},
            [created("report.csv", sha256=None, link="../elsewhere/report.csv")],
        ),
    ],
    "file_matches": [
        ({"name": "a.csv", "size": {"min": 11}}, [created("a.csv")]),
        ({"extension": "csv"}, [created("csv")]),
        ({"name": "a.csv", "sha256": "cd" * 32}, [created("a.csv")]),
        ({"name": "a.csv"}, [created("a.csv", "file.deleted")]),
        ({"name": "a.csv"}, [created("a.csv", sha256=None, link="b.csv")]),
    ],
    "answer_matches": [
        ({"text": "Quest Lumaflex"}, [answered("^.*$")]),
        ({"text": "Quest Lumaflex"}, [answered(".*")]),
        ({"text": "Quest Lumaflex"}, [answered("*")]),
        ({"text": "Quest Lumaflex"}, [answered("(a+)+$")]),
        ({"text": "Quest Lumaflex"}, [answered("")]),
        ({"text": "Quest Lumaflex"}, [answered("Quest Luma")]),
        ({"text": "Quest Lumaflex"}, [answered("Quest Lumaflex and more")]),
        ({"text": "Quest Lumaflex"}, [answered("Lumaflex Quest")]),
        ({"text": "Quest Lumaflex"}, [answered("Quest Lum\u0430flex")]),
        ({"text": {"number": 42}}, [answered("42 lamps")]),
        ({"text": {"number": 42}}, [answered("nan")]),
    ],
    "all_of": [
        ([{"url_reached": {"url": "/a"}}, {"url_reached": {"url": "/b"}}], [went("/a")]),
        (
            {
                "holding": True,
                "of": [{"url_reached": {"url": "/a"}}, {"url_reached": {"url": "/b"}}],
            },
            [went("/a"), went("/b")],
        ),
    ],
    "any_of": [([{"url_reached": {"url": "/a"}}, {"url_reached": {"url": "/b"}}], [went("/c")])],
    "none_of": [
        ([{"url_reached": {"url": "/a"}}], [went("/b")]),
        ([{"url_reached": {"url": "/a"}}], [went("/a"), clicked("Go")]),
        ([{"element_clicked": {"name": "No"}}], [clicked("No"), clicked("Go")]),
    ],
    "sequence": [
        ([{"element_clicked": {"name": "Up"}}] * 3, [clicked("Up"), clicked("Up")]),
        (
            [{"url_reached": {"url": "/a"}}, {"element_clicked": {"name": "Go"}}],
            [clicked("Go"), went("/a")],
        ),
        (
            {
                "holding": True,
                "of": [
                    {"field_filled": {"field": "N", "value": "1"}},
                    {"element_clicked": {"name": "Go"}},
                ],
            },
            [filled("N", "1"), filled("N", "2"), clicked("Go"), filled("N", "1")],
        ),
        (
            {
                "holding": True,
                "of": [
                    {"none_of": [{"element_clicked": {"name": "No"}}]},
                    {"element_clicked": {"name": "Go"}},
                ],
            },
            [clicked("No"), clicked("Go")],
        ),
    ],
    "goal": [
        ({"when": {"url_reached": {"url": "/done"}}}, [went("/")]),
        (  # it was there, and is not any more
            {"of": [{"url_reached": {"url": "/done"}}, {"element_clicked": {"name": "Go"}}]},
            [went("/done"), went("/"), clicked("Go")],
        ),
    ],
}


for table, more in (
    (YES, tables_senses.YES), (NO, tables_senses.NO), (YES, tables_states.YES), (NO, tables_states.NO),
    (YES, tables_probes.YES), (NO, tables_probes.NO),
    (YES, tables_language.YES), (NO, tables_language.NO), (YES, tables_reads.YES), (NO, tables_reads.NO),
    (YES, tables_bench.YES), (NO, tables_bench.NO), (YES, tables_grades.YES), (NO, tables_grades.NO),
    (YES, tables_actions.YES), (NO, tables_actions.NO), (YES, tables_screen.YES), (NO, tables_screen.NO),
):  # fmt: skip
    for rule, cases in more.items():
        table[rule] = [*table.get(rule, []), *cases]


def paid(name: str, args: Any, said: list[Said]) -> float | None:
    condition = {name: args}
    if name in ("none_of", "probe_kept"):  # alone they would pay for nothing
        condition = {
            "all_of": {"holding": True, "of": [condition, {"element_clicked": {"name": "Go"}}]}
        }
    milestone = {"id": "m", "when": condition, "component": "nav"}
    before = [one for one in said if one[1].get("when") == "start"]  # asked before the first step
    since = [one for one in said if one not in before]
    log = episode(since, before=before)
    rewards = run(ruleset(milestone, weights={"nav": 1}, probes=tables_probes.PROBES), *log)
    return episode_total(reward.reward for reward in rewards)


@pytest.mark.parametrize(
    ("name", "args", "said", "level"),
    [
        pytest.param(name, *case, id=f"{name}-{n}")
        for name, cases in YES.items()
        for n, case in enumerate(cases)
    ],
)
def test_yes(name: str, args: Any, said: list[Said], level: float) -> None:
    """What happened is worth the level."""
    assert paid(name, args, said) == level


@pytest.mark.parametrize(
    ("name", "args", "said"),
    [
        pytest.param(name, *case, id=f"{name}-{n}")
        for name, cases in NO.items()
        for n, case in enumerate(cases)
    ],
)
def test_no(name: str, args: Any, said: list[Said]) -> None:
    """What happened is worth nothing; observed, so 0.0 and not null."""
    assert paid(name, args, said) == 0.0


@pytest.mark.parametrize(
    ("name", "args", "said"),
    [
        pytest.param(name, *case, id=f"{name}-{n}")
        for name, cases in tables_reads.UNKNOWN.items()
        for n, case in enumerate(cases)
    ],
)
def test_what_was_left_out_decides(name: str, args: Any, said: list[Said]) -> None:
    """Null, and not 0.0: neither a reward nor a penalty is missed behind it."""
    assert paid(name, args, said) is None
    milestone = {"id": "m", "component": "file", "when": {name: args}, "penalty": 0.5}
    rewards = run(ruleset(milestone, weights={"file": 1}), *episode(said))
    assert [reward.reward for reward in rewards] == [None]


def takes_url(name: str) -> bool:
    """Whether a rule has the argument `url` in its plain form; that of `request_answered` is a set
    of addresses."""
    rule = rules()[name]
    return (
        name != "request_answered"
        and not isinstance(rule, Composite)
        and "url" in {key.name for key in declared_arguments(rule.args).keys}
    )


@pytest.mark.parametrize(
    "name", [name for name in YES if takes_url(name) and name != "request_answered"]
)
def test_a_rule_compares_the_url_that_it_takes(name: str) -> None:
    """With `url` the engine no longer asks for the task's site: whoever ignores it pays anywhere."""
    compared = 0
    for args, said, _ in YES[name]:
        try:
            worth = paid(name, {**args, "url": "http://elsewhere.test/nothing"}, said)
        except TaskError:  # these arguments take no address
            continue
        assert not worth, f"{name}: pays at another address than `url`: {said}"
        compared += 1
    assert compared


def is_deed(said: Said) -> bool:
    """Whether an event says that a user did it, and no script of the page."""
    return said[1].get("trusted") is True


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, cases in YES.items()
        if isinstance(rules()[name], Rule)
        and any(is_deed(one) for case in cases for one in case[1])
    ],
)
def test_a_rule_pays_for_nothing_that_a_script_did(name: str) -> None:
    """The same events, made by page script: they pay only where the arguments say so."""
    for args, said, _ in YES[name]:
        if not any(map(is_deed, said)) or args.get("trusted") is False:
            continue
        scripted = [
            (kind, {**data, "trusted": False} if "trusted" in data else data) for kind, data in said
        ]
        assert not paid(name, args, scripted), f"{name}: pays for what a script did: {scripted}"


def test_no_rule_without_its_tables() -> None:
    """Every rule has a yes and a no, and a sentence for its page of docs."""
    for table, cases in (("YES", YES), ("NO", NO)):
        here = f"{table} of {Path(__file__).name}"
        missing, foreign = sorted(set(rules()) - set(cases)), sorted(set(cases) - set(rules()))
        assert missing == [], f"{here}: expected an entry for each rule"
        assert foreign == [], f"{here}: expected no entry but of a rule"
    # No event is a hit of a rule that only says who is asked: tests/detectors/test_deciding.py has
    # its yes.
    assert all(YES[name] or is_judged(one) for name, one in rules().items())
    assert all(NO.values())
    undescribed = [name for name, rule in rules().items() if not rule.doc.strip()]
    assert not undescribed, "expected a docstring in detectors/rules: docs/rules.md is made of it"
    assert isinstance(rules()["goal"], Composite)


RULE = """
from dataclasses import dataclass
from detectors.sdk.arguments import arg
from detectors.sdk.registry import rule

@dataclass(frozen=True, slots=True)
class Args:
    size: {type} = arg("A size.")

@rule(component="ui", hears=("{kind}",), args=Args)
def {name}(event, world, args):
    \"\"\"Some fact.\"\"\"
    return ()
"""
RIGHT = {"name": "sample_file", "kind": "tab.closed", "type": "int"}
WRONG = {
    "the function's name": ({"name": "other"}, "sample_file.py: expected a function sample_file under @rule, got none of that name"),
    "a kind": ({"kind": "tab.close"}, "sample_file.py: hears: expected kinds of docs/events.md, got tab.close"),
    "an argument's type": ({"type": "float"}, "detectors.rules.sample_file: argument size: expected a type of TextMatch, "),
    "nothing": ({}, ""),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_in_a_rule_s_file_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the file, what was expected and what is there, when the rule is first asked for."""
    change, message = WRONG[name]
    (tmp_path / "sample_file.py").write_text(RULE.format(**{**RIGHT, **change}))
    package = importlib.import_module("detectors.rules")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    problem = ""
    try:
        declared_arguments(Rules({})["sample_file"].args)
    except TypeError as error:
        problem = str(error)
    finally:
        sys.modules.pop("detectors.rules.sample_file", None)
    assert message in problem
    assert bool(problem) is bool(message)
