"""Tables of yes and of no for the rules that other people's benchmarks need."""

from __future__ import annotations

from typing import Any

from tests.support.logs import ORIGIN, Said, answered, finished

STATE = '{"theme":"Dark","rows":[{"id":"a","on":true},{"id":"b","on":false}],"tags":["x"]}'
FORM = {"text": "name=Ada+Lovelace&qty=2&tag=a&tag=b", "mime": "application/x-www-form-urlencoded"}
JSON = {
    "text": '{"note":{"text":"Thanks"},"rows":"[{\\"new\\":1,\\"of\\":\\"S\\"}]"}',
    "mime": "application/json",
}


def kept(text: str = STATE, method: str = "PUT", status: int = 200, **more: Any) -> Said:
    return finished(
        method, "/api/state", status, **{"body": {"text": text, "mime": "application/json"}, **more}
    )


def has(*facts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"url": "/api/state", "facts": list(facts), **more}


def at(path: str, **more: Any) -> dict[str, Any]:
    return {"any": [{"address": f"{ORIGIN}{path}", **more}]}


def said(value: Any, **more: Any) -> dict[str, Any]:
    return {
        "value": {"object": {"status": {"string": ["SUCCESS"]}, "data": {"items": [value]}}, **more}
    }


def reply(data: str, status: str = '"success"') -> Said:
    return answered(f'{{"status": {status}, "data": {data}}}')


DARK = {"path": "$.theme", "value": "Dark"}
ON = {"path": "$.rows[?@.id=='b'].on", "value": True}
POSTED = {
    "url": at("/save"),
    "method": "POST",
    "body": [{"name": "name", "is": {"string": ["ada lovelace"]}}],
}
LAST = {"url": at("/list"), "which": "document"}
OPENED = {"url": at("/list"), "which": "opened"}
HOP = {"method": "POST", "url": f"{ORIGIN}/save", "status": 302, "location": "/done", "body": FORM}
BY = [{"name": "by", "is": {"string": [], "pattern": [{"all": [".*"], "none": ["foot"]}]}}]
TAKEN = {**POSTED, "status": 302, "not_to": ["/login"]}

