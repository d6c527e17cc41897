"""Tables of yes and of no for what is graded: numbers, texts, shares, distances."""

from __future__ import annotations

from typing import Any

from tests.support.logs import Said, answered, clicked, created, went

ANSWER = {"kind": "agent.answered", "value": "text"}
TIERS = {"tiers": [{"at_most": 5, "pays": 1}, {"at_most": 20, "pays": 0.5}]}
LAMPS = {"f1": "the red desk lamp"}
NEAR = {"linear": {"from": 100, "to": 0}}
TESTS = {"kind": "probe.answered", "where": {"probe": "cart"}, "value": "value.passed"}


def probed(value: Any, **more: Any) -> Said:
    return ("probe.answered", {"probe": "cart", "when": "step", "value": value, "ms": 1, **more})


def pointed(x: int, y: int, **more: Any) -> Said:
    kind, data = clicked("", "img", **more)
    return kind, {**data, "point": [x, y], "box": [0, 0, 400, 300]}


def pressed(x: int, y: int) -> Said:
    data = pointed(x, y)[1]
    return "element.pressed", {**data, "at": [1, 1], "moved": [9, 0]}


BUTTON = {"box": [100, 50, 40, 20]}

YES: dict[str, list[tuple[Any, list[Said], float]]] = {
    "graded": [
        ({**ANSWER, "grade": {"linear": {"from": 0, "to": 10}}}, [answered("4")], 0.4),
        ({**ANSWER, "grade": NEAR}, [answered("25")], 0.75),
        ({**ANSWER, "grade": NEAR}, [answered("-3")], 1),
        ({**ANSWER, "grade": TIERS}, [answered("3")], 1),
        ({**ANSWER, "grade": TIERS}, [answered("20")], 0.5),
        ({**ANSWER, "grade": {"tiers": [{"at_least": 2, "at_most": 4, "pays": 1}]}}, [answered("3")], 1),
        ({**ANSWER, "grade": LAMPS}, [answered("The red, desk lamp!")], 1),
        ({**ANSWER, "grade": LAMPS}, [answered("a red lamp")], 0.571428571429),
        ({**ANSWER, "grade": {"f1": ["blue", "red lamp"]}}, [answered("red lamp")], 1),
        ({**ANSWER, "grade": {**LAMPS, "from": 0.5}}, [answered("a red lamp")], 0.142857142857),
        ({**ANSWER, "grade": {"bleu": "the red desk lamp"}}, [answered("the red desk lamp")], 1),
        ({**ANSWER, "grade": {"share": ["lamp", {"contains": "chair"}]}}, [answered("lamp\ntable")], 0.5),
        ({**ANSWER, "grade": TIERS}, [answered("20"), answered("99")], 0.5),
        ({**ANSWER, "grade": TIERS}, [answered("20"), answered("4")], 1),
        ({**TESTS, "grade": {"share": 8}}, [probed({"passed": 6})], 0.75),
        ({**TESTS, "grade": {"share": 8}}, [probed({"passed": "6"})], 0.75),
        ({**TESTS, "grade": {"share": 8}}, [probed({"passed": 9})], 1),
        ({**TESTS, "grade": {"share": 8, "from": 0.5}}, [probed({"passed": 6})], 0.5),
        ({**TESTS, "value": "value", "grade": {"share": [1, "b"]}}, [probed([1, 2, "b"])], 1),
        (
            {"kind": "element.clicked", "value": "point.0", "grade": NEAR, "url": "/a"},
            [went("/a"), pointed(50, 1)],
            0.5,
        ),
    ],
    "share": [
        ([{"url_reached": {"url": "/a"}}, {"element_clicked": {"name": "Go"}}], [went("/a")], 0.5),
        (
            [{"url_reached": {"url": "/a"}}, {"element_clicked": {"name": "Go"}}],
            [went("/a"), went("/b"), clicked("Go")],
            1,
        ),
        (
            {"of": [{"url_reached": {"url": "/a"}}, {"graded": {**ANSWER, "grade": TIERS}}]},
            [answered("20")],
            0.25,
        ),
        (
            {"holding": True, "of": [{"url_reached": {"url": "/a"}}, {"url_reached": {"url": "/b"}}]},
            [went("/a"), went("/b")],
            0.5,
        ),
    ],
    "pointed_at": [
        (BUTTON, [pointed(100, 50)], 1),
        (BUTTON, [pointed(140, 70)], 1),
        ({**BUTTON, "presses": True}, [pressed(120, 60)], 1),
        ({**BUTTON, "grade": TIERS}, [pointed(155, 60)], 0.5),
        ({**BUTTON, "grade": NEAR}, [pointed(120, 110)], 0.6),
        ({"point": [30, 40], "grade": NEAR}, [pointed(0, 0)], 0.5),
        ({**BUTTON, "grade": TIERS}, [pointed(155, 60), pointed(0, 0)], 0.5),
    ],
}  # fmt: skip
NO: dict[str, list[tuple[Any, list[Said]]]] = {
    "graded": [
        ({**ANSWER, "grade": NEAR}, [answered("100")]),
        ({**ANSWER, "grade": NEAR}, [answered("about 5")]),
        ({**ANSWER, "grade": NEAR}, [answered("NaN")]),
        ({**ANSWER, "grade": TIERS}, [answered("21")]),
        ({**ANSWER, "grade": LAMPS}, [answered("a chair")]),
        ({**ANSWER, "grade": LAMPS}, [answered("")]),
        ({**ANSWER, "grade": {**LAMPS, "from": 0.9}}, [answered("a red lamp")]),
        ({**ANSWER, "grade": {"bleu": "the red desk lamp"}}, [answered("a chair")]),
        ({**TESTS, "grade": {"share": 8}}, [probed({"passed": None})]),
        ({**TESTS, "grade": {"share": 8}}, [probed({"passed": True})]),
        ({**TESTS, "grade": {"share": 8}}, [probed({"passed": -3})]),
        ({**TESTS, "grade": {"share": ["a"]}}, [probed({"passed": 1})]),
        (
            {"kind": "element.clicked", "value": "point.0", "grade": NEAR},
            [pointed(50, 1, trusted=False)],
        ),
        ({**ANSWER, "grade": NEAR, "where": {"text": "7"}}, [answered("5")]),
    ],
    "share": [([{"url_reached": {"url": "/a"}}, {"file_created": {"name": "a"}}], [went("/b")])],
    "pointed_at": [
        (BUTTON, [pointed(99, 60)]),
        (BUTTON, [pressed(120, 60)]),
        (BUTTON, [pointed(120, 60, trusted=False)]),
        ({**BUTTON, "grade": TIERS}, [pointed(161, 60)]),
        ({**BUTTON, "url": "/b"}, [went("/a"), pointed(120, 60)]),
        (BUTTON, [created("a.txt")]),
    ],
}