YES: dict[str, list[tuple[Any, list[Said], float]]] = {
    "state_accepted": [
        (has(DARK), [kept()], 1),
        (has(DARK, ON), [kept()], 0.5),
        (has({"path": "$.rows[*].id", "all": ["a"], "none": ["c"]}), [kept()], 1),
        (has({"path": "$.rows[?@.id=='a']"}), [kept()], 1),
        (has({"path": "$", "without": ["locale"]}), [kept()], 1),
        (has({"path": "$.tags", "value": ["x"]}), [kept()], 1),
        (has(DARK, ON, whole=True), [kept(), kept(STATE.replace("false", "true"))], 1),
        (has(DARK, method="POST"), [kept(method="POST")], 1),
    ],
    "request_answered": [
        ({"url": at("/list")}, [finished("GET", "/LIST/", 200)], 1),
        ({"url": at("/list", query={"q": {"string": ["lamp"]}})}, [finished("GET", "/list?q=Lamp&empty=", 200)], 1),
        ({"url": {**at("/list"), "ignore": ["utm_.*"]}}, [finished("GET", "/list?utm_source=a", 200)], 1),
        ({"url": {"any": [{"pattern": ".*/list/\\d+"}]}}, [finished("GET", "/list/7?x=1", 200)], 0),
        ({"url": {"any": [{"pattern": ".*/list/\\d+"}], "ignore": [".*"]}}, [finished("GET", "/list/7?x=1", 200)], 1),
        ({"url": {**at("/list/q"), "encoded": True}}, [finished("GET", "/list/ZW1wdHk9/q", 200)], 1),
        (POSTED, [finished("POST", "/save", 200, body=FORM)], 1),
        ({"url": at("/list")}, [finished("GET", "/list?" + "&" * 1100, 200)], 1),
        ({"url": at("/list", query={"q": {"string": ["a"]}})}, [finished("GET", "/list?" + "x=&" * 1100 + "q=a", 200)], 1),
        ({**POSTED, "body": [{"name": "tag", "is": {"string": ["b"]}}]}, [finished("POST", "/save", 200, body=FORM)], 1),
        ({**POSTED, "body": [{"name": "gift", "is": None}]}, [finished("POST", "/save", 200, body=FORM)], 1),
        ({**POSTED, "body": [{"pattern": "q.*", "is": {"number": [2]}}]}, [finished("POST", "/save", 200, body=FORM)], 1),
        ({**POSTED, "body": [{"json": "$.note.text", "is": {"string": ["thanks"]}}]},
         [finished("POST", "/save", 200, body=JSON)], 1),
        ({**POSTED, "body": [{"json": "$.rows[?@.new==1].of", "is": {"items": [{"string": ["s"]}]}}]},
         [finished("POST", "/save", 200, body=JSON)], 1),
        ({"url": at("/list"), "answer": [{"name": "n", "is": {"number": [3]}}]},
         [finished("GET", "/list", 200, response={"body": {"text": '{"n":3}', "mime": "application/json"}})], 1),
        ({"url": at("/list"), "referer": at("/home")},
         [finished("GET", "/list", 200, headers={"referer": f"{ORIGIN}/home"})], 1),
        ({"url": at("/list"), "cookies": [{"name": "said", "is": {"string": ["well done"]}}]},
         [finished("GET", "/list", 200, response={"headers": {"set-cookie": "sid=***\nsaid=Well%20done; Path=/"}})], 1),
        ({"url": at("/list"), "sent_cookies": BY}, [finished("GET", "/list", 200, headers={"cookie": "sid=***; by=car"})], 1),
        (TAKEN, [finished("GET", "/done", 200, hops=[HOP])], 1),
        (LAST, [finished("GET", "/home", 200, frame="T"), finished("GET", "/list", 200)], 1),
        (OPENED, [finished("GET", "/home", 200, frame="T"), finished("GET", "/list", 200)], 1),
        ({"url": at("/list"), "which": "last"}, [finished("GET", "/list?q=1", 200), finished("GET", "/list", 200)], 1),
        ({"url": at("/list"), "which": "last"}, [finished("GET", "/list", 200), finished("GET", "/list", 200, cached=True)], 1),
    ],
    "answer_says": [
        (said({"number": [7]}), [reply("[7]")], 1),
        (said({"string": ["use ```make``` here"]}), [reply('["use ```make``` here"]')], 1),
        (said({"number": [7]}), [answered('Here it is: ```json\n{"status": "SUCCESS", "data": [7]}\n```')], 1),
        (said({"number": [7]}), [reply('["seven"]')], 1),
        (said({"number": [7]}), [reply("7")], 1),
        (said({"string": ["Quest Lumaflex\u2122 Band"]}), [reply('[" quest lumaflex band. "]')], 1),
        (said({"string": ["a", "b"]}), [reply('["B"]')], 1),
        (said({"string": [], "pattern": ["16 ?(inch|in)"]}), [reply('["16 Inch"]')], 1),
        (said({"currency": [1234.5]}), [reply('["$1,234.50"]')], 1),
        (said({"currency": [1234]}), [reply('["\u20ac1.234,00"]')], 1),
        (said({"boolean": [True]}), [reply('["Yes"]')], 1),
        (said({"duration": ["2h 30min"]}), [reply('["150 minutes"]')], 1),
        (said({"duration": ["2h"]}), [reply('["2:05:00"]')], 1),
        (said({"distance": ["1.5km"]}), [reply('["1500 m"]')], 1),
        (said({"date": ["2024-05-06"]}), [reply('["May 6th, 2024"]')], 1),
        (said({"month": ["May"]}), [reply("[5]")], 1),
        (said({"coordinates": [[40.5, -74.25]]}), [reply('[{"lat": 40.5, "lng": -74.25}]')], 1),
        (said({"location-name": ["Carnegie Mellon University"]}), [reply('["University Carnegie Mellon"]')], 1),
        (said({"string": ["a"]}), [answered('Done:\n```json\n{"status": "SUCCESS", "data": ["a"]}\n```')], 1),
        (said({"string": ["a"]}, more=True), [answered('{"status": "SUCCESS", "data": ["a"], "why": 1}')], 1),
    ],
}  # fmt: skip

NO: dict[str, list[tuple[Any, list[Said]]]] = {
    "state_accepted": [
        (has(DARK), [kept(STATE.replace("Dark", "dark"))]),
        (has(DARK), [kept(status=500)]),
        (has(DARK), [kept(status=302)]),
        (has(DARK), [kept(method="POST")]),
        (has(DARK), [kept("{}"), kept(""), kept("Dark"), kept(STATE[:-1])]),
        (has(DARK), [kept(served_from="worker")]),
        (has(DARK), [finished("PUT", "/api/other", 200, body={"text": STATE})]),
        (has(DARK, ON, whole=True), [kept()]),
        (has({"path": "$.rows[*].id", "all": ["a"], "none": ["b"]}), [kept()]),
        (has({"path": "$.gone[*]", "none": ["b"]}), [kept()]),
        (has({"path": "$.tags", "value": "x"}), [kept()]),
        (has({"path": "$.rows[?@.id=='b'].on", "value": 0}), [kept()]),
    ],
    "request_answered": [
        ({"url": at("/list")}, [finished("GET", "/list?" + "x=1&" * 1100, 200)]),
        (TAKEN, [finished("GET", "/done", 200, hops=[{**HOP, "location": "http://[@shop.test/done"}])]),
        ({"url": at("/list")}, [finished("GET", "/list?q=1", 200)]),
        ({"url": at("/list")}, [finished("GET", "/list", 404), finished("GET", "/listing", 200)]),
        ({"url": at("/list")}, [finished("GET", "/list", 200, url="http://shop.test.evil/list")]),
        ({"url": at("/list")}, [finished("GET", "/list", 200, cached=True)]),
        ({"url": at("/list", query={"q": {"string": ["lamp"]}})}, [finished("GET", "/list", 200)]),
        (POSTED, [finished("POST", "/save", 500, body=FORM), finished("PUT", "/save", 200, body=FORM)]),
        (POSTED, [finished("POST", "/save", 200)]),
        (TAKEN, [finished("GET", "/done", 500, hops=[HOP])]),
        (TAKEN, [finished("GET", "/login", 200, hops=[{**HOP, "location": "/login"}])]),
        (LAST, [finished("GET", "/list", 200, type="Fetch"), finished("GET", "/list", 200, frame="F")]),
        (OPENED, [finished("GET", "/list", 200, type="Fetch"), finished("GET", "/list", 200, frame="F")]),
        ({"url": at("/list"), "cookies": [{"name": "said", "is": {"string": ["well done"]}}]},
         [finished("GET", "/list", 200), finished("GET", "/list", 200, response={"headers": {"set-cookie": "said=Badly%20done"}})]),
        ({"url": at("/list"), "sent_cookies": BY},
         [finished("GET", "/list", 200, headers={"cookie": "by=foot"}), finished("GET", "/list", 200)]),
        ({"url": at("/list"), "referer": at("/home")}, [finished("GET", "/list", 200)]),
    ],
    "answer_says": [
        (said({"string": ["Quest Lumaflex"]}), [reply('["^.*$"]')]),
        (said({"number": [7]}), [reply('["```7```"]'), answered('```json\n{"status": "SUCCESS"\n```')]),
        (said({"string": ["Quest Lumaflex"]}), [reply('[["Quest Lumaflex", "Lamp"]]')]),
        (said({"string": ["Quest Lumaflex"]}), [reply('["Quest Lumafl"]'), reply('["Quest Lumaflex Band"]')]),
        (said({"string": ["Quest Lumaflex"]}), [reply('["Qu\u0435st Lumaflex"]')]),
        (said({"string": ["a"]}), [reply('["a", "b"]'), reply("[]"), reply("null"), answered("a"), answered("")]),
        (said({"string": ["a"]}), [reply('["a"]', '"^.*$"'), reply('["a"]', "null"), answered('{"data": ["a"]}')]),
        (said({"string": ["a"]}), [answered('{"status": "SUCCESS", "data": ["a"], "why": 1}')]),
        (said({"currency": [12.5]}), [reply('["12.50 or 13.50"]'), reply('["-12.50"]'), reply('["$12.7"]')]),
        (said({"duration": ["2h"]}), [reply("[120]"), reply('["2h of 3 days"]'), reply('["3h"]')]),
        (said({"distance": ["1.5km"]}), [reply("[1.5]"), reply('["1.5 light years"]'), reply('["1.6 km"]')]),
        (said({"date": ["2024-05-06"]}), [reply('["May 2024"]'), reply('["2024-05-07"]')]),
        (said({"number": [7]}), [reply('["7 of 9"]'), reply("[7.01]"), reply('["seven hundred"]')]),
        (said({"boolean": [True]}), [reply('["maybe"]'), reply("[0]")]),
        (said({"coordinates": [[40.5, -74.25]]}), [reply('[{"lat": 40.5}]'), reply("[[40.5, -74.26]]")]),
    ],
}  # fmt: skip
